"""Accuracy as it would be on the target prior: items weighted so that words come back to it.

The checks let some labels and objects pass more often than others (see ``filter_shift``), and a
model's accuracy on what is left is an average over the wrong mixture of words. An item mentions
several labels and objects, so that it belongs to no single stratum; its weight is therefore a
product of one factor for each word that it mentions, chosen so that the weighted shares of labels
and of objects are those of the prior: generalised raking (Deville, Saerndal and Sautory, 1993), by
the iterative scaling of Darroch and Ratcliff (1972), which holds where items count several times.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from bindbench.analysis.resampling import LEVEL, mid_p

MOST = 5.0  # an item counts at most as much as this many, and at least as one of so many
_STEPS = 500
_CLOSE = 1e-7  # of shares


@dataclass(frozen=True)
class Margin:
    """One kind of word: what items mention, and how many words the prior is uniform over."""

    mentions: np.ndarray  # int64 (items, mentions): numbers of words
    n_words: int


@dataclass(frozen=True)
class Weights:
    """The items' weights and how well they do."""

    values: np.ndarray  # float64 (items,), of mean 1
    tv: tuple[float, ...]  # distance that is left to the prior, of each margin
    absent: tuple[int, ...]  # words of the prior that no item mentions, of each margin

    @property
    def effective(self) -> float:
        """Kish's effective sample size, (sum w)^2 / sum w^2."""
        return kish(self.values)


@dataclass(frozen=True)
class Reweighted:
    """The accuracy on the target prior."""

    value: float
    low: float  # of the interval, clustered by scene
    high: float
    plain: float  # every item counted once
    n_items: int


def kish(weights: np.ndarray) -> float:
    """Return the effective sample size of weights (Kish, 1965), 0 of none."""
    return float(weights.sum() ** 2 / np.sum(weights**2)) if len(weights) else 0.0


def rake(margins: Sequence[Margin], most: float = MOST) -> Weights:
    """Return the weights that bring every margin to its uniform prior, as far as bounds allow.

    Words that no item mentions can't be brought back; the others share the prior.

    Args:
        margins: of the same items.
        most: the largest weight, the mean being 1; the smallest is its inverse.
    """
    weights = np.ones(len(margins[0].mentions))
    for _ in range(_STEPS if len(weights) else 0):
        before = weights
        for margin in margins:
            weights = _bounded(weights * _factors(margin, weights), most)
        if np.max(np.abs(weights - before)) < _CLOSE:
            break
    return Weights(
        weights,
        tuple(_distance(margin, weights) for margin in margins),
        tuple(margin.n_words - len(np.unique(margin.mentions)) for margin in margins),
    )


def _shares(margin: Margin, weights: np.ndarray) -> np.ndarray:
    """Return the weighted share of each word among the mentions, float64 (words,)."""
    mentions = margin.mentions
    counts = np.bincount(
        mentions.ravel(), np.repeat(weights, mentions.shape[1]), minlength=margin.n_words
    )
    return counts / max(counts.sum(), 1e-300)


def _factors(margin: Margin, weights: np.ndarray) -> np.ndarray:
    """Return the geometric mean of (wanted / now) over the words of each item, (items,)."""
    shares = _shares(margin, weights)
    present = shares > 0
    wanted = present / present.sum()
    logs = np.log(np.where(present, wanted, 1.0) / np.where(present, shares, 1.0))
    return np.exp(logs[margin.mentions].mean(axis=1))


def _bounded(weights: np.ndarray, most: float) -> np.ndarray:
    weights = weights / weights.mean()
    return np.clip(weights, 1 / most, most)


def _distance(margin: Margin, weights: np.ndarray) -> float:
    """Return the total variation from the prior over all words, absent ones included."""
    if not len(weights):
        return 0.0
    return float(np.abs(_shares(margin, weights) - 1 / margin.n_words).sum() / 2)


def reweighted(wins: np.ndarray, scenes: np.ndarray, found: Weights) -> Reweighted:
    """Return the accuracy on the target prior, with its interval.

    The interval is mid-P at the size whose binomial variance is that of the weighted mean,
    linearised and clustered by scene, less a t correction for few scenes (Korn and Graubard, 1998).
    The weights are taken as given: where words explain a part of the wins, it is a little wide.

    Args:
        wins: bool (items,).
        scenes: (items,) canonical scene ids; replicates share one.
        found: the items' weights, by ``rake``.
    """
    n = len(wins)
    if n == 0:
        return Reweighted(0.0, 0.0, 1.0, 0.0, 0)
    value = float(np.average(wins, weights=found.values))
    size = _size(wins - value, found.values, scenes, value)
    low, high = mid_p(value * size, size)
    return Reweighted(value, float(low), float(high), float(np.mean(wins)), n)


def _size(residuals: np.ndarray, weights: np.ndarray, scenes: np.ndarray, rate: float) -> float:
    """Return how many independent, equally weighted items carry as much as these."""
    codes = np.unique(scenes, return_inverse=True)[1].reshape(-1)
    groups = int(codes.max()) + 1
    variance = np.sum(np.bincount(codes, weights=weights * residuals) ** 2) / weights.sum() ** 2
    if groups == 1 or variance <= 1e-15:  # nothing to measure a variance by
        return kish(np.bincount(codes, weights=weights))
    variance *= groups / (groups - 1)
    few = special.ndtri(0.5 + LEVEL / 2) / special.stdtrit(groups - 1, 0.5 + LEVEL / 2)
    return float(min(len(weights), rate * (1 - rate) / variance * few**2))
