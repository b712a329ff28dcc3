"""What the paper publishes in the same tables, as it stands in ``published/*.yaml``."""

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from pydantic import Field

from bindbench.strict import Strict
from bindbench.tables.number import Number, Unit
from bindbench.yaml_files import parse_yaml

FOLDER = Path(__file__).parent / "published"
ONLY = "in the paper only"


class Published(Strict):
    """The values of a table as they are printed, by block and row; each has a column.

    The block "*" stands for every block: the paper does not say of which its values are.
    """

    scale: float  # a printed value is this many times ours
    scales: dict[str, float] = Field(default_factory=dict)  # of columns that have another
    note: str = ""
    columns: tuple[str, ...]
    blocks: dict[str, dict[str, tuple[float | None, ...]]]

    def rows(self, block: str) -> dict[str, tuple[float | None, ...]]:
        """Return a block's rows as they are printed."""
        return self.blocks.get(block, self.blocks.get("*", {}))

    def value(self, block: str, row: str, column: str) -> float | None:
        """Return a value in our measure, or None."""
        rows = self.rows(block)
        if row not in rows or column not in self.columns:
            return None
        printed = rows[row][self.columns.index(column)]
        return None if printed is None else printed / self.scales.get(column, self.scale)


@functools.cache
def published(table: str) -> Published | None:
    """Return what the paper's text has of a table, or None if it lacks the table's body."""
    path = FOLDER / f"table_{table:0>2}.yaml"
    return Published.model_validate(_yaml(path)) if path.is_file() else None


@functools.cache
def _names() -> dict[str, list[str]]:
    return _yaml(FOLDER / "names.yaml")


def _yaml(path: Path) -> dict:
    return parse_yaml(path.read_text(encoding="utf-8"))


def names_of(model: str) -> list[str]:
    """Return what the paper calls a model or generator of ours; a revision is no other model."""
    return _names().get(model.partition("@")[0], [])


def published_value(table: str, block: str, row: str, column: str) -> float | None:
    """Return the paper's value of a cell, whose row may be a model of ours, in our measure."""
    found = published(table)
    if found is None:
        return None
    values = (found.value(block, name, column) for name in (row, *names_of(row)))
    return next((value for value in values if value is not None), None)


def beside(number: Number) -> Number:
    """Return a number with the paper's value of the same cell.

    The paper counts every other caption as wrong, so that nothing of it is like ``strict``.
    """
    if number.published is not None or number.semantics == "strict":
        return number
    cell = (number.table, number.block, number.row, number.column)
    return replace(number, published=published_value(*cell))


def only_published(table: str, numbers: Iterable[Number]) -> Iterator[Number]:
    """Yield the paper's rows that none of these numbers stands beside, by block."""
    found = published(table)
    if found is None:
        return
    own = [number for number in numbers if number.column and number.semantics != "strict"]
    units: dict[str, Unit] = {number.column: number.unit for number in own}
    blocks = dict.fromkeys((number.block, number.semantics) for number in own)
    known = {block for block, _ in blocks}
    blocks |= dict.fromkeys((block, "") for block in found.blocks if block not in {*known, "*"})
    for block, semantics in blocks:
        beside_it = {name for n in own if n.block == block for name in (n.row, *names_of(n.row))}
        for row in found.rows(block):
            if row not in beside_it:
                yield from _row(table, found, block, semantics, row, units)


def _row(
    table: str,
    found: Published,
    block: str,
    semantics: str,
    row: str,
    units: Mapping[str, Unit],
) -> Iterator[Number]:
    for column in found.columns:
        plain: Unit = "number" if found.scales.get(column, found.scale) == 1 else "share"
        yield Number(
            *(table, block, row, column, None, units.get(column, plain)),
            semantics=semantics,
            published=found.value(block, row, column),
            note=ONLY,
        )
