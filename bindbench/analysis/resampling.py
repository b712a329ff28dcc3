"""Intervals, tests and resampling: how sure a number is.

Every function that draws at random takes a seed and depends on nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy import signal, special, stats

LEVEL = 0.95
REPLICATES = 2000
_DRAWS_AT_ONCE = 4_000_000  # bounds the memory of a bootstrap


@dataclass(frozen=True)
class Estimate:
    """A number with its interval."""

    value: float
    low: float
    high: float
    n: int  # items that it was computed from
    n_effective: float  # independent items that would be as informative


# --- one proportion -------------------------------------------------------------------------


def wilson(wins: ArrayLike, n: ArrayLike, level: float = LEVEL) -> tuple[np.ndarray, np.ndarray]:
    """Return Wilson's score interval for ``wins`` of ``n``; arrays broadcast."""
    wins, n = np.asarray(wins, float), np.asarray(n, float)
    z = special.ndtri(0.5 + level / 2)
    rate = wins / n
    middle = (rate + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(rate * (1 - rate) / n + z**2 / (4 * n**2))
    return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)


def clopper_pearson(
    wins: ArrayLike, n: ArrayLike, level: float = LEVEL
) -> tuple[np.ndarray, np.ndarray]:
    """Return the exact interval for ``wins`` of ``n``: never below its level, often well above."""
    wins, n = np.broadcast_arrays(np.asarray(wins, float), np.asarray(n, float))
    tail = (1 - level) / 2
    low = np.where(wins > 0, special.betaincinv(np.maximum(wins, 1e-9), n - wins + 1, tail), 0.0)
    losses = n - wins
    high = np.where(
        losses > 0, 1 - special.betaincinv(np.maximum(losses, 1e-9), wins + 1, tail), 1.0
    )
    return low, high


def clopper_pearson_lower(wins: int, n: int, level: float = LEVEL) -> float:
    """Return the exact one-sided lower bound of a rate; 0 where nothing was observed."""
    return float(special.betaincinv(wins, n - wins + 1, 1 - level)) if wins > 0 else 0.0


def blaker(wins: int, n: int, level: float = LEVEL) -> tuple[float, float]:
    """Return Blaker's exact interval (2000), the one that reports print for independent items.

    Its coverage is never below the level, like Clopper-Pearson's, inside which it always lies; but
    it exceeds the level only by what discreteness forces: Wilson falls to 87% at p = 1/729 and the
    mid-P interval to 92% at p = 0.97. With n = 0 it is (0, 1).
    """
    if n == 0:
        return 0.0, 1.0
    return _blaker_lower(wins, n, level), 1 - _blaker_lower(n - wins, n, level)


@lru_cache(maxsize=1 << 14)
def _blaker_lower(wins: int, n: int, level: float) -> float:
    """Return the lowest rate at which ``wins`` of ``n`` is still acceptable."""
    if wins == 0:
        return 0.0
    tail = (1 - level) / 2
    low, high = special.betaincinv(wins, n - wins + 1, [tail, 2 * tail])
    for _ in range(3):  # the first acceptable rate of a grid, three times finer and finer
        grid = np.linspace(low, high, 200)
        first = int(np.argmax(_acceptability(wins, n, grid) > 2 * tail))
        if not first:  # acceptable from the start, or (at its very end) nowhere inside
            return float(grid[0] if _acceptability(wins, n, grid[:1])[0] > 2 * tail else high)
        low, high = grid[first - 1], grid[first]
    return float(low)


def _acceptability(wins: int, n: int, rate: np.ndarray) -> np.ndarray:
    """P(X >= wins) and the largest lower tail that is no larger, for rates below wins / n."""
    upper = special.bdtrc(wins - 1, n, rate)
    reach = stats.binom.ppf(upper, n, rate)
    lower = special.bdtr(reach, n, rate)
    too_far = lower > upper * (1 + 1e-12)
    before = np.where(reach > 0, special.bdtr(np.maximum(reach - 1, 0), n, rate), 0.0)
    return upper + np.where(too_far, before, lower)


def mid_p(wins: ArrayLike, n: ArrayLike, level: float = LEVEL) -> tuple[np.ndarray, np.ndarray]:
    """Return the mid-P interval, which also takes fractional numbers; arrays broadcast.

    It counts the observed outcome half in each tail. Reports print it for effective sample sizes
    (clustered and crossed intervals), which are fractions. With n = 0 it is (0, 1).
    """
    wins, n = np.broadcast_arrays(np.asarray(wins, float), np.asarray(n, float))
    tail = (1 - level) / 2
    return _mid_p_lower(wins, n, tail), 1 - _mid_p_lower(n - wins, n, tail)


def _mid_p_lower(wins: np.ndarray, n: np.ndarray, tail: float) -> np.ndarray:
    """Solve P(X > wins) + P(X = wins) / 2 = tail for the rate, by bisection."""
    low, high = np.zeros(wins.shape), np.ones(wins.shape)
    for _ in range(60):
        middle = (low + high) / 2
        below = _mid_tail(wins, n, middle) < tail
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.where(wins > 0, low, 0.0)


def _mid_tail(wins: np.ndarray, n: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """P(X > wins) + P(X = wins) / 2 for X ~ Binomial(n, rate), continued to real arguments."""
    at_least = special.betainc(np.maximum(wins, 1e-9), n - wins + 1, rate)
    losses = n - wins
    above = np.where(losses > 0, special.betainc(wins + 1, np.maximum(losses, 1e-9), rate), 0.0)
    return (at_least + above) / 2


def proportion(
    wins: np.ndarray, clusters: np.ndarray | None = None, level: float = LEVEL
) -> Estimate:
    """Return the share of wins with its interval: Blaker's, or mid-P where items are clustered.

    Args:
        wins: bool (n,).
        clusters: (n,) any labels; items of one cluster (replicates of a scene) may depend on each
            other. They shrink the sample to its effective size by the design effect (Korn and
            Graubard, 1998); without repeats the plain interval results. None: all independent.
        level: the nominal coverage.
    """
    n, total = len(wins), int(np.sum(wins))
    if n == 0:
        return Estimate(0.0, 0.0, 1.0, 0, 0.0)
    size = float(n) if clusters is None else _effective_size(wins, clusters, level)
    if size == n:
        return Estimate(total / n, *blaker(total, n, level), n, size)
    low, high = mid_p(total / n * size, size, level)
    return Estimate(total / n, float(low), float(high), n, size)


def _effective_size(wins: np.ndarray, clusters: np.ndarray, level: float) -> float:
    """Return how many independent items carry as much as these clustered ones."""
    n, rate = len(wins), float(np.mean(wins))
    codes = _codes(clusters)
    groups = int(codes.max()) + 1
    if groups == n:
        return float(n)
    if groups == 1 or rate in (0.0, 1.0):
        return float(groups)  # no variance to measure: each cluster counts as one item
    sums = np.bincount(codes, weights=wins - rate)
    variance = np.sum(sums**2) / n**2 * groups / (groups - 1)
    return _size_from(rate, float(variance), groups - 1, n, level)


def _size_from(rate: float, variance: float, freedom: float, n: int, level: float) -> float:
    """Return the size whose binomial variance is ``variance``, less what few clusters cost."""
    if variance <= 0:
        return float(n)
    few = (special.ndtri(0.5 + level / 2) / special.stdtrit(freedom, 0.5 + level / 2)) ** 2
    return float(min(n, rate * (1 - rate) / variance * few))


# --- means and ratios -----------------------------------------------------------------------


def bootstrap_mean(
    values: np.ndarray,
    clusters: np.ndarray | None = None,
    seed: int = 0,
    replicates: int = REPLICATES,
    level: float = LEVEL,
) -> Estimate:
    """Return the mean of values in [-1, 1], such as paired differences, with its interval.

    Percentile interval of a cluster bootstrap, in which one item of value +1 and one of -1 are
    added to the sample (the adjustment of Bonett and Price, 2012). Without them a sample with few
    differing pairs covers far too rarely, and one with none has an interval of width 0.
    """
    n = len(values)
    if n == 0:
        return Estimate(0.0, -1.0, 1.0, 0, 0.0)
    rows, counts = _cluster_rows(np.asarray(values, float), np.ones(n), clusters)
    rows = np.concatenate([rows, [[1.0, 1.0], [-1.0, 1.0]]])
    sums = _draw(rows, np.append(counts, [1, 1]), seed, replicates)
    low, high = _percentiles(sums[:, 0] / sums[:, 1], level)
    mean = float(np.mean(values))
    return Estimate(mean, min(low, mean), max(high, mean), n, float(counts.sum()))


def bootstrap_ratio(
    numerator: np.ndarray,
    denominator: np.ndarray,
    clusters: np.ndarray | None = None,
    seed: int = 0,
    replicates: int = REPLICATES,
    level: float = LEVEL,
) -> Estimate | None:
    """Return sum(numerator) / sum(denominator) with its cluster bootstrap interval.

    Both are (n,) and not negative (wins in two tracks, say). Half a win is added to each side of
    every replicate, so that a replicate without any still has a ratio. None where the denominator
    is 0: the ratio is then undefined.
    """
    if not np.sum(denominator):
        return None
    top, bottom = np.asarray(numerator, float), np.asarray(denominator, float)
    rows, counts = _cluster_rows(top, bottom, clusters)
    sums = _draw(rows, counts, seed, replicates)
    low, high = _percentiles((sums[:, 0] + 0.5) / (sums[:, 1] + 0.5), level)
    ratio = float(top.sum() / bottom.sum())
    return Estimate(ratio, min(low, ratio), max(high, ratio), len(top), float(counts.sum()))


def _codes(values: np.ndarray) -> np.ndarray:
    """Return the index of each value among the distinct ones."""
    return np.unique(np.asarray(values), return_inverse=True)[1].reshape(-1)


def _cluster_rows(
    first: np.ndarray, second: np.ndarray, clusters: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct pairs of cluster sums (rows, 2), and how many clusters have each.

    Resampling clusters is the same as a multinomial draw over these few rows.
    """
    pairs = np.stack([first, second], axis=1)
    if clusters is not None:
        codes = _codes(clusters)
        pairs = np.stack([np.bincount(codes, weights=column) for column in pairs.T], axis=1)
    rows, counts = np.unique(pairs, axis=0, return_counts=True)
    return rows, counts


def _draw(rows: np.ndarray, counts: np.ndarray, seed: int, replicates: int) -> np.ndarray:
    """Return the sums (replicates, 2) of as many rows, drawn with replacement."""
    rng = np.random.default_rng([seed, len(rows)])
    step = max(1, _DRAWS_AT_ONCE // len(rows))
    total = int(counts.sum())
    return np.concatenate(
        [
            rng.multinomial(total, counts / total, size=min(step, replicates - start)) @ rows
            for start in range(0, replicates, step)
        ]
    )


def _percentiles(values: np.ndarray, level: float) -> tuple[float, float]:
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


# --- tests ----------------------------------------------------------------------------------


def mcnemar(first: np.ndarray, second: np.ndarray) -> float:
    """Return the exact two-sided p-value that two paired sets of wins have equal rates."""
    only_first = int(np.sum(first & ~second))
    only_second = int(np.sum(second & ~first))
    differing = only_first + only_second
    if not differing:
        return 1.0
    return min(1.0, 2 * float(stats.binom.cdf(min(only_first, only_second), differing, 0.5)))


def paired_permutation(
    differences: np.ndarray,
    clusters: np.ndarray | None = None,
    seed: int = 0,
    replicates: int = 10_000,
) -> float:
    """Return the two-sided p-value that paired differences are symmetric about 0.

    The sign of each cluster's sum is flipped at random; the observed arrangement counts as one.
    """
    sums = np.asarray(differences, float)
    if clusters is not None:
        sums = np.bincount(_codes(clusters), weights=sums)
    sizes, counts = np.unique(np.abs(sums[sums != 0]), return_counts=True)
    rng = np.random.default_rng([seed, len(sizes)])
    drawn = np.zeros(replicates)
    for size, count in zip(sizes, counts, strict=True):
        drawn += size * (2 * rng.binomial(count, 0.5, replicates) - count)
    observed = abs(float(sums.sum()))
    return (1 + int(np.sum(np.abs(drawn) >= observed - 1e-9))) / (1 + replicates)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values of one table corrected by Holm's step-down method, in their order."""
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    steps = np.maximum.accumulate(np.asarray(p_values, float)[order] * factors)
    corrected = np.empty(len(p_values))
    corrected[order] = np.minimum(steps, 1.0)
    return corrected.tolist()


def smallest_detectable_difference(
    n: int, differing: int, level: float = LEVEL, power: float = 0.8
) -> float:
    """Return the difference of two paired rates that a test finds with the given power.

    Solves z_a sqrt(q) + z_b sqrt(q - d^2) = d sqrt(n) for d (Connor, 1987), where q is the share
    of differing pairs, estimated as (differing + 2) / (n + 2) as in ``bootstrap_mean``. At most 1.
    """
    a, b = special.ndtri(0.5 + level / 2), special.ndtri(power)
    if n <= a**2 - b**2:
        return 1.0
    share = (differing + 2) / (n + 2)
    root = a * np.sqrt(n) + b * np.sqrt(n - a**2 + b**2)
    return float(min(1.0, np.sqrt(share) * root / (n + b**2)))


def poisson_binomial(chances: np.ndarray) -> np.ndarray:
    """Return the probabilities (n + 1,) of each number of wins, given each item's chance (n,).

    Items of equal chance form a binomial; the binomials are convolved (by FFT where long, with an
    absolute error of about 1e-15).
    """
    values, counts = np.unique(np.asarray(chances, float), return_counts=True)
    parts = [
        stats.binom.pmf(np.arange(count + 1), count, value)
        for value, count in zip(values, counts, strict=True)
    ]
    while len(parts) > 1:  # shortest first, so that lengths stay balanced
        parts.sort(key=len)
        parts = [*parts[2:], np.maximum(signal.convolve(parts[0], parts[1]), 0.0)]
    return parts[0] if parts else np.ones(1)


def chance_test(wins: int, chances: np.ndarray) -> float:
    """Return the two-sided p-value of a number of wins if every item were left to chance.

    Twice the smaller tail of the Poisson-binomial distribution, at most 1.
    """
    pmf = poisson_binomial(chances)
    tail = min(pmf[: wins + 1].sum(), pmf[wins:].sum())
    return float(min(1.0, 2 * tail))
