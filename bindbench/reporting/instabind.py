"""InstaBind's results as a table for the terminal."""

from bindbench.reporting.data import Rows
from bindbench.reporting.numbers import percent, points
from bindbench.reporting.tables import Grid

RATES = {
    "accuracy": "Acc.",
    "mbr": "MBR",
    "a_mbr": "A-MBR",
    "a_mbr_null": "null",
    "out_of_set_rate": "Out",
    "recognition_rate": "Rec.",
    "invalid_rate": "Inv.",
}


def instabind_grid(rows: Rows) -> Grid:
    """Return the rates of every model on every set, in every setting, over all levels."""
    lines = [
        (
            *(row[name] for name in ("set", "setting", "model")),
            f"{row['total']:,}",
            *(percent(row[name]) for name in RATES),
            points(row["mbr_reduction"]),
        )
        for row in rows
        if row["level"] == "all"
    ]
    return Grid(
        "InstaBind",
        ("Set", "Setting", "Model", "n", *RATES.values(), "Gain"),
        tuple(lines),
        names=3,
        note="MBR: answers that are another instance's. A-MBR: of these, a neighbor's; null: by "
        "chance. Gain: MBR on the full image minus MBR here, same questions, in points.",
    )
