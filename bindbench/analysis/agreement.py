"""Agreement of two judges on the same images (Auto-Comp, Table 21)."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from bindbench.analysis.resampling import LEVEL, Estimate, mcnemar, proportion


@dataclass(frozen=True)
class Agreement:
    """How far two judges decide alike, and in which direction they differ."""

    n_items: int
    agreement: Estimate  # share of images with the same decision
    kappa: float | None  # Cohen's; None where both judges decide everything the same way
    kappa_bounds: tuple[float, float] | None  # None where there is too little to tell
    only_first: Estimate  # share that the first passes and the second fails
    only_second: Estimate  # share that the second passes and the first fails
    asymmetry_p: float  # exact McNemar: neither judge is the more lenient

    @property
    def disagreement(self) -> float:
        """Share of images that they decide differently."""
        return self.only_first.value + self.only_second.value


def agreement(
    first: np.ndarray, second: np.ndarray, clusters: np.ndarray | None = None
) -> Agreement:
    """Return the agreement of two judges.

    Args:
        first: bool (images,): which the first judge passes. At least one image.
        second: the same images, by the second judge.
        clusters: (images,) scene ids, by which the intervals are clustered.
    """
    if len(first) != len(second) or not len(first):
        raise ValueError(f"two judges need the same images, got {len(first)} and {len(second)}")
    return Agreement(
        n_items=len(first),
        agreement=proportion(first == second, clusters),
        kappa=cohen_kappa(first, second),
        kappa_bounds=kappa_interval(first, second, clusters),
        only_first=proportion(first & ~second, clusters),
        only_second=proportion(second & ~first, clusters),
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


def kappa_interval(
    first: np.ndarray, second: np.ndarray, clusters: np.ndarray | None = None, level: float = LEVEL
) -> tuple[float, float] | None:
    """Return the interval of Cohen's kappa of two judges' decisions: the jackknife's over clusters.

    None where kappa without some cluster is not defined, or the judges never differ: there is
    nothing to measure a variance by.

    Args:
        first: bool (images,).
        second: likewise, of the same images.
        clusters: (images,) scene ids; None: all images are independent.
        level: the nominal coverage.
    """
    if np.array_equal(first, second):
        return None
    codes = (
        np.arange(len(first)) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    )
    counts = np.zeros((codes.max() + 1, 2, 2))  # of each cluster, by both decisions
    np.add.at(counts, (codes, first.astype(int), second.astype(int)), 1)
    groups, total = len(counts), counts.sum(axis=0)
    values = _kappas(np.concatenate([total[None], total - counts]))
    if groups < 3 or not np.isfinite(values).all():
        return None
    value, without = values[0], values[1:]
    variance = (groups - 1) / groups * np.sum((without - without.mean()) ** 2)
    half = special.stdtrit(groups - 1, 0.5 + level / 2) * np.sqrt(variance)
    return float(max(-1.0, value - half)), float(min(1.0, value + half))


def _kappas(counts: np.ndarray) -> np.ndarray:
    """Return kappa of each table of counts (tables, 2, 2), NaN where it is not defined."""
    shares = counts / counts.sum(axis=(1, 2), keepdims=True)
    observed = np.trace(shares, axis1=1, axis2=2)
    expected = np.sum(shares.sum(axis=2) * shares.sum(axis=1), axis=1)
    return np.divide(
        observed - expected, 1 - expected, out=np.full(len(counts), np.nan), where=expected < 1
    )
