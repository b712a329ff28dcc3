"""Groups and answers for people to confirm, by the commands."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from instabind_samples import dataset, group, image
from PIL import Image
from typer.testing import CliRunner, Result

from bindbench.cli.main import app
from bindbench.errors import UserError
from bindbench.instabind.annotations import read_annotations
from bindbench.instabind.parser_audit import FIELDS, read_agreement, write_sample
from bindbench.instabind.review import QUESTIONS


def run(*arguments: object) -> Result:
    found = CliRunner().invoke(app, ["instabind", *map(str, arguments)])
    if isinstance(found.exception, UserError):
        raise found.exception
    assert found.exit_code == 0, found.output
    return found


@pytest.fixture
def annotations(tmp_path: Path) -> Path:
    """Two images, the first with two groups; pictures of the first only."""
    first = image("one", group("a", ["red", "blue", "white"]), group("b", ["pink", "gray", "tan"]))
    second = image("two", group("c", ["red", "blue", "white"]))
    second["source"] = {"license": "CC BY", "url": "http://x/two.jpg"}
    path = tmp_path / "annotations.json"
    path.write_text(json.dumps(dataset(first, second)))
    (tmp_path / "images").mkdir()
    for name in ("one", "two"):
        Image.new("RGB", (640, 480), "white").save(tmp_path / "images" / f"{name}.jpg")
    return path


def answered(path: Path, said: dict[str, list[tuple[int, dict[str, str]]]]) -> Path:
    """An export of Label Studio: by task, annotator and answers."""
    rows = [
        {
            "id": k,
            "data": {"task_id": key},
            "annotations": [
                {
                    "completed_by": who,
                    "was_cancelled": False,
                    "result": [
                        {"from_name": name, "type": "choices", "value": {"choices": [answer]}}
                        for name, answer in answers.items()
                    ],
                }
                for who, answers in given
            ],
        }
        for k, (key, given) in enumerate(said.items())
    ]
    path.write_text(json.dumps(rows))
    return path


YES: dict[str, str] = dict.fromkeys(QUESTIONS, "yes")


def test_groups_go_out_with_their_boxes_drawn(tmp_path: Path, annotations: Path) -> None:
    out = tmp_path / "tasks.json"
    run("review", "export", "--annotations", annotations, "--images", tmp_path, "--out", out)
    tasks = json.loads(out.read_text())
    assert [task["data"]["task_id"] for task in tasks] == ["a", "b", "c"]
    assert tasks[0]["data"]["group"] == "car, color, from left to right: red, blue, white"
    assert [task["data"]["license"] for task in tasks] == ["not known", "not known", "CC BY"]
    assert tasks[0]["data"]["image"].startswith("data:image/jpeg;base64,")
    config = (tmp_path / "tasks.xml").read_text()
    assert all(f'name="{name}"' in config for name in QUESTIONS)


def test_without_pictures_their_addresses_go_out(tmp_path: Path, annotations: Path) -> None:
    with pytest.raises(UserError, match="one has no address"):
        run("review", "export", "--annotations", annotations, "--out", tmp_path / "tasks.json")


def test_a_picture_of_another_size_is_refused(tmp_path: Path, annotations: Path) -> None:
    Image.new("RGB", (64, 48)).save(tmp_path / "images" / "two.jpg")
    out = tmp_path / "t.json"
    with pytest.raises(UserError, match="64 x 48 pixels, but is annotated with 640 x 480"):
        run("review", "export", "--annotations", annotations, "--images", tmp_path, "--out", out)


def test_only_what_all_annotators_confirm_is_kept(tmp_path: Path, annotations: Path) -> None:
    no = YES | {"order": "no", "right": "no"}
    labels = answered(tmp_path / "x.json", {"a": [(1, YES), (2, YES)], "b": [(1, YES), (2, no)]})
    out, lines = tmp_path / "confirmed.json", tmp_path / "said.jsonl"
    arguments = ("--annotations", annotations, "--labels", labels, "--out", out)
    found = run("review", "import", *arguments, "--judgements", lines, "--json")
    counts = json.loads(found.stdout)
    assert (counts["judgements"], counts["confirmed"], counts["open"]) == (4, 1, 1)
    assert counts["refused"] == {"order": 1}
    assert counts["pairs"]["order"] == {"pairs": 2, "agreed": 1}
    assert counts["pairs"]["complete"] == {"pairs": 2, "agreed": 2}
    (picture,) = read_annotations(out).annotations.images
    assert [one.group_id for one in picture.same_class_groups] == ["a"]
    kept = [json.loads(line) for line in lines.read_text().splitlines()]
    assert [(one["task_id"], one["annotator"]) for one in kept] == [
        ("a", "1"),
        ("a", "2"),
        ("b", "1"),
        ("b", "2"),
    ]


def test_a_file_in_which_nothing_is_confirmed_is_an_error(
    tmp_path: Path, annotations: Path
) -> None:
    labels = answered(tmp_path / "x.json", {"a": []})
    out = tmp_path / "o.json"
    with pytest.raises(UserError, match="No group was confirmed"):
        run("review", "import", "--annotations", annotations, "--labels", labels, "--out", out)


def listed(path: Path, **answers: str) -> list[dict[str, Any]]:
    rows = list(csv.DictReader(path.read_text().splitlines()))
    for row in rows:
        if row["group_id"] in answers:
            row |= dict.fromkeys(QUESTIONS, answers[row["group_id"]])
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return rows


def test_mined_groups_are_confirmed_in_a_list(tmp_path: Path) -> None:
    def cup(x: int, color: str) -> dict[str, Any]:
        return {"name": "cup", "x": x, "y": 50, "w": 80, "h": 90, "attributes": [color]}

    def graph(*colors: str) -> dict[str, Any]:
        cups = {str(k): cup(20 + 150 * k, color) for k, color in enumerate(colors)}
        return {"width": 500, "height": 400, "objects": cups}

    scenes = {"1": graph("red", "blue", "white"), "2": graph("red", "pink", "gray")}
    scenes |= {"3": graph("red", "red", "gray")}
    (tmp_path / "gqa.json").write_text(json.dumps(scenes))
    out, review = tmp_path / "mined.json", tmp_path / "review.csv"
    arguments = ("--attributes", tmp_path / "gqa.json", "--out", out, "--review", review)
    found = json.loads(run("mine", *arguments, "--json").stdout)
    assert found == {"images": 2, "groups": 2, "refused": {"alike": 1}, "findings": 0}
    rows = listed(review, gqa_1_cup="yes")
    assert rows[0]["values"] == "red | blue | white"
    confirmed = tmp_path / "confirmed.json"
    arguments = ("--annotations", out, "--labels", review, "--out", confirmed)
    counts = json.loads(run("review", "import", *arguments, "--json").stdout)
    assert (counts["confirmed"], counts["open"], counts["refused"]) == (1, 1, {})
    listed(review, gqa_1_cup="perhaps")
    with pytest.raises(UserError, match=r"review.csv, line 2: complete is 'perhaps'"):
        run("review", "import", *arguments)
    listed(review, gqa_1_cup="yes", gqa_2_cup="no")
    run("review", "import", *arguments)
    review.write_text(review.read_text() + review.read_text().splitlines()[1] + "\n")
    with pytest.raises(UserError, match=r"line 4: the group 'gqa_1_cup' is listed twice"):
        run("review", "import", *arguments)


def test_mine_reads_its_thresholds_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("fewest: 9\nsides: 3\n")
    with pytest.raises(UserError, match=r"'sides'.*did you mean side"):
        run(
            *("mine", "--attributes", tmp_path / "s.yaml", "--out", tmp_path / "o.json"),
            *("--settings", tmp_path / "s.yaml"),
        )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("mine", "--out", "o.json"), "needs --attributes"),
        (("review", "export", "--out", "o.json"), "needs --annotations .* or --sample"),
    ],
)
def test_what_is_missing_is_said(arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(UserError, match=said):
        run(*arguments)


def test_the_parsers_sample_goes_out_and_comes_back(tmp_path: Path) -> None:
    rows = [
        dict.fromkeys(FIELDS, "") | {"question_id": key, "question": "What?", "answer": answer}
        for key, answer in (("q1", "red"), ("q2", ""), ("q3", "blue"), ("q4", "x"))
    ]
    sample, out = tmp_path / "sample.csv", tmp_path / "tasks.json"
    write_sample(sample, rows)
    run("review", "export", "--sample", sample, "--out", out)
    tasks = json.loads(out.read_text())
    assert tasks[1]["data"] == {
        "task_id": "q2",
        "question": "What?",
        "answer": "(empty)",
        "read_as": "(none of the group's values)",
        "error_class": "",
    }
    said = {"q1": [(1, "yes"), (2, "yes")], "q2": [(1, "yes"), (2, "no")], "q4": [(1, "yes")]}
    labels = answered(
        tmp_path / "x.json",
        {key: [(who, {"agree": one}) for who, one in given] for key, given in said.items()},
    )
    judged = tmp_path / "judged.csv"
    run("review", "import", "--sample", sample, "--labels", labels, "--out", judged)
    found = read_agreement(judged)
    assert (found.judged, found.agreed) == (3, 2)
