"""Review tasks out to Label Studio and back."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from bindbench.errors import UserError
from bindbench.people.agreement import pair_agreement
from bindbench.people.label_studio import config, export_tasks, read_judgements
from bindbench.people.tasks import Choice, Form, Judgement, Task

FORM = Form(
    choices=(
        Choice("right", "Is it right?", ("yes", "no")),
        Choice("why", "Why not?", ("color", "order"), required=False),
    ),
    texts=("group",),
    image=True,
    comment=True,
)
TASKS = [
    Task("a", {"group": "cars"}, "data:image/png;base64,AA=="),
    Task("b", {"group": "<&>"}, "b.png"),
]


def chosen(name: str, *options: str) -> dict[str, Any]:
    """A result as Label Studio writes it."""
    value = {"choices": list(options)}
    return {"id": "x", "from_name": name, "to_name": "image", "type": "choices", "value": value}


def annotation(who: Any, *results: dict[str, Any], cancelled: bool = False) -> dict[str, Any]:
    """One annotator's annotation."""
    return {"id": 1, "completed_by": who, "was_cancelled": cancelled, "result": list(results)}


def exported(path: Path, rows: list[tuple[str, list[dict[str, Any]]]]) -> Path:
    """An export of Label Studio, one task a line."""
    lines = [
        json.dumps({"id": k, "data": {"task_id": key}, "annotations": given, "predictions": []})
        for k, (key, given) in enumerate(rows)
    ]
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n")
    return path


def test_the_config_names_everything_that_is_shown_and_asked() -> None:
    view = ElementTree.fromstring(config(FORM))
    assert view.tag == "View"
    tags = {(tag.tag, tag.get("name")): tag for tag in view if tag.get("name")}
    assert list(tags) == [
        ("Image", "image"),
        ("Text", "group"),
        ("Choices", "right"),
        ("Choices", "why"),
        ("TextArea", "comment"),
    ]
    assert tags["Image", "image"].get("value") == "$image"
    assert tags["Text", "group"].get("value") == "$group"
    for name, required in (("right", "true"), ("why", "false")):
        tag = tags["Choices", name]
        assert (tag.get("toName"), tag.get("choice"), tag.get("required")) == (
            "image",
            "single-radio",
            required,
        )
    assert [option.get("value") for option in tags["Choices", "why"]] == ["color", "order"]


def test_a_form_of_texts_hangs_its_choices_on_the_first() -> None:
    form = Form((Choice("agree", "Agree?", ("yes", "no")),), texts=("question", "answer"))
    view = ElementTree.fromstring(config(form))
    assert [tag.get("toName") for tag in view.iter("Choices")] == ["question"]
    assert not list(view.iter("Image"))


def test_tasks_carry_their_own_id_in_their_data(tmp_path: Path) -> None:
    export_tasks(tmp_path / "tasks.json", TASKS, FORM)
    assert json.loads((tmp_path / "tasks.json").read_text()) == [
        {"data": {"task_id": "a", "image": "data:image/png;base64,AA==", "group": "cars"}},
        {"data": {"task_id": "b", "image": "b.png", "group": "<&>"}},
    ]


def test_both_annotators_of_a_task_are_kept(tmp_path: Path) -> None:
    comment = {"from_name": "comment", "type": "textarea", "value": {"text": ["too", "dark"]}}
    path = exported(
        tmp_path / "export.json",
        [
            (
                "b",
                [
                    annotation(7, chosen("right", "no"), chosen("why", "order"), comment),
                    annotation({"id": 8, "email": "x@y"}, chosen("right", "yes")),
                    annotation(9, cancelled=True),
                ],
            ),
            ("a", []),
        ],
    )
    found = read_judgements(path, ["a", "b"], FORM)
    assert found == [
        Judgement("b", "7", {"right": "no", "why": "order"}, "too dark"),
        Judgement("b", "8", {"right": "yes"}),
    ]
    assert pair_agreement(found, "right").pairs == 1
    assert pair_agreement(found, "right").agreed == 0
    assert pair_agreement(found, "why").pairs == 0


def test_three_annotators_make_three_pairs() -> None:
    said = [
        Judgement("a", str(k), {"right": answer}) for k, answer in enumerate(("yes", "yes", "no"))
    ]
    found = pair_agreement([*said, Judgement("b", "0", {"right": "yes"})], "right")
    assert (found.pairs, found.agreed) == (3, 1)


YES = annotation(1, chosen("right", "yes"))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("c", [YES])], r"review task 'c' in .*line 2"),
        ([("a", [YES]), ("a", [YES])], r"line 3: the task 'a' is also in line 2"),
        ([("a", [YES, YES])], r"line 2: 1 has judged the task 'a' twice"),
        ([("a", [annotation(1, chosen("right", "maybe"))])], r"'maybe'"),
        ([("a", [annotation(1, chosen("right", "yes", "no"))])], r"takes one answer"),
        ([("a", [annotation(1, chosen("wrong", "yes"))])], r"'wrong'"),
        ([("a", [annotation(1, chosen("why", "color"))])], r"'a' has no answer to 'right'"),
    ],
)
def test_bad_answers_are_refused_with_their_line(
    tmp_path: Path, rows: list[tuple[str, list[dict[str, Any]]]], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        read_judgements(exported(tmp_path / "export.json", rows), ["a", "b"], FORM)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "no export of Label Studio"),
        ('[{"data": {}}]', "has no task_id"),
        ('[{"data": {"task_id": "a"}, "right": "yes"}]', "JSON_MIN"),
        ('[\n{"data": {"task_id": "a"},,', "line 2, is not JSON"),
    ],
)
def test_other_files_are_no_export(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "export.json").write_text(text)
    with pytest.raises(UserError, match=said):
        read_judgements(tmp_path / "export.json", ["a"], FORM)


def _two(name: str) -> Form:
    return Form((Choice(name, "?", ("yes", "no")),), texts=("group",))


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda p: export_tasks(p, [TASKS[0], TASKS[0]], FORM), "Two review tasks have the id 'a'"),
        (lambda p: export_tasks(p, [Task("a", {}, "x")], FORM), "'a' has no group"),
        (lambda p: export_tasks(p, [Task("a", {"group": "x"})], FORM), "'a' has no image"),
        (lambda p: export_tasks(p, [Task("", {"group": "x"}, "x")], FORM), "no id"),
        (lambda p: config(_two("group")), "called 'group'"),
        (lambda p: config(_two("task_id")), "called 'task_id'"),
        (lambda p: config(_two("is it")), "'is it' can't name"),
        (lambda p: config(Form((Choice("x", "?", ("a", "a")),), ("t",))), "different options"),
        (lambda p: config(Form((Choice("x", "?", ("a", "b")),))), "shows nothing"),
    ],
)
def test_tasks_and_forms_are_checked(
    tmp_path: Path, act: Callable[[Path], object], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        act(tmp_path / "tasks.json")


def test_label_studios_own_parser_takes_config_and_tasks(tmp_path: Path) -> None:
    sdk = pytest.importorskip("label_studio_sdk.label_interface")
    interface = sdk.LabelInterface(config(FORM))
    interface.validate()
    export_tasks(tmp_path / "tasks.json", TASKS, FORM)
    for task in json.loads((tmp_path / "tasks.json").read_text()):
        assert interface.validate_task(task)
    assert interface.validate_annotation(
        {"result": [chosen("right", "yes"), chosen("why", "color")]}
    )
