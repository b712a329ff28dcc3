"""Files of results: one model on one set, with the scores that every number was computed from."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bindbench.errors import UserError
from bindbench.external.scores import ALL
from bindbench.instabind.located_json import invalid, read_json
from bindbench.models.file_digest import files_digest
from bindbench.reporting.numbers import MISSING, interval, percent
from bindbench.reporting.tables import Grid
from bindbench.strict import RoleSettings, Strict
from bindbench.text_files import write_text


class Measured(Strict):
    """An accuracy of a subset; credit and tie rate are known of single items alone."""

    subset: str
    measure: str
    n_items: int
    accuracy: float
    low: float
    high: float
    chance: float
    credit: float | None = None
    tie_rate: float | None = None


class ItemScores(Strict):
    """The scores of an item's captions, the right one first."""

    id: str
    scores: tuple[float, ...]


class ExternalResult(Strict):
    """What one model achieves on one set."""

    format: str
    data: str  # the name of the file
    digest: str  # of its content
    scorer: RoleSettings
    method: str
    dtype: str
    rows: tuple[Measured, ...]
    items: tuple[ItemScores, ...]

    @property
    def title(self) -> str:
        """What the set is called in a table."""
        stem = Path(self.data).stem
        return self.format if stem == self.format else f"{self.format}: {stem}"


def data_digest(data: Path) -> str:
    """Return a digest of a file, or of the JSON files of a folder."""
    files = sorted(data.glob("*.json")) if data.is_dir() else [data]
    return files_digest(files)


def write_result(result: ExternalResult, path: Path) -> None:
    """Write a result as JSON."""
    text = json.dumps(result.model_dump(mode="json"), indent=1, ensure_ascii=False)
    write_text(path, text + "\n")


def read_result(path: Path) -> ExternalResult:
    """Read a result.

    Raises:
        UserError: the file is not one; the sentence names line and field.
    """
    value = read_json(path)
    try:
        return ExternalResult.model_validate(value)
    except ValidationError as error:
        raise invalid(path, error, value) from None


def result_grid(result: ExternalResult) -> Grid:
    """Return all accuracies of a result as a table."""
    lines = []
    for row in result.rows:
        ties = MISSING if row.tie_rate is None else percent(row.tie_rate)
        numbers = (*_cells(row), percent(row.chance), ties, f"{row.n_items:,}")
        lines.append((row.subset, row.measure, *numbers))
    headers = ("Subset", "Measure", "Accuracy", "95%", "Chance", "Ties", "Items")
    title = f"{result.scorer.model} on {result.title}"
    return Grid(title, headers, tuple(lines), names=2)


def leaderboard(
    results: Sequence[ExternalResult], suite: str = "", own: Sequence[Mapping[str, Any]] = ()
) -> Grid:
    """Return a line for each model and a column for each set, beside a suite's own benchmarks.

    Args:
        results: of external sets; all items of each.
        suite: the suite's name.
        own: rows of its leaderboard; shown are strict swaps, or other colors for one object, on
            minimal captions.

    Raises:
        UserError: two results are of the same model and set, or of two files of one name.
    """
    cells: dict[str, dict[str, str]] = {}
    digests: dict[str, str] = {}
    for result in results:
        if digests.setdefault(result.title, result.digest) != result.digest:
            raise UserError(f"Two results name {result.title}, but their files differ: name apart.")
        for row in (row for row in result.rows if row.subset == ALL):
            column = _column(result.title, row.measure)
            line = cells.setdefault(result.scorer.model, {})
            if column in line:
                raise UserError(f"Two results are of {result.scorer.model} on {result.title}.")
            line[column] = _cell(row)
    columns = dict.fromkeys(column for line in cells.values() for column in line)
    for row in own:
        shown = {"track": "minimal", "set": "all", "readout": "score", "semantics": "strict"}
        if shown.items() <= row.items() and row["family"] in ("swap", "vary_color"):
            column = f"{suite}: {row['benchmark']}"
            columns[column] = None
            if row["n_items"]:
                cells.setdefault(row["model"], {})[column] = _text(row)
    lines = tuple(
        (model, *(line.get(column, MISSING) for column in columns)) for model, line in cells.items()
    )
    note = "Accuracy in % with its 95% interval; a tie is a loss."
    return Grid("External sets", ("Model", *columns), lines, names=1, note=note)


def _column(title: str, measure: str) -> str:
    return title if measure == "accuracy" else f"{title} ({measure})"


def _cells(row: Measured) -> tuple[str, str]:
    return percent(row.accuracy), interval(row.low, row.high)


def _cell(row: Measured) -> str:
    return _text(row.model_dump())


def _text(row: Mapping[str, Any]) -> str:
    return f"{percent(row['accuracy']).rstrip('%')} ({interval(row['low'], row['high'])})"
