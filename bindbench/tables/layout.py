"""Numbers laid out as tables of text."""

from collections.abc import Iterator, Sequence

from bindbench.reporting.numbers import (
    MISSING,
    decimal,
    interval,
    measured,
    percent,
    points,
    probability,
)
from bindbench.reporting.tables import Grid
from bindbench.tables.number import Number, Unit
from bindbench.tables.published import ONLY

PAPER = "paper"  # under the column's name: the published values
_GAP = 2  # between two columns of a terminal


def grids(
    numbers: Sequence[Number], published: bool = False, width: int | None = None
) -> Iterator[Grid]:
    """Yield a table for each block and semantics of one table's numbers.

    Args:
        numbers: of one table.
        published: whether the paper's values stand beside them.
        width: characters in a line; what is wider goes on below. None: no limit.
    """
    shown = [number for number in numbers if number.column]
    for block, semantics in dict.fromkeys((n.block, n.semantics) for n in shown):
        own = [n for n in shown if (n.block, n.semantics) == (block, semantics)]
        where = ", ".join(filter(None, (block, semantics)))
        title = name_of(own[0].table) + (f": {where}" if where else "")
        yield from _fitting(_grid(title, own, published), width)


def name_of(table: str) -> str:
    """Return what a table is called: ``Table 5``; those beyond the paper's have words."""
    return f"Table {table}" if table.isdecimal() else table.capitalize()


def remarks(numbers: Sequence[Number]) -> list[str]:
    """Return what is to be said of numbers that are there, each once, with its row."""
    said = (f"{n.row}: {n.note}" for n in numbers if n.value is not None and n.note)
    return list(dict.fromkeys(said))


def notes(numbers: Sequence[Number]) -> list[str]:
    """Return why some numbers are missing, each reason once."""
    missing = (n.note for n in numbers if n.value is None and n.note != ONLY)
    return [note for note in dict.fromkeys(missing) if note]


def _grid(title: str, numbers: Sequence[Number], published: bool) -> Grid:
    rows = dict.fromkeys(number.row for number in numbers)
    columns = dict.fromkeys(number.column for number in numbers)
    cells = {(number.row, number.column): number for number in numbers}
    printed = {n.column for n in numbers if published and n.published is not None}
    headers, lines = [""], {row: [row] for row in rows}
    for column in columns:
        headers += [column, f"{column} {PAPER}"] if column in printed else [column]
        for row, line in lines.items():
            number = cells.get((row, column))
            line.append(MISSING if number is None else text(number))
            if column in printed:
                line.append(MISSING if number is None else _text(number.published, number.unit))
    return Grid(title, tuple(headers), tuple(map(tuple, lines.values())), 1, _note(numbers))


def _note(numbers: Sequence[Number]) -> str:
    """Say what the numbers are in."""
    units = {number.unit for number in numbers}
    ranged = ", with 95% intervals" if any(measured(number.low) for number in numbers) else ""
    words = {"share": "shares in %", "difference": "differences in points"}
    said = " and ".join(word for unit, word in words.items() if unit in units)
    return f"{said}{ranged}.".capitalize() if said else ""


def text(number: Number) -> str:
    """Return a value with its interval, and its p-value if it has one."""
    found = _text(number.value, number.unit)
    if not (measured(number.low) and measured(number.high)):
        return found
    if number.unit == "difference":
        bounds = f"{points(number.low)} to {points(number.high)}"
    elif number.unit == "share":
        bounds = interval(number.low, number.high)
    else:
        bounds = "–".join(_text(bound, number.unit) for bound in (number.low, number.high))
    p_value = "" if number.p_value is None else f" p {probability(number.p_value)}"
    return f"{found} ({bounds}){p_value}"


def _text(value: float | None, unit: Unit) -> str:
    if value is None or not measured(value):
        return MISSING
    match unit:
        case "share":
            return percent(value).rstrip("%")
        case "difference":
            return points(value)
        case "count":
            return f"{value:,.0f}"
        case "number":
            return f"{value:.3f}".replace("-", "−") if abs(value) < 10 else decimal(value)
        case _:
            return f"{value:,.2f}"


def _fitting(grid: Grid, width: int | None) -> list[Grid]:
    """Return a grid in pieces of a width, its rows as columns if that takes fewer lines."""
    if width is None:
        return [grid]
    ways = [list(_pieces(way, width)) for way in (grid, _turned(grid))]
    return ways[0] if len(ways[0]) == 1 else min(ways, key=_lines)


def _turned(grid: Grid) -> Grid:
    """Return a grid with its rows as columns."""
    first, *rest = zip(grid.headers, *grid.rows, strict=True)
    return Grid(grid.title, first, tuple(rest), 1, grid.note)


def _lines(pieces: Sequence[Grid]) -> int:
    """Return how many lines they take, each with a title, a rule, a note and a blank line."""
    headers = [max(len(header.split(" ")) for header in piece.headers) for piece in pieces]
    return sum(len(p.rows) + header + 4 for p, header in zip(pieces, headers, strict=True))


def _pieces(grid: Grid, width: int) -> Iterator[Grid]:
    """Yield the columns of a grid in as many grids as its width needs, names before each."""
    sizes = [_width(grid, i) for i in range(len(grid.headers))]
    piece: list[int] = []
    for i in range(1, len(sizes)):
        if piece and sum(sizes[j] for j in (0, *piece, i)) > width:
            yield _some(grid, piece)
            piece = []
        piece.append(i)
    yield _some(grid, piece)


def _width(grid: Grid, i: int) -> int:
    words = grid.headers[i].split(" ")  # stand below each other
    return max(map(len, (*words, *(row[i] for row in grid.rows)))) + _GAP


def _some(grid: Grid, columns: Sequence[int]) -> Grid:
    kept = (0, *columns)
    headers = tuple(grid.headers[i] for i in kept)
    rows = tuple(tuple(row[i] for i in kept) for row in grid.rows)
    return Grid(grid.title, headers, rows, 1, grid.note)
