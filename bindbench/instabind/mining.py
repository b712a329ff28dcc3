"""Candidate groups among photographs: the paper's filters, and what they refused, by reason.

InstaBind-Lite, section IV A-C. Persons are asked about their upper clothing only: its color is that
of the one garment that is boxed on them, and what is said of the persons themselves is not read.
A person has to confirm every group (``bindbench.instabind.review``).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from pydantic import Field

from bindbench.errors import UserError
from bindbench.instabind.annotations import Annotations, Group
from bindbench.instabind.building import build_annotations, build_group, build_picture
from bindbench.instabind.limits import REASONS, Limits, Share, against
from bindbench.instabind.parsing import canonical
from bindbench.instabind.photos import Photo, Photos, Thing
from bindbench.instabind.questions import WORN
from bindbench.models.boxes import coverage, overlaps
from bindbench.storage.progress import Progress, Tracker


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


COLORS = _words(  # of the published groups
    "beige black blue brown gray green multicolor orange pink purple red silver transparent white "
    "yellow"
)
PERSON = "person"
PERSONS = _words("person man woman boy girl child kid guy lady player")
SEVERAL = _words("people men women boys girls children kids crowd")
GARMENTS = _words("shirt t-shirt jacket coat sweater sweatshirt hoodie blouse vest top polo jersey")
REFUSED = REASONS | {
    "crowd": "a box around many of the class",
    "unknown": "an instance whose color is not known, or that no attribute source has",
    "ambiguous": "an instance with several colors",
    "alike": "instances of one color",
}


class MiningSettings(Limits):
    """Thresholds of mining; those on boxes are the limits of any group."""

    classes: Annotated[tuple[str, ...], Field(description="only these; none: all")] = ()
    same_thing: Annotated[
        Share, Field(description="overlap of boxes that show one thing, in two sources or one")
    ] = 0.5
    worn: Annotated[
        Share, Field(description="share of a garment's box that lies in its wearer's")
    ] = 0.7


@dataclass(frozen=True)
class Mined:
    """What was found."""

    annotations: Annotations
    refused: dict[str, int]  # groups, by the first reason against them


def mine(
    boxes: Photos,
    sources: Sequence[Photos],
    settings: MiningSettings,
    on_progress: Progress | None = None,
) -> Mined:
    """Return the groups that pass all filters.

    Args:
        boxes: the images, and the things that groups are made of.
        sources: attributes of things in the same images, by image id or COCO id; none: those of
            ``boxes`` themselves.
        settings: thresholds.
        on_progress: called after each image.

    Raises:
        UserError: nothing passed, or a source has none of the images.
    """
    refused: Counter[str] = Counter()
    pictures = []
    known = [_by_coco(source) for source in sources]
    keys = {photo.coco_id or key for key, photo in boxes.photos.items()}
    for source in known:
        if not keys & source.keys():
            raise UserError(
                "The instances and a source of attributes have no image in common: give Visual "
                "Genome's image_data.json, which knows their ids in COCO, or mine the source alone."
            )
    tracker = Tracker(len(boxes.photos), on_progress)
    for image_id, photo in boxes.photos.items():
        things = boxes.things[image_id]
        key = photo.coco_id or image_id
        described = [t for own in known if key in own for t in _scaled(*own[key], photo)]
        if not sources:
            described = things = _once(things, settings.same_thing)
        groups = []
        for name, members in _classes(things).items():
            if settings.classes and name not in settings.classes:
                continue
            found = _group(f"{image_id}_{name}", name, members, described, photo, settings)
            if isinstance(found, Group):
                groups.append(found)
            else:
                refused[found] += 1
        if groups:
            size = (photo.width, photo.height)
            pictures.append(build_picture(image_id, photo.path, size, photo.source, groups))
        tracker.add_computed()
    counts = {reason: refused[reason] for reason in REFUSED if refused[reason]}
    if not pictures:
        told = ", ".join(f"{reason} {count}" for reason, count in counts.items()) or "none"
        raise UserError(f"No group passed the filters of mining (refused: {told}).")
    return Mined(build_annotations("mined", pictures), counts)


def _by_coco(source: Photos) -> dict[str, tuple[list[Thing], Photo]]:
    return {p.coco_id or key: (source.things[key], p) for key, p in source.photos.items()}


def _scaled(things: Sequence[Thing], of: Photo, to: Photo) -> list[Thing]:
    """Return things of one copy of an image where they are in another, of another size."""
    x, y = to.width / of.width, to.height / of.height
    boxes = [(t.box[0] * x, t.box[1] * y, t.box[2] * x, t.box[3] * y) for t in things]
    return [replace(thing, box=box) for thing, box in zip(things, boxes, strict=True)]


def _classes(things: Sequence[Thing]) -> dict[str, list[Thing]]:
    """Return the things of each class; men, women and children are persons."""
    found: dict[str, list[Thing]] = {}
    for thing in things:
        name = thing.name.lower()
        if name in SEVERAL:
            thing, name = replace(thing, crowd=True), PERSON
        found.setdefault(PERSON if name in PERSONS else name, []).append(thing)
    return found


def _group(
    group_id: str,
    name: str,
    members: Sequence[Thing],
    described: Sequence[Thing],
    photo: Photo,
    settings: MiningSettings,
) -> Group | str:
    """Return a group, or the reason against it."""
    if any(one.crowd for one in members):
        return "crowd"
    boxes = [one.box for one in members]
    if reason := against(boxes, photo.width, photo.height, settings):
        return reason
    attribute = WORN if name == PERSON else "color"
    colors = _worn if name == PERSON else _own
    values = []
    for found in colors(members, described, settings):
        if len(found) != 1:
            return "ambiguous" if found else "unknown"
        values += found
    if len(set(values)) < len(values):
        return "alike"
    return build_group(group_id.replace(" ", "_"), name, attribute, boxes, values)


def _colors(thing: Thing) -> set[str]:
    return {canonical(word) for word in thing.words} & COLORS


def _own(
    members: Sequence[Thing], described: Sequence[Thing], settings: MiningSettings
) -> list[set[str]]:
    """Return the colors of each member, from the thing that overlaps it most."""
    taken = _matches(members, described, settings.same_thing)
    return [set() if thing is None else _colors(thing) for thing in taken]


def _matches(
    members: Sequence[Thing], described: Sequence[Thing], least: float
) -> list[Thing | None]:
    """Return for each member the thing that shows the same; the best pairs first, a thing once."""
    able = [t for t in described if t.name.lower() not in GARMENTS or t.name == members[0].name]
    found: list[Thing | None] = [None] * len(members)
    if not able:
        return found
    others = np.array([thing.box for thing in able])
    overlap = np.array([overlaps(np.array(one.box), others) for one in members])
    while overlap.size and overlap.max() >= least:
        i, k = np.unravel_index(int(overlap.argmax()), overlap.shape)
        found[int(i)] = able[int(k)]
        overlap[i, :] = overlap[:, k] = -1.0
    return found


def _worn(
    members: Sequence[Thing], described: Sequence[Thing], settings: MiningSettings
) -> list[set[str]]:
    """Return the colors of the garments on each person; a garment on two of them is on neither."""
    found: list[set[str]] = [set() for _ in members]
    persons = [np.array(one.box) for one in members]
    for garment in (t for t in described if t.name.lower() in GARMENTS):
        box = np.array([garment.box])
        wearers = [k for k, one in enumerate(persons) if coverage(one, box)[0] >= settings.worn]
        if len(wearers) == 1:
            found[wearers[0]] |= _colors(garment)
    return found


def _once(things: Sequence[Thing], overlap: float) -> list[Thing]:
    """Return things, those that were boxed twice under one name as one with all attributes."""
    kept: list[Thing] = []
    for thing in things:
        same = next(
            (
                k
                for k, other in enumerate(kept)
                if other.name == thing.name
                and overlaps(np.array(other.box), np.array([thing.box]))[0] >= overlap
            ),
            None,
        )
        if same is None:
            kept.append(thing)
        else:
            kept[same] = replace(kept[same], words=(*kept[same].words, *thing.words))
    return kept
