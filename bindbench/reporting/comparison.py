"""Two models side by side: a table for the terminal, and a page with the items that differ."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bindbench.pipeline.comparing import Compared
from bindbench.pipeline.flipped import Card
from bindbench.reporting.numbers import interval, percent, points, probability
from bindbench.reporting.report import environment
from bindbench.reporting.tables import Grid
from bindbench.reporting.wording import TRACKS

NOTE = (
    "Difference: second minus first, in points, with its 95% interval (Tango; clustered by scene). "
    "p: exact McNemar, by permutation of scenes where they repeat; Holm-corrected over all lines "
    "of the same semantics. Found: the smallest difference that would be found with 80% power. "
    "Flips: items that only the first wins / only the second."
)


def comparison_grids(found: Compared) -> Iterator[Grid]:
    """Yield a table for each track and semantics, a line for each benchmark and family."""
    wheres = dict.fromkeys((row["track"], row["semantics"]) for row in found.rows)
    for track, mode in wheres:
        own = [r for r in found.rows if (r["track"], r["semantics"]) == (track, mode)]
        yield Grid(
            f"{TRACKS[track]} track, {mode}. 1st: {found.first}; 2nd: {found.second}",
            ("Benchmark", "Candidates", "n", "1st", "2nd", "Diff.", "95%", "p", "Found", "Flips"),
            tuple(map(_line, own)),
            names=2,
            apart=True,
        )


def _line(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        row["benchmark"],
        row["family"].replace("_", " "),
        str(row["n_items"]),
        *(percent(row[side]).rstrip("%") for side in ("first", "second")),
        points(row["difference"]),
        f"{points(row['low'])}, {points(row['high'])}",
        probability(row["p_value"]),
        points(row["detectable"]).lstrip("+"),
        f"{row['only_first']} / {row['only_second']}",
    )


def comparison_page(found: Compared, cards: Sequence[Card], items: int) -> str:
    """Return the page, which needs no other file.

    Args:
        found: the comparison.
        cards: the items to show.
        items: how many items flip in all.
    """
    return (
        environment()
        .get_template("compare.html")
        .render(
            data={"title": "BindBench"},
            home="#main",
            found=found,
            cards=cards,
            items=items,
            note=NOTE,
            interval=interval,
        )
    )
