"""``bindbench instabind`` as a user runs it."""

import csv
import json
import sys

import pytest
from instabind_samples import asked, cars, write_answers, write_asked

from bindbench.cli.main import main

BLOCK = {
    "total",
    "wrong",
    "accuracy",
    "mbr",
    "err_mbr",
    "a_mbr",
    "a_mbr_null",
    "out_of_set_rate",
    "recognition_rate",
    "invalid_rate",
    "distance_counts",
    "intervals",
}


@pytest.fixture
def call(monkeypatch, capsys):
    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["bindbench", "instabind", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            main()
        out, err = capsys.readouterr()
        return int(caught.value.code or 0), out, " ".join(err.split())

    return run


@pytest.fixture
def files(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(cars("red", "blue", "green")))
    found = asked(cars("red", "blue", "green"))
    questions = write_asked(tmp_path / "q.jsonl", found)
    answers = write_answers(tmp_path / "o.jsonl", found, lambda q: q.canonical_answer)
    return tmp_path, questions, answers


def test_validate(call, files):
    code, out, _ = call("validate", files[0] / "a.json")
    assert (code, out) == (0, "1 images, 1 groups, 3 instances\nNothing to report.\n")
    (files[0] / "a.json").write_text(json.dumps(cars("red", "red", "green")))
    code, out, _ = call("validate", files[0] / "a.json", "--json")
    found = json.loads(out)
    assert (code, found["instances"]) == (0, 3)
    assert [one["kind"] for one in found["findings"]] == ["shared_attribute"]
    code, out, _ = call("validate", files[0] / "a.json")
    assert out.splitlines()[1].startswith("line 1, g: shared_attribute: car_1 and car_2 are red")
    assert out.splitlines()[2] == "Findings: 1"


def test_questions(call, files):
    folder, questions, _ = files
    code, out, _ = call("questions", folder / "a.json", "--out", folder / "new.jsonl")
    assert code == 0
    assert out.startswith("16 questions (L1 3, L2 3, L3 4, L4 6) in ")
    assert (folder / "new.jsonl").read_text() == questions.read_text()


def test_evaluate_prints_one_object(call, files):
    _, questions, answers = files
    code, out, err = call("evaluate", "--questions", questions, "--outputs", answers, "--json")
    found = json.loads(out)
    assert (code, err) == (0, "")
    assert list(found) == ["model", "setting", "overall", "levels"]
    assert (found["model"], found["setting"]) == ("m", "full_image")
    assert list(found["levels"]) == ["L1", "L2", "L3", "L4"]
    for block in (found["overall"], *found["levels"].values()):
        assert set(block) == BLOCK
        assert (block["accuracy"], block["wrong"], block["a_mbr"]) == (1.0, 0, None)
        assert block["distance_counts"] == {"1": 0, "2": 0}


def test_a_missing_answer_is_counted_and_said(call, files, caplog):
    _, questions, answers = files
    lines = answers.read_text().splitlines(keepends=True)
    answers.write_text("".join(lines[1:]))
    code, out, err = call("evaluate", "--questions", questions, "--outputs", answers, "--json")
    assert code == 0
    assert json.loads(out)["levels"]["L1"]["invalid_rate"] == pytest.approx(1 / 3)
    assert err == ""
    assert "o.jsonl: 1, counted as invalid." in caplog.text
    caplog.clear()
    _, out, _ = call(
        "evaluate", "--questions", questions, "--outputs", answers, "--json", "--compat"
    )
    assert json.loads(out)["levels"]["L1"]["total"] == 2
    assert caplog.text == ""


def test_details_and_gaps(call, files):
    folder, questions, answers = files
    found = asked(cars("red", "blue", "green"))
    local = {key: q for key, q in found.items() if q.level in ("L1", "L3")}
    crop = write_answers(folder / "c.jsonl", local, lambda q: "blue", "crop_oracle")
    arguments = ("evaluate", "--questions", questions, "--outputs", crop, "--full", answers)
    code, out, _ = call(*arguments, "--json", "--details")
    result = json.loads(out)
    assert code == 0
    # L1: 1 of 3 is blue. L3: blue is right of red and left of green, 2 of 4.
    assert result["gaps"]["L1"]["accuracy_gap"]["value"] == pytest.approx(-2 / 3)
    assert result["gaps"]["L3"]["mbr_reduction"]["value"] == -2 / 4
    details = result["details"]
    assert details["confusion"] == {"3": [[0, 2, 0], [0, 3, 0], [0, 2, 0]]}
    assert set(details["adjacency"]) == {"overall", "L1", "L3"}
    assert (details["yes_no"], details["letters"], details["missing"]) == (None, None, 0)
    assert set(details["positions"]["3"]) == {"1", "2", "3"}
    code, out, _ = call(*arguments)
    assert code == 0
    assert "m, crop_oracle (%)" in out
    assert "overall: accuracy -57.14 points" in out
    rows = [line.split() for line in out.splitlines() if line.strip()]
    # Blue: 1 of 3 and 2 of 4 are right; both wrong cars stand beside a blue one.
    assert ["L1", "3", "33.3", "66.7", "100.0", "50.0", "100.0", "0.0", "0.0", "0.0"] in rows
    assert ["L3", "4", "50.0", "50.0", "100.0", "50.0", "100.0", "0.0", "0.0", "0.0"] in rows


def test_mistakes(call, files):
    folder, questions, answers = files
    arguments = ("evaluate", "--questions", questions, "--outputs", answers)
    assert call(*arguments, "--details")[0] == 2
    code, _, err = call("evaluate", "--questions", answers, "--outputs", answers)
    assert code == 2
    assert "o.jsonl, line 1: image_id: field required" in err
    crop = write_answers(
        folder / "c.jsonl",
        {k: q for k, q in asked(cars("red", "blue", "green")).items() if q.level == "L1"},
        lambda q: "blue",
        "crop_oracle",
    )
    code, _, err = call(*arguments, "--full", crop)
    assert code == 2
    assert "is of setting crop_oracle, which shows one instance" in err


def test_parser_audit(call, files):
    folder, questions, answers = files
    out = folder / "sample.csv"
    arguments = ("parser-audit", "--questions", questions, "--outputs", answers, "--out", out)
    code, said, _ = call(*arguments, "--size", 5)
    assert code == 0
    assert said.startswith("5 answers in ")
    rows = list(csv.DictReader(out.open(newline="")))
    assert len({row["question_id"] for row in rows}) == 5
    assert {row["class"] for row in rows} == {"correct"}
    code, _, err = call("parser-audit", "--judged", out)
    assert code == 2
    assert "holds no verdicts" in err
    for row, verdict in zip(rows, ["yes", "Yes", "no", "", "yes"], strict=True):
        row["agree"] = verdict
    with out.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    code, said, _ = call("parser-audit", "--judged", out)
    # Wilson's interval of 3 in 4.
    assert said == "3 of 4 read as a person reads them (75.0%, 30.1% to 95.4%)\n"
    assert call("parser-audit", "--judged", out, "--out", out)[0] == 2
