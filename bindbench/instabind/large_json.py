"""Large JSON files of other data sets: fast to read, and an error says where something is wrong."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bindbench.errors import UserError
from bindbench.instabind.located_json import read_text
from bindbench.models.base import Box


@dataclass(frozen=True)
class Node:
    """A value, and where it stands in its file."""

    path: Path
    where: str
    value: Any

    @property
    def name(self) -> str:
        """The last part of its place."""
        return self.where.rpartition(".")[2]

    def wrong(self, what: str) -> UserError:
        """Return the sentence for what is wrong with it."""
        return UserError(f"{self.path}: {self.where or 'the file'} {what}.")

    def __getitem__(self, field: str) -> Any:
        """Return a field that must be there."""
        if not isinstance(self.value, dict) or self.value.get(field) is None:
            raise self.wrong(f"has no field {field!r}")
        return self.value[field]

    def rows(self, field: str = "", default: Any = None) -> list["Node"]:
        """Return the values in a field, or in this one itself."""
        inner = self.value if not field else self.value.get(field, default)
        inner = self[field] if inner is None else inner
        dot = f"{self.where}.{field}" if self.where and field else self.where or field
        if isinstance(inner, dict):
            return [Node(self.path, f"{dot}.{k}" if dot else k, v) for k, v in inner.items()]
        return [Node(self.path, f"{dot}[{k}]", v) for k, v in enumerate(inner)]

    def words(self, field: str) -> tuple[str, ...]:
        """Return a field's words; there may be none."""
        return tuple(str(word) for word in self.value.get(field) or ())

    def size(self) -> tuple[int, int]:
        """Return the width and height in pixels."""
        return int(self["width"]), int(self["height"])

    def sides(self) -> Box:
        """Return the box of the fields x, y, w and h."""
        return self.box([self[side] for side in "xywh"])

    def box(self, place: Any) -> Box:
        """Return the box of left, top, width and height; one without area is refused later."""
        numbers = isinstance(place, list) and all(isinstance(v, int | float) for v in place)
        if not (numbers and len(place) == 4 and all(math.isfinite(v) for v in place)):
            raise self.wrong(f"has the box {place}, which must be left, top, width and height")
        left, top, width, height = (float(v) for v in place)
        return left, top, left + width, top + height


def load(path: Path, kind: type | None = None, what: str = "") -> Node:
    """Return the whole of a JSON file, which may be large: half a gigabyte is usual.

    Raises:
        UserError: it is not JSON, or not of a kind.
    """
    try:
        value = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise UserError(f"{path}, line {error.lineno}, is not JSON: {error.msg}.") from None
    if kind and (not isinstance(value, kind) or not value):
        raise UserError(f"{path} does not hold {what}.")
    return Node(path, "", value)
