"""How faithful images are to their captions: CLIPScore (Auto-Comp, A.7.2 and Table 18)."""

import numpy as np
from scipy import special

from bindbench.analysis.resampling import LEVEL, Estimate

WEIGHT = 2.5  # of Hessel et al., 2021
PERCENT = 100.0  # the weight that the paper's values, 27 to 33, are of


def clip_score(cosines: np.ndarray, weight: float = WEIGHT) -> np.ndarray:
    """Return the CLIPScore of each image and caption: weight * max(cosine, 0).

    Hessel et al. (2021), equation 1. They take the weight 2.5; the common implementations take
    100, and so do the paper's values.
    """
    return weight * np.maximum(np.asarray(cosines, float), 0.0)


def clustered_mean(
    values: np.ndarray, clusters: np.ndarray | None = None, level: float = LEVEL
) -> Estimate | None:
    """Return the mean of measurements, with the t interval of cluster-robust standard errors.

    The variance is sum_c (sum of the residuals of cluster c)^2 / n^2 * k / (k - 1), with k clusters
    and k - 1 degrees of freedom (Miller, 2024). None without two clusters.

    Args:
        values: (n,) of any size.
        clusters: (n,) scene ids; None: all items are independent.
        level: the nominal coverage.
    """
    values = np.asarray(values, float)
    n = len(values)
    codes = np.arange(n) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    groups = len(np.unique(codes))
    if groups < 2:
        return None
    mean = float(np.mean(values))
    sums = np.bincount(codes, weights=values - mean)
    variance = float(np.sum(sums**2)) / n**2 * groups / (groups - 1)
    half = float(special.stdtrit(groups - 1, 0.5 + level / 2) * np.sqrt(variance))
    return Estimate(mean, mean - half, mean + half, n, float(groups))
