"""ConMe's results as tables for the terminal."""

from bindbench.conme.results import FINAL, STAGES
from bindbench.reporting.data import Row, Rows
from bindbench.reporting.numbers import MISSING, interval, percent, points
from bindbench.reporting.tables import Grid

CHANGES = ("between", "drop")  # of the final set


def choice_grid(rows: Rows) -> Grid:
    """Return models on the final sets, in every mode."""
    lines = [
        (
            *(row[name] for name in ("cell", "model", "reading")),
            f"{row['n']:,}",
            *(_rate(row, name) for name in ("accuracy", "both", "order_effect")),
        )
        for row in rows
    ]
    return Grid(
        "ConMe: the final set",
        ("Conversation", "Model", "Mode", "n", "Acc.", "Both orders", "Order effect"),
        tuple(lines),
        names=3,
        note="Acc.: mean of both orders of the options, with the 95% interval.",
    )


def results_grid(rows: Rows) -> Grid:
    """Return every model's accuracy at every stage (the shape of ConMe's Table 3)."""
    found: dict[tuple[str, ...], dict[str, str]] = {}
    changes: dict[tuple[str, ...], dict[str, str]] = {}
    for row in rows:
        key = tuple(row[name] for name in ("set", "panel", "model", "reading"))
        found.setdefault(key, {})[row["stage"]] = percent(row["accuracy"])
        if row["stage"] == FINAL:
            changes[key] = {n: points(row[n]) for n in CHANGES if row[n] is not None}
    lines = [
        (
            *key,
            *(own.get(stage, MISSING) for stage in STAGES),
            *(changes.get(key, {}).get(name, MISSING) for name in CHANGES),
        )
        for key, own in found.items()
    ]
    return Grid(
        "ConMe: accuracy by stage",
        ("Set", "Panel", "Model", "Mode", "Source", "1", "1 kept", "2", "2 kept", "1 to 2", "Drop"),
        tuple(lines),
        names=4,
        note="Source: captions of the benchmark that the images come from. 1, 2: rounds; kept: "
        "what a target misses. 1 to 2: from what is kept of round 1 to what is kept of round 2, in "
        "points. Drop: from the source to that.",
    )


def _rate(row: Row, name: str) -> str:
    if row.get(name) is None:
        return MISSING
    return f"{percent(row[name])} ({interval(row[f'{name}_low'], row[f'{name}_high'])})"
