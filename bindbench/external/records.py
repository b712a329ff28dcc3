"""Rows of JSON, JSON lines, CSV and Parquet files, each of which knows where it stands."""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bindbench.errors import UserError, unknown_name
from bindbench.instabind.located_json import read_json, read_json_lines, read_text


@dataclass(frozen=True)
class Record:
    """A row, and the file and line that it is from."""

    where: str
    values: Mapping[str, Any]

    def wrong(self, field: str, right: str) -> UserError:
        """Return the sentence for a field that is not what it must be."""
        if field not in self.values:
            return UserError(f"{self.where}, has no field {field!r}, which must be {right}.")
        shown = repr(self.values[field])
        shown = shown if len(shown) <= 80 else f"{shown[:77]}..."
        return UserError(f"{self.where}: {field} is {shown} and must be {right}.")

    def text(self, field: str, default: str | None = None) -> str:
        """Return a text that is not empty; where it may be missing, its default."""
        value = self.values.get(field)
        if default is not None and value in (None, ""):
            return default
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)  # an id
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(field, "text")
        return value

    def number(self, field: str) -> float:
        """Return a number."""
        value = self.values.get(field)
        if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
            raise self.wrong(field, "a number")
        return float(value)

    def captions(self, field: str) -> tuple[str, ...]:
        """Return two different texts or more; in a cell of a CSV table they are a JSON list."""
        right = "a list of two different texts or more"
        value: Any = self.values.get(field)
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except ValueError:
                raise self.wrong(field, f"{right}, in JSON") from None
        good = isinstance(value, list) and all(isinstance(v, str) and v.strip() for v in value)
        if not good or len(set(value)) != len(value) or len(value) < 2:
            raise self.wrong(field, right)
        return tuple(value)

    def index(self, field: str, below: int) -> int:
        """Return a place in a list, from 0."""
        value = self.values.get(field)
        if isinstance(value, str) and value.strip().isdecimal():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < below:
            raise self.wrong(field, f"a number from 0 to {below - 1}")
        return value


def read_records(path: Path) -> list[Record]:
    """Return the rows of a file, by the ending of its name.

    Raises:
        UserError: it is of another kind, can't be read, or has no rows.
    """
    readers = {".json": _json, ".jsonl": _json_lines, ".csv": _csv, ".parquet": _parquet}
    if path.suffix.lower() not in readers:
        raise unknown_name("kind of file", path.suffix, readers, str(path))
    try:
        records = list(readers[path.suffix.lower()](path))
    except RecursionError:
        raise UserError(f"{path} holds lists in lists, too deep to be a list of items.") from None
    if not records:
        raise UserError(f"{path} has no rows: give a file with one for each item.")
    return records


def _json(path: Path) -> Iterator[Record]:
    rows = read_json(path)
    if not isinstance(rows, list):
        raise UserError(f"{path} holds no list: it must be a list of items.")
    for number, row in enumerate(rows):
        if isinstance(row, dict):
            yield Record(f"{path}, line {getattr(row, 'line', 1)}", row)
        elif isinstance(row, list):  # fields without names
            yield Record(f"{path}, entry {number}", {str(i): v for i, v in enumerate(row)})
        else:
            raise UserError(f"{path}, entry {number}, is {row!r} and must be an object.")


def _json_lines(path: Path) -> Iterator[Record]:
    for number, row in read_json_lines(path):
        yield Record(f"{path}, line {number}", row)


def _csv(path: Path) -> Iterator[Record]:
    text = read_text(path).removeprefix("\ufeff")  # as spreadsheets begin their files
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = next(reader, [])
        if len(set(header)) < len(header):
            raise UserError(f"{path}, line 1, names a column twice: {', '.join(header)}.")
        for row in reader:
            if not row:
                continue
            if len(row) != len(header):
                raise UserError(
                    f"{path}, line {reader.line_num}, has {len(row)} cells, but the header has "
                    f"{len(header)}."
                )
            yield Record(f"{path}, line {reader.line_num}", dict(zip(header, row, strict=True)))
    except csv.Error as error:
        raise UserError(f"{path}, line {reader.line_num}, is not CSV: {error}.") from None


def _parquet(path: Path) -> Iterator[Record]:
    try:
        with pq.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                rows = file.read_row_group(group).to_pylist()
                start = sum(file.metadata.row_group(i).num_rows for i in range(group))
                for number, row in enumerate(rows, start + 1):
                    yield Record(f"{path}, row {number}", row)
    except (OSError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise UserError(f"{path} can't be read as Parquet: {reason}.") from None
