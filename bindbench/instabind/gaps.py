"""What an intervention changes, on the same questions (InstaBind-Lite, section V E)."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from bindbench.analysis.resampling import bootstrap_mean, paired_permutation
from bindbench.instabind.metrics import RESAMPLES, Interval
from bindbench.instabind.outcomes import CORRECT, INVALID, MISBINDING, Outcomes


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


def gaps(full: Outcomes, other: Outcomes, compat: bool = False) -> dict[str, Gaps]:
    """Return the gaps over all common questions ("overall") and by level.

    Args:
        full: outcomes on the full image.
        other: outcomes with the intervention.
        compat: rates of invalid answers are 0, as in the authors' summaries.
    """
    errors = dict(zip(full.question_id, full.error, strict=True))
    both = other.where(np.array([key in errors for key in other.question_id], bool))
    parts = {"overall": both, **both.by("level")}
    return {name: _gaps(errors, part, compat) for name, part in parts.items() if len(part)}


def _gaps(errors: Mapping[str, str], part: Outcomes, compat: bool) -> Gaps:
    images = np.unique(part.image_id, return_inverse=True)[1]
    full, other = np.array([errors[key] for key in part.question_id], object), part.error

    def gap(better: np.ndarray, worse: np.ndarray) -> Gap:
        differences = better.astype(float) - worse
        found = bootstrap_mean(differences, images, replicates=RESAMPLES)
        return Gap(found.value, (found.low, found.high), paired_permutation(differences, images))

    return Gaps(
        len(part),
        gap(other == CORRECT, full == CORRECT),
        gap(full == MISBINDING, other == MISBINDING),
        (0.0, 0.0)
        if compat
        else (float(np.mean(full == INVALID)), float(np.mean(other == INVALID))),
    )
