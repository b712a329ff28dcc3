"""Audits: what people are asked, and what their answers come to."""

import json
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from audit_samples import KEYS, labeled, small_audit, tasks_in, wrong_of

from bindbench.errors import UserError
from bindbench.people.audits import read_key
from bindbench.pipeline import audit, negatives, validated
from bindbench.reporting.people import people_grid, summary_rows
from bindbench.semantics import FALSE


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    yield from small_audit(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def folder(context, tmp_path_factory):
    out = tmp_path_factory.mktemp("audit") / "out"
    drawn = audit.draw(context, KEYS, 4, 0)
    audit.export(context, drawn, out, 0)
    return out


@pytest.fixture
def questions(context, folder):
    return read_key(folder / "key.json", context.suite.name)


def test_four_images_of_each_benchmark_track_and_kind(questions):
    counts = Counter((q.benchmark, q.track, q.kind) for q in questions)
    accepted = {(key, kind) for key in KEYS for kind in ("concordance", "swap", "confusion")}
    accepted -= {("color-n1", "swap"), ("color-n1", "confusion")}  # nothing to be told from
    tracks = ("minimal", "contextual")
    assert counts == {(key, track, kind): 4 for key, kind in accepted for track in tracks}
    assert len({q.id for q in questions}) == len(questions)


def test_the_right_answer_is_the_pipelines_or_the_items_own(context, questions):
    rows = {
        (key, f"{row['concept_id']}/{row['track']}"): row
        for key in KEYS
        for row in context.current(validated.NAME, key).read().to_pylist()
    }
    asked = [q for q in questions if q.kind == "concordance"]
    assert {q.right for q in asked} == {"yes", "no"}  # rejected images are asked about as well
    for q in asked:
        assert q.right == ("yes" if rows[q.benchmark, q.item]["accepted"] else "no")
    for q in questions:
        if q.kind != "concordance":
            assert rows[q.benchmark, q.item]["accepted"]
            assert q.right in q.offered and len(set(q.offered)) == len(q.offered) <= 50


def test_only_false_captions_stand_beside_the_right_one(context, questions):
    for q in questions:
        if q.kind == "concordance":
            continue
        rows = context.current(negatives.NAME, q.benchmark).read().to_pylist()
        (row,) = [r for r in rows if f"{r['concept_id']}/{r['track']}" == q.item]
        concept = validated.concept_of(q.benchmark, row)
        texts = audit.candidate_texts(negatives.template_of(row), concept, context.lexicon)
        false = np.frombuffer(row["semantics"], np.int8) == FALSE
        wrong = {text for text, is_false in zip(texts, false, strict=True) if is_false}
        assert set(q.offered) - {q.right} <= wrong
        if q.kind == "swap" and q.benchmark == "color-n2":
            assert len(q.offered) == 2


def test_tasks_don_t_say_what_is_right(folder, questions):
    for task in tasks_in(folder):
        assert set(task["data"]) <= {"task_id", "image", "caption", "answer_options"}
        assert task["data"]["image"].startswith("data:image/png;base64,")
    places = [q.offered.index(q.right) for q in questions if q.kind == "confusion"]
    assert len(set(places)) > 3  # the right one has no place of its own


def test_equal_seeds_give_equal_files(context, folder, tmp_path):
    audit.export(context, audit.draw(context, KEYS, 4, 0), tmp_path, 0)
    for file in folder.iterdir():
        assert (tmp_path / file.name).read_bytes() == file.read_bytes(), file.name
    other = audit.draw(context, KEYS, 4, 1)
    assert {q.item for q in other.questions} != {q.item for q in audit_items(folder)}


def audit_items(folder):
    return read_key(folder / "key.json", "small")


def alpha_by_pairs(units):
    """Krippendorff's alpha from all pairs: within units against among all values."""
    units = [u for u in units if len(u) > 1]
    values = [v for u in units for v in u]
    within = sum(sum(a != b for a, b in permutations(u, 2)) / (len(u) - 1) for u in units) / len(
        values
    )
    among = sum(a != b for a, b in permutations(values, 2)) / (len(values) * (len(values) - 1))
    return 1 - within / among


def test_simulated_people_have_the_accuracy_and_alpha_that_they_were_given(
    context, folder, questions, tmp_path
):
    """A is always right, B at every second question, C never."""
    answers = {
        q.id: {
            "A": q.right,
            "B": q.right if place % 2 else wrong_of(q),
            "C": wrong_of(q),
        }
        for place, q in enumerate(questions)
    }
    export = tmp_path / "export.json"
    export.write_text(json.dumps(labeled(tasks_in(folder), answers)))
    artifact = audit.read(context, folder, [export])
    assert artifact.rows == 3 * len(questions)
    rows = summary_rows(audit.answers_of(artifact))
    assert len(rows) == len({(q.benchmark, q.track, q.kind) for q in questions})
    for row in rows:
        own = [q for q in questions if (q.benchmark, q.track, q.kind) == key_of(row)]
        right = sum(said == q.right for q in own for said in answers[q.id].values())
        assert row.share == pytest.approx(right / (3 * len(own)))
        assert row.low <= row.share <= row.high
        assert (row.people, row.answers) == (3, 12)
        assert row.alpha == pytest.approx(alpha_by_pairs([[*answers[q.id].values()] for q in own]))
        assert row.chance == pytest.approx(np.mean([1 / len(q.offered) for q in own]))
    assert len(people_grid(rows).rows) == len(rows)


def key_of(row):
    return row.benchmark, row.track, row.kind


def test_the_page_s_answers_are_read_and_the_last_answer_counts(
    context, folder, questions, tmp_path
):
    first, second = questions[:2]
    page, later = tmp_path / "answers.json", tmp_path / "later.json"
    page.write_text(json.dumps({"name": "P", "answers": {first.id: first.right}}))
    later.write_text(
        json.dumps({"name": "P", "answers": {first.id: wrong_of(first), second.id: second.right}})
    )
    audit.read(context, folder, [page])
    said = audit.answers_of(audit.read(context, folder, [later]))
    own = {one.item: one.chosen for one in said if one.validator == "P"}
    assert own == {first.item: wrong_of(first), second.item: second.right}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ('{"name": "P", "answers": {"x": "yes"}}', "no question 'x' in this audit"),
        ('{"name": "P", "answers": {}}', "hold no answers"),
        ("[]", "hold no answers"),
        ('{"name": "P"}', "neither Label Studio's export"),
        ('{"name": "", "answers": {}}', "name must be who answered"),
        ('{"name": "P", "answers": []}', "answers an object from question id"),
    ],
)
def test_mistakes_are_one_sentence(context, folder, tmp_path, document, words):
    (tmp_path / "x.json").write_text(document)
    with pytest.raises(UserError, match=words):
        audit.read(context, folder, [tmp_path / "x.json"])


def test_an_answer_that_was_not_offered(context, folder, questions, tmp_path):
    document = {"name": "P", "answers": {questions[0].id: "perhaps"}}
    (tmp_path / "x.json").write_text(json.dumps(document))
    with pytest.raises(UserError, match="P answered 'perhaps' to task"):
        audit.read(context, folder, [tmp_path / "x.json"])


def test_the_key_of_another_suite(folder):
    with pytest.raises(UserError, match="is an audit of suite small, not of other"):
        read_key(folder / "key.json", "other")
    with pytest.raises(UserError, match="no key of an audit"):
        read_key(folder / "swap.json", "small")
