"""Undoing a filter: how many more mentions each word needs, and which concepts bring them.

A set is matched to the prior if the total variation of its labels, and of its objects, lies inside
the band that as many draws from the prior give (see ``filter_shift``). Where it lies above, words
are topped up to a common level, the quota: the lowest one at which the distance is what draws from
the prior have on average. Nothing that was accepted is thrown away.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from bindbench.analysis.filter_shift import null_distances, total_variation
from bindbench.analysis.resampling import clopper_pearson

_PRIOR_MENTIONS = 4  # how much the mean survival counts beside a word's own


@dataclass(frozen=True)
class Supply:
    """The mentions of one kind of word in one set: of all concepts, and of the accepted ones."""

    sampled: np.ndarray  # int64 (words,)
    accepted: np.ndarray  # int64 (words,)

    @property
    def mean_survival(self) -> float:
        """The share of all mentions that were accepted."""
        return float(self.accepted.sum() / max(self.sampled.sum(), 1))

    @property
    def survival(self) -> np.ndarray:
        """The share of each word's mentions that were accepted, drawn a little to the mean."""
        prior = _PRIOR_MENTIONS * self.mean_survival
        return (self.accepted + prior) / (self.sampled + _PRIOR_MENTIONS)

    def hopeless(self, least: float) -> np.ndarray:
        """Return which words surely survive less often than ``least``, bool (words,)."""
        tried = np.maximum(self.sampled, 1)
        _, high = clopper_pearson(np.minimum(self.accepted, tried), tried, 0.9)  # 5% above it
        return (self.sampled > 0) & (high < least)


@dataclass(frozen=True)
class Need:
    """How far one kind of word in one set is from the prior, and what would bring it there."""

    tv: float  # of the accepted mentions, from the uniform prior over all words
    null_mean: float  # of as many draws from the prior
    null_high: float  # below which 97.5% of them lie
    quota: float  # accepted mentions that every word should have; 0: no word needs more
    missing: np.ndarray  # float64 (words,): how many each word lacks

    @property
    def met(self) -> bool:
        """Whether the distance lies inside the band."""
        return self.tv <= self.null_high


def need(accepted: np.ndarray, given_up: np.ndarray, seed: int) -> Need:
    """Return what a kind of word needs.

    Args:
        accepted: int64 (words,), accepted mentions.
        given_up: bool (words,): words that are topped up no more; the others are to be uniform.
        seed: of the band.
    """
    mentions = int(accepted.sum())
    null = null_distances(len(accepted), mentions, seed)
    tv, high = total_variation(accepted), float(np.quantile(null, 0.975))
    tried = accepted[~given_up]
    missing = np.zeros(len(accepted))
    quota = 0.0
    if tv > high and len(tried):
        quota = float(_level(tried))
        missing = np.where(given_up, 0.0, np.maximum(quota - accepted, 0.0))
    return Need(tv, float(null.mean()), high, quota, missing)


def _level(counts: np.ndarray) -> int:
    """Return the lowest level that makes words as even as draws from the prior, if filled up to it.

    By bisection: the higher the level, the smaller the distance.
    """
    low, high = int(counts.min()), int(counts.max())
    while low < high:
        middle = (low + high) // 2
        filled = np.maximum(counts, middle)
        if total_variation(filled) <= mean_distance(len(filled), int(filled.sum())):
            high = middle
        else:
            low = middle + 1
    return low


def mean_distance(n_words: int, n_mentions: int) -> float:
    """Return the mean total variation of draws from a uniform prior.

    Half the sum of the words' mean absolute deviations, by de Moivre's formula for the binomial:
    E|X - np| = 2 k (1 - p) P(X = k) with k = floor(np) + 1.
    """
    if n_mentions == 0:
        return 0.0
    p = 1 / n_words
    k = np.floor(n_mentions * p) + 1
    deviation = 2 * k * (1 - p) * stats.binom.pmf(k, n_mentions, p)
    return float(n_words * deviation / n_mentions / 2)


@dataclass
class _Aim:
    """One kind of word in one set, while concepts are chosen."""

    words: np.ndarray  # int64 (concepts, mentions)
    have: np.ndarray  # float64 (words,): accepted mentions, those to be expected included
    missing: np.ndarray  # bool (words,) that are to be topped up
    level: float
    factor: np.ndarray  # float64 (words,): a word's survival over the mean

    @property
    def wanted(self) -> np.ndarray:
        """The words that still lack mentions, bool (words,)."""
        return self.missing & (self.have < self.level)

    def worth(self) -> np.ndarray:
        """Return how far the words of each concept are below the level, at most 1 each."""
        value = np.clip((self.level - self.have) / max(self.level, 1.0), -1, 1)
        return value[self.words].sum(axis=1)


Kinds = Mapping[str, Supply]  # "labels", "objects"


def choose(
    supplies: Mapping[str, Kinds],
    needs: Mapping[str, Mapping[str, Need]],
    words: Mapping[str, np.ndarray],
    free: np.ndarray,
    most: int,
    unit: int = 1,
) -> list[int]:
    """Return which concepts of a pool to add, by their places, the most useful first.

    Greedy: each time those whose words are furthest below their levels in the sets (words above
    theirs count against a concept), until as many accepted mentions are to be expected as are
    missing. A concept's survival is taken as the mean times the factors of its words.

    Args:
        supplies: by set and kind.
        needs: likewise.
        words: by kind, int64 (concepts, mentions): the pool.
        free: bool (concepts,): not taken yet.
        most: concepts that may be added.
        unit: neighbours that are taken together (2: a concept and its counterpart).
    """
    sets = {
        name: [_aim(kinds[kind], needs[name][kind], words[kind]) for kind in kinds]
        for name, kinds in supplies.items()
    }
    survivals = {
        name: _survival(aims, next(iter(supplies[name].values())).mean_survival)
        for name, aims in sets.items()
    }
    aims = [aim for found in sets.values() for aim in found]
    free, chosen = free.copy(), list[int]()
    while len(chosen) + unit <= most:
        useful = _by_unit(_any_wanted(aims), unit) & _by_unit(free, unit)
        places = np.flatnonzero(useful)
        if not len(places):
            break
        worth = sum(aim.worth() for aim in aims)
        worth = np.asarray(worth).reshape(-1, unit).sum(axis=1)[places]
        best = places[np.argsort(-worth, kind="stable")[: 1 + len(chosen) // 8]]
        for place in best.tolist():
            taken = range(place * unit, (place + 1) * unit)
            if len(chosen) + unit > most or not any(_wanted(aims, at) for at in taken):
                continue
            for at in taken:
                free[at] = False
                chosen.append(at)
                _expect(sets, survivals, at)
    return chosen


def _aim(supply: Supply, wanted: Need, words: np.ndarray) -> _Aim:
    level = max(wanted.quota, float(supply.accepted.mean()))
    factor = supply.survival / max(supply.mean_survival, 1e-9)
    return _Aim(words, supply.accepted.astype(float), wanted.missing > 0, level, factor)


def _survival(aims: Sequence[_Aim], mean: float) -> np.ndarray:
    """Return the probability that each concept of the pool is accepted, float64 (concepts,)."""
    found = np.full(len(aims[0].words), mean)
    for aim in aims:
        found = found * aim.factor[aim.words].prod(axis=1)
    return np.clip(found, 0.01, 1.0)


def _by_unit(concepts: np.ndarray, unit: int) -> np.ndarray:
    return np.logical_or.reduce(concepts.reshape(-1, unit), axis=1)


def _any_wanted(aims: Sequence[_Aim]) -> np.ndarray:
    return np.logical_or.reduce([aim.wanted[aim.words].any(axis=1) for aim in aims])


def _wanted(aims: Sequence[_Aim], at: int) -> bool:
    return any(bool(aim.wanted[aim.words[at]].any()) for aim in aims)


def _expect(sets: Mapping[str, list[_Aim]], survivals: Mapping[str, np.ndarray], at: int) -> None:
    """Count a concept's words as far as it is expected to be accepted."""
    for name, aims in sets.items():
        for aim in aims:
            aim.have[aim.words[at]] += survivals[name][at]
