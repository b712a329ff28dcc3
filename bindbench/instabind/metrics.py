"""The benchmark's rates, with image-cluster bootstrap intervals (InstaBind-Lite, section V)."""

from dataclasses import asdict, dataclass

import numpy as np

from bindbench.analysis.resampling import bootstrap_ratio
from bindbench.instabind.adjacency import EXCLUDED_LEVEL, adjacent_chance
from bindbench.instabind.outcomes import (
    CORRECT,
    INVALID,
    MISBINDING,
    OUT_OF_SET,
    RECOGNITION,
    Outcomes,
)

RESAMPLES = 1000
Interval = tuple[float, float]


@dataclass(frozen=True)
class Metrics:
    """The rates over some questions; one whose denominator is 0 is None."""

    total: int
    wrong: int
    accuracy: float
    mbr: float  # misbindings / questions
    err_mbr: float | None  # misbindings / wrong answers
    a_mbr: float | None  # misbindings from a neighbor / misbindings
    a_mbr_null: float | None  # expected A-MBR if these misbindings came from any other instance
    out_of_set_rate: float
    recognition_rate: float
    invalid_rate: float
    distance_counts: dict[str, int]  # misbindings by orders between source and target
    intervals: dict[str, Interval]  # of the rates, at 95%

    def record(self) -> dict[str, object]:
        """Return the values by name."""
        return asdict(self)


def metrics(table: Outcomes, seed: int = 0, resamples: int = RESAMPLES) -> Metrics:
    """Return the rates over a table of outcomes that is not empty.

    All questions about an image are resampled together.
    """
    error, distance = table.error, table.distance
    every = np.ones(len(table), bool)
    wrong, misbound = error != CORRECT, error == MISBINDING
    parts = {
        "accuracy": (~wrong, every),
        "mbr": (misbound, every),
        "err_mbr": (misbound, wrong),
        "a_mbr": (distance == 1, misbound),
        "out_of_set_rate": (error == OUT_OF_SET, every),
        "recognition_rate": (error == RECOGNITION, every),
        "invalid_rate": (error == INVALID, every),
    }
    images = np.unique(table.image_id, return_inverse=True)[1]
    estimates = {
        name: bootstrap_ratio(top, bottom, images, seed, resamples)
        for name, (top, bottom) in parts.items()
    }
    intervals = {name: (one.low, one.high) for name, one in estimates.items() if one}
    if len(table) and not images.any():  # one image tells nothing of others
        intervals = dict.fromkeys(intervals, (0.0, 1.0))
    rates = {name: int(top.sum()) / max(int(down.sum()), 1) for name, (top, down) in parts.items()}
    return Metrics(
        total=len(table),
        wrong=int(wrong.sum()),
        accuracy=rates["accuracy"],
        mbr=rates["mbr"],
        err_mbr=rates["err_mbr"] if wrong.any() else None,
        a_mbr=rates["a_mbr"] if misbound.any() else None,
        a_mbr_null=_null(table.where(misbound)),
        out_of_set_rate=rates["out_of_set_rate"],
        recognition_rate=rates["recognition_rate"],
        invalid_rate=rates["invalid_rate"],
        distance_counts={
            str(d): int((distance == d).sum()) for d in range(1, int(table.group_size.max()))
        },
        intervals=intervals,
    )


def _null(misbindings: Outcomes) -> float | None:
    """Return the mean chance; a false claim of L4 is a neighbor's, so that there it is given."""
    if not len(misbindings):
        return None
    chance = adjacent_chance(misbindings.group_size, misbindings.target)
    given = misbindings.level == EXCLUDED_LEVEL
    return float(np.where(given, misbindings.distance == 1, chance).mean())


def by(table: Outcomes, column: str, seed: int = 0) -> dict[str, Metrics]:
    """Return the metrics of each value of a column, in sorted order."""
    return {name: metrics(part, seed) for name, part in table.by(column).items()}


def confusion(table: Outcomes) -> dict[str, list[list[int]]]:
    """Return, by group size, how often each target (row) was answered with each source (column).

    Answers that are no instance's are not counted; neither is L4, whose sources are given.
    """
    rows = table.where((table.source > 0) & (table.level != EXCLUDED_LEVEL))
    found = {}
    for size, part in rows.by("group_size").items():
        n = int(size)
        flat = (part.target - 1) * n + part.source - 1
        found[size] = np.bincount(flat, minlength=n * n).reshape(n, n).tolist()
    return found
