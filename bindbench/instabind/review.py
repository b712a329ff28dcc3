"""Groups for people to confirm: review tasks out, confirmed annotations in."""

import base64
import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from bindbench.errors import UserError
from bindbench.instabind.annotations import Annotations, Group, Picture
from bindbench.people.tasks import Choice, Form, Judgement, Task, by_task

QUESTIONS = {
    "complete": "Are all instances of the class boxed, and only these?",
    "order": "Is the order from left to right clear?",
    "right": "Is each value right, and could it be no other one?",
    "suitable": "Is the picture neither offensive nor private?",
}
FORM = Form(
    choices=tuple(Choice(name, title, ("yes", "no")) for name, title in QUESTIONS.items()),
    texts=("group", "license"),
    image=True,
    comment=True,
)
LONGEST = 1024  # pixels: larger pictures are reduced in tasks
GIVEN = ("group_id", "image_path", "class_name", "attribute", "values", "boxes", "license", "url")
FIELDS = (*GIVEN, *QUESTIONS, "comment")


@dataclass(frozen=True)
class Confirmed:
    """What people left of the groups."""

    annotations: Annotations
    confirmed: int
    refused: dict[str, int]  # by the first question with a "no"
    open: int  # nobody has looked at them


def _groups(annotations: Annotations) -> list[tuple[Picture, Group]]:
    return [(p, group) for p in annotations.images for group in p.same_class_groups]


def group_ids(annotations: Annotations) -> list[str]:
    """Return the ids of all groups."""
    return [group.group_id for _, group in _groups(annotations)]


def _source(picture: Picture, field: str) -> str:
    source: Any = (picture.model_extra or {}).get("source", {})
    return str(source.get(field, ""))


def _listed(group: Group) -> str:
    """Return "car, color: black, red, white"."""
    named = group.attribute_focus.replace("_", " ")
    return f"{group.class_name}, {named}, from left to right: {', '.join(group.values())}"


def group_tasks(annotations: Annotations, images: Path | None) -> list[Task]:
    """Return a review task for each group.

    Args:
        annotations: the groups.
        images: the folder that the image paths are in: the boxes are drawn into the pictures and
            numbered. None: the pictures' addresses are shown, without boxes.

    Raises:
        UserError: a picture is not there, can't be read, is not of the size that is annotated, or
            has no address.
    """
    return [
        Task(
            group.group_id,
            {"group": _listed(group), "license": _source(p, "license") or "not known"},
            _uri(_drawn(images / p.image_path, p, group)) if images else _address(p),
        )
        for p, group in _groups(annotations)
    ]


def _address(picture: Picture) -> str:
    found = _source(picture, "url")
    if not found:
        raise UserError(
            f"The image {picture.image_id} has no address: name the folder of images by --images."
        )
    return found


def _drawn(path: Path, picture: Picture, group: Group) -> Image.Image:
    try:
        with Image.open(path) as opened:
            shown = opened.convert("RGB")
    except (OSError, SyntaxError, ValueError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise UserError(
            f"The picture {path} can't be read ({reason}): --images names its folder."
        ) from None
    if shown.size != (picture.width, picture.height):
        raise UserError(
            f"The picture {path} has {shown.width} x {shown.height} pixels, but is annotated with "
            f"{picture.width} x {picture.height}."
        )
    scale = min(1.0, LONGEST / max(shown.size))
    shown = shown.resize((round(shown.width * scale), round(shown.height * scale)))
    draw = ImageDraw.Draw(shown)
    for one in group.instances:
        left, top, width, height = (scale * v for v in one.bbox_xywh)
        draw.rectangle((left, top, left + width, top + height), outline="red", width=2)
        draw.text((left + 4, top + 2), str(one.order_index), fill="red")
    return shown


def _uri(picture: Image.Image) -> str:
    """Return a picture as a data URI, which needs no file server."""
    buffer = io.BytesIO()
    picture.save(buffer, format="JPEG", quality=85)
    return f"data:image/jpeg;base64,{base64.b64encode(buffer.getvalue()).decode()}"


def review_list(annotations: Annotations) -> str:
    """Return the groups as CSV, with an empty column for each question to a person."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, FIELDS, restval="")
    writer.writeheader()
    for picture, group in _groups(annotations):
        writer.writerow(
            {
                "group_id": group.group_id,
                "image_path": picture.image_path,
                "class_name": group.class_name,
                "attribute": group.attribute_focus,
                "values": " | ".join(group.values()),
                "boxes": " | ".join(
                    " ".join(f"{v:g}" for v in one.bbox_xywh) for one in group.instances
                ),
                "license": _source(picture, "license"),
                "url": _source(picture, "url"),
            }
        )
    return text.getvalue()


def read_review_list(path: Path, text: str, annotations: Annotations) -> list[Judgement]:
    """Return what a person wrote into the list; rows without answers are left out.

    Raises:
        UserError: a column is missing, a group is unknown or given twice, or an answer is neither
            yes nor no.
    """
    known = set(group_ids(annotations))
    reader = csv.DictReader(io.StringIO(text, newline=""))
    missing = [name for name in ("group_id", *QUESTIONS) if name not in (reader.fieldnames or [])]
    if missing:
        raise UserError(f"{path} has no column {missing[0]!r}: fill in a list of mine --review.")
    found: dict[str, Judgement] = {}
    for row in reader:
        where, key = f"{path}, line {reader.line_num}", row["group_id"]
        if key not in known:
            raise UserError(f"{where}: there is no group {key!r} in the annotations.")
        if key in found:
            raise UserError(f"{where}: the group {key!r} is listed twice.")
        answers = {name: (row[name] or "").strip().lower() for name in QUESTIONS}
        if not any(answers.values()):
            continue
        for name, answer in answers.items():
            if answer not in ("yes", "no"):
                raise UserError(f"{where}: {name} is {answer!r}, but must be yes or no.")
        found[key] = Judgement(key, "list", answers, row.get("comment") or "")
    return list(found.values())


def confirm(annotations: Annotations, judgements: Sequence[Judgement]) -> Confirmed:
    """Keep the groups that all their annotators said yes to, to every question.

    Raises:
        UserError: no group is left.
    """
    said = by_task(judgements)
    refused: dict[str, int] = {}
    pictures, unseen = [], 0
    for picture in annotations.images:
        kept = []
        for group in picture.same_class_groups:
            answers = said.get(group.group_id, [])
            no = next((q for q in QUESTIONS if any(j.answers[q] == "no" for j in answers)), None)
            if not answers:
                unseen += 1
            elif no is None:
                kept.append(group)
            else:
                refused[no] = refused.get(no, 0) + 1
        if kept:
            pictures.append(picture.model_copy(update={"same_class_groups": kept}))
    if not pictures:
        raise UserError("No group was confirmed: nothing is left of the annotations.")
    left = annotations.model_copy(update={"images": pictures})
    return Confirmed(left, sum(len(p.same_class_groups) for p in pictures), refused, unseen)
