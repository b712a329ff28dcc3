"""Crossed intervals: claims beyond these objects and labels, which recur across concepts.

The interval of a mean widens by what drawing the objects and the labels anew would add. Each word
is taken to add something of its own to its items; how much the words vary is estimated from the
residuals, which closed forms allow (method of moments), so that nothing is drawn at random.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse, special

from bindbench.analysis.differences import tango
from bindbench.analysis.resampling import LEVEL, Estimate, mid_p


@dataclass(frozen=True)
class _Recurrence:
    """How the words of one kind (the objects, say) recur over items.

    With Z (items x words) the number of times that an item mentions a word, and H the centring
    matrix, the residual sums of the words are Z'r, and C = Z'HZ.
    """

    sums: float  # |Z'r|^2
    trace: float  # of C: what |Z'r|^2 is for items of variance 1 that share nothing
    square: float  # |C|^2: what it is for words of variance 1
    share: float  # |Z'1 / n|^2: the variance that words of variance 1 give the mean
    freedom: int  # distinct words less 1


def half_width(
    values: np.ndarray, members: Sequence[np.ndarray], level: float = LEVEL
) -> tuple[float, float]:
    """Return half the width of a mean's crossed interval, and the variance of independent items.

    Half the width is sqrt(z^2 V_e + sum_f t_f^2 V_f) over the kinds of words f, where t_f has
    one degree of freedom less than there are distinct words (Graybill and Wang, 1980, for sums of
    variances). V_f is the estimated variance of the words times their weight in the mean: of the
    sums over items, what exceeds c times the mean of pure noise. With c = 1 it would be unbiased,
    but with few words the noise is mostly below its mean, and intervals are too narrow as often;
    c = (k - 1) / (k - 1 + a), where k is the degrees of freedom and a the factor by which the
    estimate magnifies noise, covers 93-98% from 3 words on (benchmarks/coverage.py).

    Args:
        values: (n,) wins, or differences of wins. At least two.
        members: for each kind, (n, width): the words that each item mentions, by name or code.
        level: the nominal coverage.
    """
    n, tail = len(values), 0.5 + level / 2
    residuals = np.asarray(values, float) - np.mean(values)
    total = float(residuals @ residuals) / (n - 1)  # the variance of one item
    items, square = total, 0.0
    for kind in (_recurrence(residuals, words) for words in members if words.size):
        distinct = kind.square - kind.trace**2 / (n - 1)
        if kind.freedom < 1 or distinct <= 1e-9 * kind.square:
            continue  # one word only, or each item has words of its own: nothing recurs
        magnified = n * kind.share * kind.trace / distinct
        kept = (kind.freedom - 1) / (kind.freedom - 1 + magnified)
        most = total * (n - 1) / kind.trace  # all that varies is due to the words
        variance = min(max(0.0, kind.sums - kept * total * kind.trace) / distinct, most)
        items -= variance * kind.trace / (n - 1)
        square += float(special.stdtrit(kind.freedom, tail)) ** 2 * variance * kind.share
    square += float(special.ndtri(tail)) ** 2 * max(0.0, items) / n
    return float(np.sqrt(square)), total / n


def _recurrence(residuals: np.ndarray, words: np.ndarray) -> _Recurrence:
    n, width = words.shape
    names, codes = np.unique(words.reshape(-1), return_inverse=True)
    rows = np.repeat(np.arange(n), width)
    counts = sparse.coo_array((np.ones(n * width), (rows, codes.reshape(-1)))).tocsr()
    together = counts.T @ counts
    mean = counts.sum(axis=0) / n
    share = float(mean @ mean)
    square = (together**2).sum() - 2 * n * float(mean @ (together @ mean)) + n**2 * share**2
    return _Recurrence(
        sums=float(np.sum((counts.T @ residuals) ** 2)),
        trace=float((counts**2).sum() - n * share),
        square=float(square),
        share=share,
        freedom=len(names) - 1,
    )


def crossed_proportion(
    wins: np.ndarray, objects: np.ndarray, labels: np.ndarray, level: float = LEVEL
) -> Estimate:
    """Return the share of wins with the wider interval, for claims beyond these concepts.

    The interval is symmetric on the scale of log-odds, on which words add up. Where all items win
    or all lose there is no variance to measure; then each distinct object counts as one item.

    Args:
        wins: bool (n,).
        objects: (n, N): the objects that each item mentions, by name or code.
        labels: (n, L): its labels.
        level: the nominal coverage.
    """
    n, rate = len(wins), float(np.mean(wins)) if len(wins) else 0.0
    if n == 0:
        return Estimate(0.0, 0.0, 1.0, 0, 0.0)
    if rate in (0.0, 1.0):
        size = float(min(n, len(np.unique(objects)) or n))  # a published set names no objects
        low, high = mid_p(rate * size, size, level)
        return Estimate(rate, float(low), float(high), n, size)
    half, _ = half_width(wins, (objects, labels), level)
    odds, reach = special.logit(rate), half / (rate * (1 - rate))
    low, high = special.expit([odds - reach, odds + reach])
    size = _effective(rate * (1 - rate), half, n, level)
    return Estimate(rate, float(low), float(high), n, size)


def crossed_difference(
    first: np.ndarray,
    second: np.ndarray,
    objects: np.ndarray,
    labels: np.ndarray,
    level: float = LEVEL,
) -> Estimate:
    """Return the difference of two paired rates (second minus first) with the wider interval.

    Tango's, as ``differences.paired_difference`` has it, at the size that the crossed variance
    leaves. Where no pair differs, each distinct object counts as one item. Arguments as in
    ``crossed_proportion``; ``first`` and ``second`` are bool (n,), n > 0.
    """
    n = len(first)
    losses, gains = int(np.sum(first & ~second)), int(np.sum(second & ~first))
    mean = (gains - losses) / n
    spread = (gains + losses) / n - mean**2
    if spread > 0:
        half, _ = half_width(second.astype(float) - first, (objects, labels), level)
        size = _effective(spread, half, n, level)
    else:
        size = float(min(n, len(np.unique(objects)) or n))
    low, high = tango(losses / n * size, gains / n * size, size, level)
    return Estimate(mean, low, high, n, size)


def crossed_mean(values: np.ndarray, *members: np.ndarray, level: float = LEVEL) -> Estimate:
    """Return the mean of values in [-1, 1] with the wider interval.

    Args:
        values: (n,), n > 0.
        members: for each kind of words, or of other things that recur, (n, width).
        level: the nominal coverage.
    """
    n, mean = len(values), float(np.mean(values))
    half, plain = half_width(values, members, level) if n > 1 else (2.0, 0.0)
    size = _effective(n * plain, half, n, level)
    return Estimate(mean, max(-1.0, mean - half), min(1.0, mean + half), n, size)


def _effective(variance: float, half: float, n: int, level: float) -> float:
    """Return how many independent items of this variance have an interval of this half width."""
    if half <= 0:
        return float(n)
    return min(float(n), variance * float(special.ndtri(0.5 + level / 2)) ** 2 / half**2)
