"""Label Studio's formats: labeling config, tasks to import, and the JSON that it exports.

A task's own id travels in its data, since Label Studio numbers tasks by itself. Of an export, the
plain "JSON" is read (not "JSON_MIN"): a list of tasks, each with the annotations of its annotators.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from bindbench.errors import UserError, unknown_name
from bindbench.instabind.located_json import read_json
from bindbench.people.tasks import Choice, Form, Judgement, Task, check_tasks
from bindbench.text_files import write_text

ID, IMAGE, COMMENT = "task_id", "image", "comment"
NAME = re.compile(r"[A-Za-z]\w*")


def config(form: Form) -> str:
    """Return the labeling config, XML: what is shown, and the choices below it.

    Raises:
        UserError: a field's name is none, is given twice, or a choice has no two options.
    """
    _check_names(form)
    view = ElementTree.Element("View")
    if form.image:
        ElementTree.SubElement(view, "Image", name=IMAGE, value=f"${IMAGE}", zoom="true")
    for name in form.texts:
        ElementTree.SubElement(view, "Header", value=name.replace("_", " ").capitalize())
        ElementTree.SubElement(view, "Text", name=name, value=f"${name}")
    shown = IMAGE if form.image else form.texts[0]
    for choice in form.choices:
        ElementTree.SubElement(view, "Header", value=choice.title)
        tag = ElementTree.SubElement(
            view,
            "Choices",
            name=choice.name,
            toName=shown,
            choice="single-radio",
            required="true" if choice.required else "false",
        )
        if not choice.options:
            tag.set("value", f"${_field(choice)}")
        for option in choice.options:
            ElementTree.SubElement(tag, "Choice", value=option)
    if form.comment:
        ElementTree.SubElement(
            view, "TextArea", name=COMMENT, toName=shown, placeholder="Comment", maxSubmissions="1"
        )
    ElementTree.indent(view)
    return ElementTree.tostring(view, encoding="unicode") + "\n"


def _field(choice: Choice) -> str:
    """Return the field of a task that holds its own answers to a choice."""
    return f"{choice.name}_options"


def _check_names(form: Form) -> None:
    shown = [*form.texts, *([IMAGE] if form.image else [])]
    names = [*shown, *(choice.name for choice in form.choices), ID, COMMENT]
    for name in names:
        if not NAME.fullmatch(name):
            raise UserError(f"{name!r} can't name a field of a review task: use letters and _.")
        if names.count(name) > 1:
            raise UserError(f"Two fields of a review task are called {name!r}.")
    if not shown:
        raise UserError("A review task shows nothing: give it an image or a text.")
    for choice in form.choices:
        if choice.options and len(set(choice.options)) < max(2, len(choice.options)):
            raise UserError(f"The choice {choice.name!r} needs two or more different options.")


def export_tasks(path: Path, tasks: Sequence[Task], form: Form) -> None:
    """Write tasks for Label Studio's import, as JSON.

    Raises:
        UserError: two tasks have one id, a field is missing, or the file cannot be written.
    """
    _check_names(form)
    check_tasks(tasks, form)
    rows = [{"data": _data(task, form)} for task in tasks]
    write_text(path, json.dumps(rows, indent=1, ensure_ascii=False) + "\n")


def _data(task: Task, form: Form) -> dict[str, Any]:
    own = [choice for choice in form.choices if not choice.options]
    options = {_field(c): [{"value": option} for option in task.options[c.name]] for c in own}
    image = {IMAGE: task.image} if form.image else {}
    return {ID: task.id, **image, **task.texts, **options}


def read_judgements(path: Path, tasks: Sequence[str], form: Form) -> list[Judgement]:
    """Return what people said, in the order of the file; all annotators of a task are kept.

    An answer to a choice whose tasks have their own is one of those that the file itself holds.
    A task that nobody has judged yet gives nothing, nor does one that was skipped.

    Args:
        path: Label Studio's export.
        tasks: the ids that were given out.
        form: that they were given out with.

    Raises:
        UserError: not such a file; an id that was not given out, or given twice; an annotator who
            judged a task twice; an unknown field or answer; a required answer is missing. The
            sentence names the line.
    """
    raw = read_json(path)
    if not isinstance(raw, list) or not all(isinstance(row, dict) for row in raw):
        raise UserError(f"{path} is no export of Label Studio: export the project as JSON.")
    known, lines = frozenset(tasks), dict[str, int]()
    found = []
    for row in raw:
        where = f"{path}, line {row.line}"
        key = row["data"].get(ID) if isinstance(row.get("data"), dict) else None
        if not isinstance(key, str):
            raise UserError(f"{where}: a task has no {ID} in its data: export the project as JSON.")
        if key not in known:
            raise unknown_name("review task", key, known, where)
        if key in lines:
            raise UserError(f"{where}: the task {key!r} is also in line {lines[key]}.")
        lines[key] = row.line
        found += _annotations(path, row, key, form)
    return found


def _annotations(path: Path, row: Any, key: str, form: Form) -> list[Judgement]:
    given = row.get("annotations")
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise UserError(
            f"{path}, line {row.line}: the task {key!r} has no list of annotations: export the "
            "project as JSON, not as JSON_MIN."
        )
    found: dict[str, Judgement] = {}
    for one in given:
        if one.get("was_cancelled") or not one.get("result"):  # skipped, or left empty
            continue
        where = f"{path}, line {one.line}"
        name = _annotator(one.get("completed_by"))
        if name in found:
            raise UserError(f"{where}: {name} has judged the task {key!r} twice: keep one.")
        found[name] = _judgement(where, key, name, one["result"], _own(row, form))
    return list(found.values())


def _own(row: Mapping[str, Any], form: Form) -> Form:
    """Return the form with the answers that this task of an export has of its own."""
    data = row["data"]
    choices = tuple(
        choice
        if choice.options
        else replace(choice, options=tuple(str(o["value"]) for o in data.get(_field(choice), ())))
        for choice in form.choices
    )
    return replace(form, choices=choices)


def _annotator(value: Any) -> str:
    """Return who it was: an id, or an object with one."""
    if isinstance(value, Mapping):
        value = value.get("id", value.get("email"))
    return "unknown" if value is None else str(value)


def _judgement(where: str, key: str, annotator: str, results: list[Any], form: Form) -> Judgement:
    choices = {choice.name: choice for choice in form.choices}
    answers: dict[str, str] = {}
    comment = ""
    for result in results:
        name, value = result.get("from_name"), result.get("value") or {}
        if name == COMMENT and form.comment:
            text = value.get("text") or ""
            comment = text if isinstance(text, str) else " ".join(text)
        elif name in choices:
            answers[name] = _chosen(where, choices[name], value)
        else:
            raise unknown_name("field of a review task", str(name), choices, where)
    for choice in form.choices:
        if choice.required and choice.name not in answers:
            raise UserError(f"{where}: the task {key!r} has no answer to {choice.name!r}.")
    return Judgement(key, annotator, answers, comment)


def _chosen(where: str, choice: Choice, value: Mapping[str, Any]) -> str:
    chosen = value.get("choices")
    if not isinstance(chosen, list) or len(chosen) != 1:
        raise UserError(f"{where}: {choice.name!r} has {chosen!r}, but takes one answer.")
    if chosen[0] not in choice.options:
        raise unknown_name(f"answer to {choice.name!r}", str(chosen[0]), choice.options, where)
    return str(chosen[0])
