"""The command ``bindbench tables``: the tables of Auto-Comp, and the rows behind a number."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from rich.console import Console

from bindbench.cli.frozen import context_of
from bindbench.errors import UserError
from bindbench.pipeline import tables as stage
from bindbench.pipeline.base import Context, table
from bindbench.reporting.tables import Grid, to_table
from bindbench.tables.catalogue import TABLES, TableOf, numbers_of, table_of
from bindbench.tables.inputs import Inputs
from bindbench.tables.layout import grids, notes, remarks, text
from bindbench.tables.number import SCHEMA, Number, Source, from_rows, to_row
from bindbench.tables.published import only_published
from bindbench.tables.sources import find, rows_of
from bindbench.text_files import write_text

FORMATS = ("text", "csv", "json", "parquet")
WIDTH = 120  # of a file's lines
SHOWN = 20  # rows of a number, as text
NO_BODY = "The paper's text, as this project has it, lacks the values of this table."


@dataclass(frozen=True)
class Asked:
    """What the command line asks for."""

    tables: tuple[str, ...] = ()  # none: all
    form: str = "text"
    out: Path | None = None
    published: bool = False
    rows: str | None = None


def run_tables(asked: Asked, source: str, store: str | None) -> None:
    """Print or write tables, or the rows of some of their numbers.

    Raises:
        UserError: an option is wrong, or there is no such table or number.
    """
    _check(asked)
    chosen = [table_of(number) for number in asked.tables] or list(TABLES)
    context = context_of(source, store)
    inputs = stage.inputs(context)
    if not inputs.artifacts:
        raise UserError(
            f"Nothing of suite {context.suite.name} is in {context.store.root}: build it with "
            f"'bindbench run --suite {source}', or name another --store."
        )
    made = _made(context, inputs, chosen, asked.published)
    if asked.rows is not None:
        _show_rows(find([n for own in made.values() for n in own], asked.rows), inputs, asked)
    elif asked.form == "text":
        _show_tables(chosen, made, asked)
    else:
        _write([to_row(number) for own in made.values() for number in own], asked)


def _check(asked: Asked) -> None:
    if asked.form not in FORMATS:
        raise UserError(f"--format {asked.form}: give one of {', '.join(FORMATS)}.")
    if asked.form == "parquet" and asked.rows is not None:
        raise UserError("--rows are of many schemas: give text, csv or json as --format.")
    if asked.form == "parquet" and asked.out is None:
        raise UserError("--format parquet: give the name of the file as --out.")


def _made(
    context: Context, inputs: Inputs, chosen: Sequence[TableOf], published: bool
) -> dict[str, list[Number]]:
    """Return the numbers of each table: those of the artifact, or made now if none are stored."""
    stored = from_rows(stage.build(context).read().to_pylist())
    made: dict[str, list[Number]] = {}
    for one in chosen:
        own = [n for n in stored if n.table == one.number]
        numbers = own if one.stored else numbers_of(one, inputs)
        more = only_published(one.number, numbers) if published else ()
        made[one.number] = [*numbers, *more]
    return made


def _show_tables(chosen: Sequence[TableOf], made: Mapping[str, list[Number]], asked: Asked) -> None:
    page = io.StringIO()
    say = Console(file=page, width=WIDTH) if asked.out else Console()
    for one in chosen:
        numbers = made[one.number]
        say.rule(one.heading, align="left")
        say.print(one.about, style="dim", highlight=False, markup=False)
        if asked.published and one.lost:
            say.print(NO_BODY, style="dim", highlight=False)
        for grid in grids(numbers, asked.published, say.width):
            say.print()
            say.print(to_table(grid))
        for remark in remarks(numbers):
            say.print(remark, style="dim", highlight=False, markup=False)
        for note in notes(numbers):
            say.print(f"Missing: {note}", style="yellow", highlight=False, markup=False)
        say.print()
    if asked.out:
        write_text(asked.out, page.getvalue())


def _show_rows(numbers: Sequence[Number], inputs: Inputs, asked: Asked) -> None:
    """Show the rows of each number, those of numbers without a source being none."""
    found = [(n, rows_of(n.source, inputs) if n.source else []) for n in numbers]
    if asked.form == "json":
        _put(_json([{"id": n.id, **to_row(n), "rows": rows} for n, rows in found]), asked)
    elif asked.form == "csv":
        _put(_csv([{"id": n.id} | row for n, rows in found for row in rows]), asked)
    else:
        page = io.StringIO()
        say = Console(file=page, width=WIDTH) if asked.out else Console()
        for number, rows in found:
            say.print(to_table(_grid_of(number, rows, say.width)))
        if asked.out:
            write_text(asked.out, page.getvalue())


def _grid_of(number: Number, rows: Sequence[Mapping[str, Any]], width: int) -> Grid:
    """Return a number's first rows: the columns that fit, without those that its source fixes."""
    title = f"{number.id} = {text(number)}"
    if number.source is None:
        return Grid(title, ("",), (), names=1, note="It is not computed from rows.")
    fixed = {name for name, value in number.source.where.items() if not isinstance(value, list)}
    names = [name for name in (rows[0] if rows else ()) if name not in fixed]
    columns = [[name, *(_short(row[name]) for row in rows[:SHOWN])] for name in names]
    kept = columns[: _fitting([max(map(len, column)) + 2 for column in columns], width)]
    note = f"{len(rows)} rows of {_name(number.source)}."
    if len(kept) < len(columns) or len(rows) > SHOWN:
        note += " Not all rows and columns are shown: --format csv has them."
    headers, *lines = zip(*kept, strict=True) if kept else [()]
    return Grid(title, headers, tuple(lines), names=len(headers), note=note)


def _fitting(sizes: Sequence[int], width: int) -> int:
    """Return how many of the first columns fit."""
    ends = list(accumulate(sizes))
    return max(1, sum(end <= width for end in ends))


def _name(source: Source) -> str:
    where = ", ".join(f"{name} = {value}" for name, value in source.where.items())
    return f"{source.asset} {source.partition}" + (f" where {where}" if where else "")


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return ", ".join(value)
    return "" if value is None else str(value)


def _write(rows: Sequence[Mapping[str, Any]], asked: Asked) -> None:
    if asked.form == "parquet" and asked.out:
        asked.out.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table(rows, SCHEMA), asked.out)
    else:
        _put(_json(rows) if asked.form == "json" else _csv(rows), asked)


def _put(page: str, asked: Asked) -> None:
    if asked.out:
        write_text(asked.out, page)
    else:
        print(page, end="")


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows below the names of all their columns; lists are JSON."""
    page = io.StringIO()
    writer = csv.DictWriter(page, list(dict.fromkeys(n for row in rows for n in row)))
    writer.writeheader()
    for row in rows:
        writer.writerow(
            {n: json.dumps(v) if isinstance(v, list | dict) else v for n, v in row.items()}
        )
    return page.getvalue()
