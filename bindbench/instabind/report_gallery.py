"""Misbindings to look at: the question, what was said, and whose value that is."""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image

from bindbench.errors import UserError
from bindbench.instabind.annotations import Annotations, Group, Picture
from bindbench.instabind.conditions import FULL, INSTANCE_FIRST
from bindbench.instabind.outcomes import CORRECT, MISBINDING, Outcomes
from bindbench.instabind.questions import LEVELS, Question
from bindbench.instabind.report_data import Subject
from bindbench.reporting.samples import Box
from bindbench.reporting.thumbnails import thumbnail

PER_LEVEL = 3  # of a model
SIDE, LIMIT = 320, 60_000  # pixels and bytes of a picture
PictureOf = Callable[[str], bytes | None]


@dataclass(frozen=True)
class Misbinding:
    """One answer that is another instance's value."""

    image_id: str
    image: bytes | None  # PNG, small
    width: int  # of the image, in pixels
    height: int
    frames: Sequence[Box]  # the source and the target last, so that they lie on top
    level: str
    question: str
    right: str
    said: str
    distance: int
    mended_by: Sequence[str]  # settings in which the same question was answered right


def misbindings(
    subject: Subject,
    annotations: Annotations,
    questions: Mapping[str, Question],
    picture: PictureOf | None = None,
) -> Iterator[Misbinding]:
    """Yield a few misbindings of each level on the full image, each on an image of its own.

    Those come first that a crop mends: as in Figure 4 of InstaBind-Lite, the model then knows the
    attribute, and whose it is was the mistake.
    """
    full = subject.tables.get(FULL)
    if full is None:
        return
    mended = _mended(subject)
    places = _places(annotations)
    used: set[str] = set()
    for level in LEVELS:
        rows = full.where((full.level == level) & (full.error == MISBINDING))
        order = sorted(range(len(rows)), key=lambda i: -len(mended.get(rows.question_id[i], ())))
        shown = 0
        for i in order:
            image = rows.image_id[i]
            if shown == PER_LEVEL or image in used or (image, rows.group_id[i]) not in places:
                continue
            used.add(image)
            shown += 1
            question = questions[rows.question_id[i]]
            where = places[image, rows.group_id[i]]
            yield _misbinding(rows, i, question, *where, mended, picture)


def _mended(subject: Subject) -> dict[str, list[str]]:
    """Return the settings that have a question right, but for the full image."""
    found: dict[str, list[str]] = {}
    for setting, table in subject.tables.items():
        if setting not in (FULL, INSTANCE_FIRST):
            for key in table.question_id[table.error == CORRECT]:
                found.setdefault(key, []).append(setting)
    return found


def _places(annotations: Annotations) -> dict[tuple[str, str], tuple[Picture, Group]]:
    return {
        (picture.image_id, group.group_id): (picture, group)
        for picture in annotations.images
        for group in picture.same_class_groups
    }


def _misbinding(
    rows: Outcomes,
    i: int,
    question: Question,
    place: Picture,
    group: Group,
    mended: Mapping[str, list[str]],
    picture: PictureOf | None,
) -> Misbinding:
    data = picture(place.image_id) if picture else None
    return Misbinding(
        image_id=place.image_id,
        image=None if data is None else _small(place.image_id, data),
        width=place.width,
        height=place.height,
        frames=_frames(place, group, int(rows.target[i]), int(rows.source[i])),
        level=question.level,
        question=question.question,
        right=question.canonical_answer,
        said=rows.said[i],
        distance=int(rows.distance[i]),
        mended_by=mended.get(question.question_id, []),
    )


def _frames(place: Picture, group: Group, target: int, source: int) -> list[Box]:
    roles = {target: "target", source: "source"}
    found = []
    for one, value in zip(group.instances, group.values(), strict=True):
        left, top, width, height = one.bbox_xywh
        role = roles.get(one.order_index, "other")
        found.append(
            Box(
                value if role == "other" else f"{role}: {value}",
                left / place.width,
                top / place.height,
                (left + width) / place.width,
                (top + height) / place.height,
                role,
            )
        )
    return sorted(found, key=lambda frame: ("other", "source", "target").index(frame.role))


def _small(image_id: str, data: bytes) -> bytes:
    try:
        pixels = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    except OSError as error:
        raise UserError(f"The picture of image {image_id} can't be read: {error}.") from error
    return thumbnail(pixels, SIDE, LIMIT)
