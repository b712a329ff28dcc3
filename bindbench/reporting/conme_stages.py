"""How far ConMe's conversations came, as a table for the terminal."""

from typing import Any

from bindbench.reporting.data import Rows
from bindbench.reporting.numbers import MISSING, interval, percent
from bindbench.reporting.tables import Grid


def conversation_grid(rows: Rows) -> Grid:
    """Return both rounds of every conversation (the shape of ConMe's Tables 1 and 3)."""
    lines = [
        (
            f"{row['set']}, {row['panel']}",
            f"{row['round']}",
            *(f"{row[name]:,}" for name in ("images", "questions", "samples")),
            percent(row["accuracy"]),
            f"{row['kept']:,}",
            percent(row["accuracy_kept"]),
            _rate(row["wrong"]),
            _rate(row["wrong_kept"]),
        )
        for row in rows
    ]
    headers = ("Set, panel", "Round", "Images", "Asked", "n", "Acc.", "Kept")
    return Grid(
        "ConMe: the conversation",
        (*headers, "Acc. kept", "Wrong", "Wrong kept"),
        tuple(lines),
        names=1,
        note="Asked: questions; n: samples, each a choice between two options. Acc.: the targets' "
        "mean, both orders. Kept: what a target misses. Wrong: samples that are truly so, of those "
        "that what was drawn decides, with the 95% interval.",
    )


def _rate(rate: dict[str, Any] | None) -> str:
    if rate is None:
        return MISSING
    return f"{percent(rate['value'])} ({interval(rate['low'], rate['high'])})"
