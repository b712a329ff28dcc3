"""Tables for the terminal and for Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from bindbench.reporting import views
from bindbench.reporting.data import SEMANTICS, Rows
from bindbench.reporting.numbers import MISSING, interval, percent, points
from bindbench.reporting.wording import CHECKS, FAMILIES, TRACKS

_SHORT = {"vary_color": "color", "vary_object": "object"}
_ONE, _MORE = ("vary_color", "vary_object"), ("swap", "confusion")  # N=1 and above
_NOTE = "Accuracy in %. strict: only false captions count; paper: all other candidates count."


@dataclass(frozen=True)
class Grid:
    """A table as text: what every form of output is made from."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    names: int  # how many columns, from the left, hold names; the others hold numbers
    note: str = ""
    apart: bool = False  # whether a terminal shows each benchmark apart from the one above


def survival_grid(rows: Rows) -> Grid:
    """Return the share that passes each check, of those that reached it (Auto-Comp, table 3).

    One line for each benchmark and track. The last column is the share of all concepts.
    """
    lines = []
    for key in views.distinct((row["benchmark"] for row in rows), list(views.BENCHMARKS)):
        for track in views.distinct(r["track"] for r in views.select(rows, benchmark=key)):
            steps = views.funnel(rows, key, track)
            shares = [
                MISSING if row is None else percent(row["share_of_reached"]) for _, row in steps
            ]
            last = steps[-1][1]
            counts = MISSING if last is None else f"{last['passed']}"
            lines.append((key, TRACKS.get(track, track), *shares, counts))
    return Grid(
        "Survival",
        ("Benchmark", "Track", *CHECKS.values(), "Images"),
        tuple(lines),
        names=2,
        note="Each check: passed of those that reached it. Accepted: of all concepts.",
    )


def leaderboard_grid(rows: Rows, track: str = "minimal", subset: str = "all") -> Grid:
    """Return the accuracies of every model, ``swap / confusion``, strict above paper, with chance.

    One line for each benchmark and mode, one column for each model (Auto-Comp, table 5). At N=1
    the two numbers are ``other color / other object``.
    """
    scores = views.Scores(rows)
    lines: list[tuple[str, ...]] = []
    for key in scores.benchmarks:
        families = [f for f in scores.families(key) if f != "confusion_no_count"]
        cells = {
            f: [scores.pair(m, key, track, subset, f) for m in scores.models] for f in families
        }
        if not any(pair.any for pairs in cells.values() for pair in pairs):
            continue
        for mode in SEMANTICS:
            chance = [views.reference(cells[f], mode, "chance") for f in families]
            ceiling = [views.reference(cells[f], mode, "ceiling") for f in families]
            values = [
                " / ".join(_accuracy(getattr(cells[f][i], mode)) for f in families)
                for i in range(len(scores.models))
            ]
            lines.append(
                (
                    key,
                    " / ".join(_SHORT.get(f, FAMILIES.get(f, f).lower()) for f in families),
                    mode,
                    " / ".join(_range(found) for found in chance),
                    " / ".join(_range(found) for found in ceiling) if any(ceiling) else MISSING,
                    *values,
                )
            )
    return Grid(
        _title(track, subset),
        (
            "Benchmark",
            "Wrong captions",
            "Mode",
            "Chance",
            "Ceiling",
            *map(scores.label, scores.models),
        ),
        tuple(lines),
        names=3,
        note=_NOTE,
    )


def leaderboard_lines(rows: Rows, track: str = "minimal", subset: str = "all") -> Grid:
    """Return the same figures, a line for each benchmark and model: as narrow as a terminal.

    Each benchmark starts with its chance and, where there is one, its ceiling.
    """
    scores = views.Scores(rows)
    lines: list[tuple[str, ...]] = []
    for key in scores.benchmarks:
        families = _ONE if set(_ONE) & set(scores.families(key)) else _MORE
        modes = [(family, mode) for family in families for mode in SEMANTICS]
        found = {
            (model, family): scores.pair(model, key, track, subset, family)
            for model in scores.models
            for family in families
        }
        for name in ("chance", "ceiling"):
            limits = [
                views.reference([found[m, family] for m in scores.models], mode, name)
                for family, mode in modes
            ]
            if any(limits):
                lines.append((key, name, *map(_range, limits), ""))
        for model in scores.models:
            cells = [getattr(found[model, family], mode) for family, mode in modes]
            items = next((str(row["n_items"]) for row in cells if row is not None), MISSING)
            lines.append((key, scores.label(model), *map(_accuracy, cells), items))
    headers = [f"{name} {mode}" for name in ("Swap", "Confusion") for mode in SEMANTICS]
    return Grid(
        _title(track, subset),
        ("Benchmark", "Model", *headers, "Items"),
        tuple(lines),
        names=2,
        apart=True,
        note=_NOTE + " N=1: other color, other object.",
    )


def _title(track: str, subset: str) -> str:
    paired = ", paired set" if subset == "paired" else ""
    return f"Leaderboard, {TRACKS.get(track, track).lower()} track{paired}"


def _accuracy(row: views.Row | None) -> str:
    if row is None:
        return MISSING
    if row["track"] == "difference":
        return points(row["accuracy"])
    return percent(row["accuracy"]).rstrip("%")


def _range(found: tuple[float, float] | None) -> str:
    if found is None:
        return MISSING
    low, high = (percent(value).rstrip("%") for value in found)
    return low if low == high else interval(*found)


def to_table(grid: Grid) -> Table:
    """Return the grid as a table for the terminal. Text is shown as it is, without markup."""
    table = Table(
        title=Text(grid.title, "bold"),
        caption=Text(grid.note, "dim"),
        box=SIMPLE_HEAD,
        padding=0,
        show_edge=False,
    )
    table.title_justify = table.caption_justify = "left"
    for index, header in enumerate(grid.headers):
        number = index >= grid.names
        # Cells are broken between words; within one only long names are, such as those of models.
        table.add_column(
            Text(header.replace(" ", "\n") if number else header),
            justify="right" if number else "left",
            overflow="fold",
            no_wrap=index == 0,
            min_width=_longest_word(grid, index) if number else min(_longest_word(grid, index), 10),
        )
    above = ""
    for name, *cells in grid.rows:
        if grid.apart and above and name != above:
            table.add_section()
        # A name that stands above already is not repeated.
        table.add_row(Text("" if name == above else name), *map(Text, cells))
        above = name
    return table


def _longest_word(grid: Grid, column: int) -> int:
    cells = [grid.headers[column], *(row[column] for row in grid.rows)]
    return max(len(word) for cell in cells for word in cell.split() or [""])


def survival_table(rows: Rows) -> Table:
    """Return ``survival_grid`` for the terminal."""
    return to_table(survival_grid(rows))


def leaderboard_table(rows: Rows, track: str = "minimal", subset: str = "all") -> Table:
    """Return ``leaderboard_lines`` for the terminal."""
    return to_table(leaderboard_lines(rows, track, subset))


def to_markdown(grid: Grid) -> str:
    """Return the grid as a Markdown table, its numbers aligned to the right."""
    numbers = len(grid.headers) - grid.names
    lines = [grid.headers, ("---",) * grid.names + ("---:",) * numbers, *grid.rows]
    return "".join(_markdown_row(line) for line in lines)


def _markdown_row(cells: Sequence[str]) -> str:
    clean = (cell.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(clean)} |\n"
