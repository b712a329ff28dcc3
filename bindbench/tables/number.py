"""One number of a table, with where it comes from."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import pyarrow as pa

# share: a fraction, shown in percent. difference: of fractions, shown in points.
Unit = Literal["share", "difference", "number", "count", "seconds", "hours", "money"]


@dataclass(frozen=True)
class Source:
    """The rows that a number was computed from: rows of an artifact, chosen by their columns.

    A list of values stands for any of them; a value of a column that holds lists chooses the rows
    whose list holds it. Partition "*": those of all benchmarks.
    """

    asset: str
    partition: str
    where: Mapping[str, Any] = field(default_factory=dict)  # column -> its value in these rows


@dataclass(frozen=True)
class Number:
    """A cell of a table. Those of one block and semantics are a table below the others.

    Value and interval are fractions, counts, or in the unit's measure; ``None``: not measured, and
    the note says why.
    """

    table: str  # its number in Auto-Comp's paper, "5"
    block: str  # what the rows below it have in common: "minimal"; "" if there is one block
    row: str  # "nano:clip"
    column: str  # "color-n2 swap"
    value: float | None
    unit: Unit
    semantics: str = ""  # "strict", "paper", or "" where no candidate is counted
    low: float | None = None  # of the 95% interval
    high: float | None = None
    n_items: int | None = None
    p_value: float | None = None  # corrected within the table
    published: float | None = None  # the paper's value of the same cell, in the same measure
    note: str = ""
    source: Source | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """What tells it from the table's other numbers."""
        return tuple(w for w in (self.block, self.semantics, self.row, self.column) if w)

    @property
    def id(self) -> str:
        """Its name: ``5: minimal, strict, nano:clip, color-n2 swap``."""
        return f"{self.table}: {', '.join(self.words)}"


def missing(table: str, note: str, block: str = "") -> Number:
    """Return what stands for numbers that can't be computed: why not, and what would be right."""
    return Number(table, block, "", "", None, "number", note=note)


SCHEMA = pa.schema(
    [
        *(pa.field(name, pa.string()) for name in ("table", "block", "semantics", "row", "column")),
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


def to_row(number: Number) -> dict[str, Any]:
    """Return a number as a row of ``SCHEMA``."""
    row = asdict(number)
    del row["source"]
    source = number.source
    if source is None:
        return row | {"asset": None, "partition": None, "where": None}
    where = json.dumps(dict(source.where), ensure_ascii=False)
    return row | {"asset": source.asset, "partition": source.partition, "where": where}


def from_rows(rows: Iterable[Mapping[str, Any]]) -> list[Number]:
    """Return the numbers of rows of ``SCHEMA``."""
    return [_from_row(dict(row)) for row in rows]


def _from_row(row: dict[str, Any]) -> Number:
    asset, partition, where = (row.pop(name) for name in ("asset", "partition", "where"))
    source = None if asset is None else Source(asset, partition, json.loads(where))
    return Number(**row, source=source)
