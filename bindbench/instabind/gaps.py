"""What an intervention changes, on the same questions (InstaBind-Lite, section V E)."""

from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd

from bindbench.analysis.resampling import bootstrap_mean, paired_permutation
from bindbench.instabind.metrics import RESAMPLES, Interval
from bindbench.instabind.outcomes import CORRECT, INVALID, MISBINDING
from bindbench.instabind.questions import LEVELS


@dataclass(frozen=True)
class Gap:
    """A paired difference, with its image-cluster interval at 95% and permutation test."""

    value: float
    interval: Interval
    p: float


@dataclass(frozen=True)
class Gaps:
    """An intervention against the full image; positive is better with the intervention."""

    total: int
    accuracy_gap: Gap  # intervention - full
    mbr_reduction: Gap  # full - intervention
    invalid_rates: tuple[float, float]  # full, intervention

    def record(self) -> dict[str, object]:
        """Return the values by name."""
        return asdict(self)


def gaps(full: pd.DataFrame, other: pd.DataFrame, compat: bool = False) -> dict[str, Gaps]:
    """Return the gaps over all common questions ("overall") and by level.

    Args:
        full: outcomes on the full image.
        other: outcomes with the intervention.
        compat: rates of invalid answers are 0, as in the authors' summaries.
    """
    pairs = other.merge(full, on="question_id", suffixes=("", "_full"), sort=False)
    parts = {"overall": pairs, **{level: pairs[pairs["level"] == level] for level in LEVELS}}
    return {name: _gaps(part, compat) for name, part in parts.items() if len(part)}


def _gaps(pairs: pd.DataFrame, compat: bool) -> Gaps:
    images = pd.factorize(pairs["image_id"])[0]
    full, other = pairs["error_full"].to_numpy(), pairs["error"].to_numpy()

    def gap(better: np.ndarray, worse: np.ndarray) -> Gap:
        differences = better.astype(float) - worse
        found = bootstrap_mean(differences, images, replicates=RESAMPLES)
        return Gap(
            found.value, (found.low, found.high), paired_permutation(differences, images)
        )

    return Gaps(
        len(pairs),
        gap(other == CORRECT, full == CORRECT),
        gap(full == MISBINDING, other == MISBINDING),
        (0.0, 0.0)
        if compat
        else (float(np.mean(full == INVALID)), float(np.mean(other == INVALID))),
    )
