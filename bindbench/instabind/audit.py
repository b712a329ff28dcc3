"""The validity audit: what makes questions ambiguous or an error unreadable; nothing is dropped."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from bindbench.instabind.annotations import AnnotationFile, Group, Instance, Picture
from bindbench.instabind.parsing import canonical, normalise

SIZES = range(3, 7)
SLACK = 1.0  # pixels that a box may leave the image, or a centre its box's centre, by rounding
KINDS = {
    "shared_attribute": "instances of a group share an attribute value",
    "alias": "an attribute value is read as another one",
    "order": "order from left to right against the boxes' centres",
    "label": "an order label that is not the usual one for its place",
    "neighbor": "neighbor links against the order",
    "outside": "a box leaves the image",
    "centre": "a centre that is not its box's centre",
    "size": "a group of fewer than 3 or more than 6 instances",
    "person": "a person is asked about something else than upper clothing",
    "ambiguous": "an instance is flagged as ambiguous",
}


@dataclass(frozen=True)
class Finding:
    """Something that the audit reports."""

    kind: str  # one of KINDS
    image_id: str
    group_id: str
    line: int  # of the annotation file
    message: str


def order_labels(size: int) -> list[str]:
    """Return the order labels of a group of 3 to 6, from left to right."""
    words = ["second", "third", "fourth", "fifth"]
    if size == 5:
        return ["leftmost", "second from left", "middle", "second from right", "rightmost"]
    if size == 6:
        inner = [*(f"{word} from left" for word in words[:3]), "second from right"]
    else:
        inner = ["middle"] if size == 3 else [f"{word} from left" for word in words[: size - 2]]
    return ["leftmost", *inner, "rightmost"]


def audit(file: AnnotationFile) -> list[Finding]:
    """Return what the audit finds, in the order of the file."""
    found = []
    for picture, lines, inner in zip(
        file.annotations.images, file.group_lines, file.instance_lines, strict=True
    ):
        for group, line, places in zip(picture.same_class_groups, lines, inner, strict=True):
            for kind, message in _group(group):
                found.append(Finding(kind, picture.image_id, group.group_id, line, message))
            for one, place in zip(group.instances, places, strict=True):
                for kind, message in _instance(one, group, picture):
                    found.append(Finding(kind, picture.image_id, group.group_id, place, message))
    return found


def _group(group: Group) -> Iterator[tuple[str, str]]:
    if len(group.instances) not in SIZES:
        yield "size", f"the group has {len(group.instances)} instances"
    if group.class_name == "person" and group.attribute_focus != "upper_clothing_color":
        yield "person", f"persons are asked about {group.attribute_focus}"
    owners: dict[str, list[Instance]] = {}
    for one, value in zip(group.instances, group.values(), strict=True):
        owners.setdefault(canonical(value), []).append(one)
    for value, several in owners.items():
        if len(several) > 1:
            names = " and ".join(one.instance_id for one in several)
            beside = any(b.order_index - a.order_index == 1 for a, b in pairwise(several))
            yield (
                "shared_attribute",
                f"{names} are {value}{', and neighbors' if beside else ''}: no L2 or L3 question "
                "names them by it, and a misbinding between them cannot be seen",
            )


def _instance(one: Instance, group: Group, picture: Picture) -> Iterator[tuple[str, str]]:
    value = one.attributes[group.attribute_focus]
    if canonical(value) != normalise(value):
        yield "alias", f"{one.instance_id} is {value!r}, which is read as {canonical(value)!r}"
    place, size = one.order_index - 1, len(group.instances)
    if size in SIZES and one.order_label != order_labels(size)[place]:
        usual = order_labels(size)[place]
        yield "label", f"{one.instance_id} is called {one.order_label!r}, usually {usual!r}"
    left = group.instances[place - 1] if place else None
    right = group.instances[place + 1] if place + 1 < size else None
    for side, given, due in (
        ("left", one.neighbors.left, left),
        ("right", one.neighbors.right, right),
    ):
        expected = due.instance_id if due else None
        if given != expected:
            yield "neighbor", f"{side} of {one.instance_id} is {given}, by the order {expected}"
    if left and _centre(left)[0] >= _centre(one)[0]:
        yield (
            "order",
            f"{one.instance_id} is right of {left.instance_id} by its order, but its box's centre "
            f"is at x = {_centre(one)[0]:g}, not right of {_centre(left)[0]:g}",
        )
    x, y, width, height = one.bbox_xywh
    over = max(-x, -y, x + width - picture.width, y + height - picture.height)
    if over > SLACK:
        yield (
            "outside",
            f"the box {one.bbox_xywh} of {one.instance_id} leaves the image of {picture.width} x "
            f"{picture.height} by {over:g} pixels",
        )
    if one.center_xy and any(
        abs(a - b) > SLACK for a, b in zip(one.center_xy, _centre(one), strict=True)
    ):
        yield (
            "centre",
            f"the centre of {one.instance_id} is given as {one.center_xy}, "
            f"that of its box is {list(_centre(one))}",
        )
    if one.ambiguity_flag:
        yield "ambiguous", f"{one.instance_id} is flagged as ambiguous"


def _centre(one: Instance) -> tuple[float, float]:
    x, y, width, height = one.bbox_xywh
    return x + width / 2, y + height / 2
