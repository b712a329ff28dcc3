"""Annotations: images with groups of 3 to 6 instances of one class, in the authors' JSON schema.

InstaBind-Lite, section IV B. Fields that are not named here are kept as they are.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from bindbench.errors import UserError
from bindbench.instabind.located_json import Located, finite, invalid, read_json

Name = Annotated[str, Field(min_length=1)]
Pair = Annotated[list[float], Field(min_length=2, max_length=2)]
Box = Annotated[list[float], Field(min_length=4, max_length=4)]


class Record(BaseModel):
    """A part of the schema: types are exact, and what is not known is kept."""

    model_config = ConfigDict(strict=True, frozen=True, extra="allow")


class Neighbors(Record):
    """The instances beside one: their ids, or None at an end."""

    left: str | None
    right: str | None


class Instance(Record):
    """One of a group's objects."""

    instance_id: Name
    order_index: int = Field(ge=1)  # 1: the leftmost
    order_label: Name
    bbox_xywh: Box  # pixels: left, top, width, height
    center_xy: Pair | None = None  # pixels
    attributes: dict[str, Name]
    neighbors: Neighbors
    ambiguity_flag: bool = False

    @model_validator(mode="after")
    def _box(self) -> Self:
        if not finite(self.bbox_xywh) or min(self.bbox_xywh[2:]) <= 0:
            raise ValueError(f"the box {self.bbox_xywh} of {self.instance_id} has no area")
        return self


class Group(Record):
    """Instances of one class, in their order from left to right."""

    group_id: Name
    class_name: Name
    attribute_focus: Name  # the attribute that is asked about
    spatial_axis: str = "left_to_right"
    instances: list[Instance] = Field(min_length=2)

    @model_validator(mode="after")
    def _whole(self) -> Self:
        for field in ("instance_id", "order_index", "order_label"):
            _distinct(field, (getattr(one, field) for one in self.instances), self.group_id)
        orders = [one.order_index for one in self.instances]
        if orders != list(range(1, len(orders) + 1)):
            raise ValueError(
                f"the orders of group {self.group_id} are {orders}, but must be 1 to {len(orders)} "
                "in this sequence"
            )
        ids = {one.instance_id for one in self.instances}
        for one in self.instances:
            if self.attribute_focus not in one.attributes:
                raise ValueError(
                    f"{one.instance_id} of group {self.group_id} has no attribute "
                    f"{self.attribute_focus!r}, which the group asks about"
                )
            for other in (one.neighbors.left, one.neighbors.right):
                if other is not None and other not in ids:
                    raise ValueError(
                        f"{one.instance_id} of group {self.group_id} has the neighbor {other!r}, "
                        "which is not in the group"
                    )
        return self

    def values(self) -> list[str]:
        """Return the instances' values of the attribute that is asked about, in their order."""
        return [one.attributes[self.attribute_focus] for one in self.instances]


class Picture(Record):
    """An image with its groups."""

    image_id: Name
    image_path: Name
    width: int = Field(ge=1)
    height: int = Field(ge=1)
    same_class_groups: list[Group] = Field(min_length=1)


class Annotations(Record):
    """A whole file."""

    dataset_name: str
    dataset_version: str
    images: list[Picture]


@dataclass(frozen=True)
class AnnotationFile:
    """Annotations, and the lines that they stand in."""

    path: Path
    annotations: Annotations
    group_lines: list[list[int]]  # of each image, of each group
    instance_lines: list[list[list[int]]]


def read_annotations(path: Path) -> AnnotationFile:
    """Return a file's annotations.

    Raises:
        UserError: not JSON, a field is missing or wrong, or an id is given twice: names file and
            line.
    """
    raw: Any = read_json(path)
    try:
        annotations = Annotations.model_validate(raw)
    except ValidationError as error:
        raise invalid(path, error, raw) from None
    images: list[Located] = raw["images"]
    groups = [image["same_class_groups"] for image in images]
    _unique_ids(path, "image_id", images)
    _unique_ids(path, "group_id", [group for some in groups for group in some])
    return AnnotationFile(
        path,
        annotations,
        [[group.line for group in some] for some in groups],
        [[[one.line for one in group["instances"]] for group in some] for some in groups],
    )


def _distinct(field: str, values: Iterable[object], group: str) -> None:
    value, count = Counter(values).most_common(1)[0]
    if count > 1:
        raise ValueError(f"{count} instances of group {group} have the {field} {value!r}")


def _unique_ids(path: Path, field: str, rows: Iterable[Located]) -> None:
    first: dict[str, int] = {}
    for row in rows:
        name = row[field]
        if name in first:
            raise UserError(
                f"{path}, line {row.line}: the {field} {name!r} is also given in line "
                f"{first[name]}."
            )
        first[name] = row.line
