"""Filter shift: how far validation moves the words from the target prior (Auto-Comp, Table 16)."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

NULL_REPLICATES = 1000  # puts the ends of the band right to about 0.003
_CELLS_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class Shift:
    """The distance of the validated mentions of one kind of word from the uniform prior."""

    n_words: int  # words (or pairs) of the prior
    n_mentions: int  # validated mentions; where 0, the distances are 0 and mean nothing
    tv: float  # total variation from the prior
    null_mean: float  # its mean if mentions were drawn from the prior
    null_low: float  # 95% of such draws lie from here ...
    null_high: float  # ... to here
    sampled_tv: float  # total variation of the concepts that were sampled, before any check
    within: float  # share of words with 0.5 to 1.5 times their target share
    below: float  # share of words below 0.25 times their target share

    @property
    def excess(self) -> float:
        """What the checks added: beyond the sampled concepts' own distance."""
        return self.tv - self.sampled_tv

    @property
    def excess_over_null(self) -> float:
        """What is more than as many draws from the prior give on average."""
        return self.tv - self.null_mean

    @property
    def beyond_null(self) -> bool:
        """Whether the distance lies above the null band."""
        return self.tv > self.null_high


@dataclass(frozen=True)
class FilterShift:
    """The shift of a validated set, in labels, objects and their pairs."""

    labels: Shift
    objects: Shift
    pairs: Shift


@dataclass(frozen=True)
class Mentions:
    """The words of a set of concepts: one sequence of objects and one of labels for each."""

    objects: Sequence[Sequence[str]]
    labels: Sequence[Sequence[str]]

    def pairs(self) -> list[tuple[str, str]]:
        """Each label with its object; a relation with the object that it is said of (its first)."""
        return [
            pair
            for objects, labels in zip(self.objects, self.labels, strict=True)
            for pair in zip(objects, labels, strict=False)  # N objects, N-1 relations
        ]


def filter_shift(
    validated: Mentions,
    sampled: Mentions,
    object_words: Sequence[str],
    label_words: Sequence[str],
    seed: int = 0,
) -> FilterShift:
    """Return the shift of the validated concepts, against the uniform prior over the words.

    Args:
        validated: the concepts that passed (a track's, or the paired set).
        sampled: all concepts that were sampled.
        object_words: the objects that concepts were sampled from.
        label_words: likewise the labels.
        seed: of the null band.
    """
    pair_words = [(noun, label) for noun in object_words for label in label_words]
    return FilterShift(
        labels=shift(_flat(validated.labels), _flat(sampled.labels), label_words, seed),
        objects=shift(_flat(validated.objects), _flat(sampled.objects), object_words, seed),
        pairs=shift(validated.pairs(), sampled.pairs(), pair_words, seed),
    )


def shift(
    validated: Sequence[Hashable], sampled: Sequence[Hashable], words: Sequence[Hashable], seed: int
) -> Shift:
    """Return the shift of mentions over ``words``; every mention counts."""
    counts = _counts(validated, words)
    mentions, uniform = int(counts.sum()), 1 / len(words)
    ratios = counts / max(mentions, 1) / uniform
    null = null_distances(len(words), mentions, seed)
    low, high = np.quantile(null, [0.025, 0.975])
    return Shift(
        n_words=len(words),
        n_mentions=mentions,
        tv=total_variation(counts),
        null_mean=float(null.mean()),
        null_low=float(low),
        null_high=float(high),
        sampled_tv=total_variation(_counts(sampled, words)),
        within=float(np.mean((ratios >= 0.5) & (ratios <= 1.5))),
        below=float(np.mean(ratios < 0.25)),
    )


def total_variation(counts: np.ndarray) -> float:
    """Return half the sum of absolute differences between shares and the uniform prior."""
    total = counts.sum()
    if total == 0:
        return 0.0
    return float(np.abs(counts / total - 1 / len(counts)).sum() / 2)


def null_distances(
    n_words: int, n_mentions: int, seed: int, replicates: int = NULL_REPLICATES
) -> np.ndarray:
    """Return the total variation (replicates,) of as many mentions drawn from the prior."""
    if n_mentions == 0:
        return np.zeros(replicates)
    rng = np.random.default_rng([seed, n_words, n_mentions])
    prior, step = np.full(n_words, 1 / n_words), max(1, _CELLS_AT_ONCE // n_words)
    return np.concatenate(
        [
            np.abs(rng.multinomial(n_mentions, prior, size=size) / n_mentions - prior).sum(1) / 2
            for start in range(0, replicates, step)
            for size in [min(step, replicates - start)]
        ]
    )


def _flat(rows: Iterable[Sequence[str]]) -> list[str]:
    return [word for row in rows for word in row]


def _counts(mentions: Sequence[Hashable], words: Sequence[Hashable]) -> np.ndarray:
    """Return how often each word is mentioned; a mention of an unknown word is an error."""
    found = Counter(mentions)
    strangers = found.keys() - set(words)
    if strangers:
        raise ValueError(f"mentions outside the vocabulary: {sorted(map(str, strangers))[:5]}")
    return np.array([found[word] for word in words], np.int64)
