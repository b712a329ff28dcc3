"""All tables, as the page of tables shows them: each number beside where it comes from."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from bindbench.models.family import ModelName
from bindbench.reporting import numbers, views
from bindbench.reporting.data import FAMILIES, Row, Rows, Table
from bindbench.reporting.downloads import csv_text

COLUMNS = (
    *("table", "block", "semantics", "row", "column", "value", "unit", "low", "high"),
    *("n_items", "p_value", "published", "note", "asset", "partition", "where"),
)
GALLERY = "gallery.html"


@dataclass(frozen=True)
class Block:
    """A part of a table: lines and columns."""

    title: str
    cells: Rows

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return views.distinct(cell["column"] for cell in self.cells)

    def lines(self) -> list[tuple[str, list[Row | None]]]:
        """Return each line's name with its cells, one for each column."""
        found = {(cell["row"], cell["column"]): cell for cell in self.cells}
        names = views.distinct(cell["row"] for cell in self.cells)
        return [(name, [found.get((name, column)) for column in self.columns]) for name in names]


def blocks(table: Table) -> Iterator[Block]:
    """Yield the parts of a table that share their rows' heading, in their order."""
    shown = [row for row in table.rows if row["column"]]
    for block, semantics in dict.fromkeys((r["block"], r["semantics"]) for r in shown):
        title = ", ".join(part for part in (block, semantics) if part)
        yield Block(title, views.select(shown, block=block, semantics=semantics))


def reasons(table: Table) -> list[str]:
    """Return why numbers of a table are missing."""
    return views.distinct(row["note"] for row in table.rows if row["value"] is None and row["note"])


def table_files(tables: Sequence[Table]) -> Iterator[tuple[str, bytes]]:
    """Yield each table as CSV, path in the report's folder and content."""
    for table in tables:
        yield table.file, csv_text(table.rows, COLUMNS).encode()


def shown(cell: Row) -> str:
    """Return a number with its unit."""
    value, unit = cell["value"], cell["unit"]
    if unit == "share":
        return numbers.percent(value)
    if unit == "difference":
        return numbers.points(value)
    if value is None:
        return numbers.MISSING
    if unit == "count":
        return numbers.count(round(value))
    return {"seconds": f"{value:,.1f} s", "hours": f"{value:,.2f} h"}.get(unit) or f"{value:,.3g}"


def bounds(cell: Row) -> str:
    """Return the interval of a number, or ``""``."""
    low, high, unit = cell["low"], cell["high"], cell["unit"]
    if low is None or high is None:
        return ""
    if unit == "share":
        return numbers.interval(low, high)
    if unit == "difference":
        return f"{numbers.points(low)} to {numbers.points(high)}"
    return f"{low:,.3g} to {high:,.3g}"


def address(cell: Row, table: Table, models: Sequence[str], has_gallery: bool) -> str:
    """Return where the rows of a number are shown: the gallery's items, or the table's CSV.

    Args:
        cell: the number.
        table: that holds it.
        models: of the report.
        has_gallery: whether there are items to look at.
    """
    found = gallery_query(cell, models) if has_gallery else {}
    return f"{GALLERY}#{urlencode(found)}" if found else table.file


def gallery_query(cell: Row, models: Sequence[str]) -> dict[str, str]:
    """Return the gallery's filters that show a number's rows, {} if none do."""
    where = json.loads(cell["where"] or "{}")
    if cell["asset"] == "validated" and set(where) <= {"track", "accepted"}:
        query = {"benchmark": cell["partition"], "track": where.get("track", "")}
        query["verdict"] = {True: "accepted", False: "rejected"}.get(where.get("accepted"), "")
        return {name: value for name, value in query.items() if value}
    known = {"track", "family", "semantics", "paired"}
    if cell["asset"] != "model_scores" or not set(where) <= known:
        return {}
    key, _, slug = (cell["partition"] or "").partition("--")
    model = next((name for name in models if ModelName.parse(name).slug == slug), None)
    if model is None or where.get("family") not in (None, *FAMILIES):
        return {}
    query = {"benchmark": key, "track": where.get("track", ""), "model": model}
    query |= {"family": where.get("family", ""), "paired": "1" if where.get("paired") else ""}
    return {name: value for name, value in query.items() if value}
