"""Agreement of two judges on the same images (Auto-Comp, Table 21)."""

from dataclasses import dataclass

import numpy as np

from bindbench.analysis.resampling import Estimate, mcnemar, proportion


@dataclass(frozen=True)
class Agreement:
    """How far two judges decide alike, and in which direction they differ."""

    n_items: int
    agreement: Estimate  # share of images with the same decision
    kappa: float | None  # Cohen's; None where both judges decide everything the same way
    only_first: float  # share that the first passes and the second fails
    only_second: float  # share that the second passes and the first fails
    asymmetry_p: float  # exact McNemar: neither judge is the more lenient

    @property
    def disagreement(self) -> float:
        """Share of images that they decide differently."""
        return self.only_first + self.only_second


def agreement(
    first: np.ndarray, second: np.ndarray, clusters: np.ndarray | None = None
) -> Agreement:
    """Return the agreement of two judges.

    Args:
        first: bool (images,): which the first judge passes. At least one image.
        second: the same images, by the second judge.
        clusters: (images,) scene ids, by which the interval is clustered.
    """
    if len(first) != len(second) or not len(first):
        raise ValueError(f"two judges need the same images, got {len(first)} and {len(second)}")
    return Agreement(
        n_items=len(first),
        agreement=proportion(first == second, clusters),
        kappa=cohen_kappa(first, second),
        only_first=float(np.mean(first & ~second)),
        only_second=float(np.mean(second & ~first)),
        asymmetry_p=mcnemar(first, second),
    )


def cohen_kappa(first: np.ndarray, second: np.ndarray) -> float | None:
    """Return (observed - expected agreement) / (1 - expected), for labels of any kind.

    None where the expected agreement is 1: both use the same single label throughout.
    """
    observed = float(np.mean(first == second))
    values = np.union1d(first, second)
    expected = float(sum(np.mean(first == value) * np.mean(second == value) for value in values))
    return None if expected == 1 else (observed - expected) / (1 - expected)
