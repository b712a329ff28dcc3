"""The benchmark's rates, with image-cluster bootstrap intervals (InstaBind-Lite, section V)."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from bindbench.analysis.resampling import bootstrap_ratio
from bindbench.instabind.adjacency import adjacent_chance
from bindbench.instabind.outcomes import CORRECT, INVALID, MISBINDING, OUT_OF_SET, RECOGNITION
from bindbench.instabind.questions import LEVELS

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


def metrics(table: pd.DataFrame, seed: int = 0, resamples: int = RESAMPLES) -> Metrics:
    """Return the rates over a table of outcomes that is not empty.

    All questions about an image are resampled together.
    """
    error = table["error"].to_numpy()
    distance = table["distance"].to_numpy()
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
    images = pd.factorize(table["image_id"])[0]
    estimates = {
        name: bootstrap_ratio(top, bottom, images, seed, resamples)
        for name, (top, bottom) in parts.items()
    }
    sizes, targets = table["group_size"].to_numpy(), table["target"].to_numpy()
    null = adjacent_chance(sizes[misbound], targets[misbound])
    rates = {name: int(top.sum()) / max(int(down.sum()), 1) for name, (top, down) in parts.items()}
    return Metrics(
        total=len(table),
        wrong=int(wrong.sum()),
        accuracy=rates["accuracy"],
        mbr=rates["mbr"],
        err_mbr=rates["err_mbr"] if wrong.any() else None,
        a_mbr=rates["a_mbr"] if misbound.any() else None,
        a_mbr_null=_null(table, misbound, null),
        out_of_set_rate=rates["out_of_set_rate"],
        recognition_rate=rates["recognition_rate"],
        invalid_rate=rates["invalid_rate"],
        distance_counts={
            str(d): int((distance == d).sum()) for d in range(1, int(sizes.max()))
        },
        intervals={name: (one.low, one.high) for name, one in estimates.items() if one},
    )


def _null(table: pd.DataFrame, misbound: np.ndarray, null: np.ndarray) -> float | None:
    """Return the mean chance; a false claim of L4 is a neighbor's, so that there it is 1."""
    if not misbound.any():
        return None
    given = table["level"].to_numpy()[misbound] == "L4"
    return float(np.where(given, table["distance"].to_numpy()[misbound] == 1, null).mean())


def by(table: pd.DataFrame, column: str, seed: int = 0) -> dict[str, Metrics]:
    """Return the metrics of each value of a column, in sorted order."""
    return {str(key): metrics(part, seed) for key, part in table.groupby(column, sort=True)}


def by_level(table: pd.DataFrame, seed: int = 0) -> dict[str, Metrics]:
    """Return the metrics of each level that the table holds."""
    parts: Mapping[str, pd.DataFrame] = {
        level: table[table["level"] == level] for level in LEVELS
    }
    return {level: metrics(part, seed) for level, part in parts.items() if len(part)}


def confusion(table: pd.DataFrame) -> dict[str, list[list[int]]]:
    """Return, by group size, how often each target (row) was answered with each source (column).

    Answers that are no instance's are not counted; neither is L4, whose sources are given.
    """
    rows = table[(table["source"] > 0) & (table["level"] != "L4")]
    found = {}
    for size, part in rows.groupby("group_size", sort=True):
        n = int(str(size))
        flat = (part["target"].to_numpy() - 1) * n + part["source"].to_numpy() - 1
        found[str(size)] = np.bincount(flat, minlength=n * n).reshape(n, n).tolist()
    return found
