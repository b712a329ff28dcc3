import pytest
from instabind_samples import asked, cars, write_answers

from bindbench.errors import UserError
from bindbench.instabind.outputs import read_outputs
from bindbench.instabind.parser_audit import FIELDS, read_agreement, sample, write_sample

FOUND = asked(cars("red", "blue", "green", "black"))


def outputs(tmp_path):
    path = write_answers(tmp_path / "o.jsonl", FOUND, lambda q: "blue" if q.level != "L4" else "no")
    return read_outputs(path, FOUND)


def test_the_sample_takes_as_many_of_each_class(tmp_path):
    # "blue": on L1 and L3 right, adjacent or farther; on L2 out of set; "no": right or not.
    rows = sample(FOUND, outputs(tmp_path), 10)
    classes = [row["class"] for row in rows]
    assert {name: classes.count(name) for name in set(classes)} == {
        "adjacent misbinding": 2,
        "correct": 2,
        "other misbinding": 2,
        "out_of_set": 2,
        "recognition": 2,
    }
    assert all(tuple(row) == FIELDS for row in rows)
    assert rows == sample(FOUND, outputs(tmp_path), 10)
    assert rows != sample(FOUND, outputs(tmp_path), 10, seed=1)
    # All there are, when more are asked for.
    assert len(sample(FOUND, outputs(tmp_path), 1000)) == len(FOUND)


def test_the_papers_interval(tmp_path):
    path = tmp_path / "s.csv"
    write_sample(path, [dict.fromkeys(FIELDS, "a\nb") | {"agree": "yes"}] * 200)
    found = read_agreement(path)
    assert (found.judged, found.agreed) == (200, 200)
    assert (found.low, found.high) == (pytest.approx(0.981, abs=5e-4), pytest.approx(1.0))


def test_bad_samples(tmp_path):
    path = tmp_path / "s.csv"
    write_sample(path, [dict.fromkeys(FIELDS, "") | {"agree": "maybe"}])
    with pytest.raises(UserError, match="line 2: agree is 'maybe', but must be yes or no"):
        read_agreement(path)
    path.write_text("a,b\n1,2\n")
    with pytest.raises(UserError, match="has no column 'agree'"):
        read_agreement(path)
