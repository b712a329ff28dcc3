"""The interval of the difference of two paired rates."""

from functools import lru_cache
from math import sqrt
from typing import cast

import numpy as np
from scipy import optimize, special

from bindbench.analysis.resampling import LEVEL, Estimate

_EDGE = 1e-12  # at a difference of 1, and at the observed one, there may be no variance


def paired_difference(
    first: np.ndarray,
    second: np.ndarray,
    clusters: np.ndarray | None = None,
    level: float = LEVEL,
) -> Estimate:
    """Return the difference of two paired rates of wins, second minus first, with its interval.

    Tango's score interval (1998). Where clusters repeat, it is taken at the effective size of the
    sample: n over the design effect, less a t correction for few clusters. The bootstrap covers
    more than 98% where fewer than 8 pairs differ; this one does so only below 5.

    Args:
        first: bool (n,).
        second: the same items, by the other model or in the other track.
        clusters: (n,) any labels; items of one cluster may depend on each other. None: all are
            independent.
        level: the nominal coverage.
    """
    n = len(first)
    if n == 0:
        return Estimate(0.0, -1.0, 1.0, 0, 0.0)
    losses, gains = int(np.sum(first & ~second)), int(np.sum(second & ~first))
    size = _effective_size(second.astype(float) - first, clusters, level)
    low, high = tango(losses / n * size, gains / n * size, size, level)
    return Estimate((gains - losses) / n, low, high, n, size)


def _effective_size(
    differences: np.ndarray, clusters: np.ndarray | None, level: float = LEVEL
) -> float:
    """Return how many independent pairs carry as much as these."""
    n = len(differences)
    if clusters is None:
        return float(n)
    codes = np.unique(clusters, return_inverse=True)[1].reshape(-1)
    groups = int(codes.max()) + 1
    residuals = differences - differences.mean()
    spread = float(np.mean(residuals**2))
    if groups == n:
        return float(n)
    if groups == 1 or spread == 0:
        return float(groups)  # no variance to measure: each cluster counts as one pair
    sums = np.bincount(codes, weights=residuals)
    variance = float(sums @ sums) / n**2 * groups / (groups - 1)
    if variance <= 0:
        return float(n)
    few = float(special.ndtri(0.5 + level / 2) / special.stdtrit(groups - 1, 0.5 + level / 2)) ** 2
    return min(float(n), spread / variance * few)


def tango(losses: float, gains: float, n: float, level: float = LEVEL) -> tuple[float, float]:
    """Return Tango's score interval (1998) of (gains - losses) / n; fractions are allowed.

    It holds the differences from which the observed one is at most z standard errors away, where
    the standard error is that of the likeliest rates with this difference. It has a width where no
    pair differs, and stays within -1 and 1.
    """
    return _tango_lower(losses, gains, n, level), -_tango_lower(gains, losses, n, level)


@lru_cache(maxsize=1 << 12)
def _tango_lower(losses: float, gains: float, n: float, level: float) -> float:
    z, found = float(special.ndtri(0.5 + level / 2)), (gains - losses) / n

    def excess(difference: float) -> float:
        linear = (2 * n + losses - gains) * difference - gains - losses
        root = sqrt(max(0.0, linear**2 + 8 * n * losses * difference * (1 - difference)))
        rate = (root - linear) / (4 * n)  # the likeliest rate of losses
        variance = n * (2 * rate + difference * (1 - difference))
        return (gains - losses - n * difference) / sqrt(max(variance, 1e-300)) - z

    lowest, highest = -1 + _EDGE, found - _EDGE
    if highest <= lowest or excess(lowest) <= 0:
        return -1.0
    return found if excess(highest) >= 0 else cast(float, optimize.brentq(excess, lowest, highest))
