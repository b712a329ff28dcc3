"""One number of a table, with where it comes from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pyarrow as pa

# share: a fraction, shown in percent. difference: of fractions, shown in points.
Unit = Literal["share", "difference", "number", "count", "seconds", "hours", "money"]


@dataclass(frozen=True)
class Source:
    """The rows that a number was computed from: rows of an artifact, chosen by their columns."""

    asset: str
    partition: str
    where: Mapping[str, Any] = field(default_factory=dict)  # column -> its value in these rows


@dataclass(frozen=True)
class Number:
    """A cell of a table. Several may share row and column: their blocks are tables below another.

    Value and interval are fractions, counts, or in the unit's measure; ``None``: not measured, and
    the note says why.
    """

    table: str  # its number in Auto-Comp's paper, "5"
    block: str  # what the rows below it have in common: "minimal, strict"; "" if there is one block
    row: str  # "nano:clip"
    column: str  # "color-n2 swap"
    value: float | None
    unit: Unit
    low: float | None = None  # of the 95% interval
    high: float | None = None
    n_items: int | None = None
    p_value: float | None = None  # corrected within the table
    published: float | None = None  # the paper's value of the same cell, in the same measure
    note: str = ""
    source: Source | None = None


SCHEMA = pa.schema(
    [
        *(pa.field(name, pa.string()) for name in ("table", "block", "row", "column")),
        ("value", pa.float64()),
        ("unit", pa.string()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("n_items", pa.int64()),
        ("p_value", pa.float64()),
        ("published", pa.float64()),
        ("note", pa.string()),
        ("asset", pa.string()),  # of the source
        ("partition", pa.string()),
        ("where", pa.string()),  # JSON
    ]
)
