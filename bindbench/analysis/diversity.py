"""Diversity of captions: distinct n-grams, and how far apart they lie for a text encoder.

Auto-Comp, A.7.1 and Table 17.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from scipy import special

from bindbench.analysis.resampling import LEVEL, Estimate

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


def words(caption: str) -> list[str]:
    """Return the words of a caption in lower case, without punctuation."""
    return _WORD.findall(caption.lower())


def distinct(captions: Iterable[str], n: int) -> float | None:
    """Return Distinct-n: different n-grams over all n-grams of all captions (Li et al., 2016).

    It falls as captions are added, so compare sets of equal size. None where no caption has n
    words.
    """
    grams = [gram for caption in captions for gram in _grams(words(caption), n)]
    return len(set(grams)) / len(grams) if grams else None


def distinct_at(captions: Sequence[str], n: int, size: int) -> float | None:
    """Return Distinct-n of ``size`` of the captions, expected over all ways to choose them.

    Expected different n-grams over expected n-grams. An n-gram that c of m captions hold is missed
    by a choice of k with probability C(m - c, k) / C(m, k): the rarefaction of ecology (Hurlbert,
    1971), so that nothing is drawn at random. Of all captions it is ``distinct``.

    Args:
        captions: m of them.
        n: words of an n-gram.
        size: k, from 1 to m.
    """
    if not 1 <= size <= len(captions):
        raise ValueError(f"{size} of {len(captions)} captions can't be chosen")
    holders: Counter[tuple[str, ...]] = Counter()
    total = 0
    for caption in captions:
        grams = _grams(words(caption), n)
        total += len(grams)
        holders.update(set(grams))
    if not total:
        return None
    counts = np.array(list(holders.values()), float)
    found = float(np.sum(1 - _missed(len(captions), counts, size)))
    return found / (total * size / len(captions))


def _missed(m: int, holders: np.ndarray, size: int) -> np.ndarray:
    """Return C(m - c, k) / C(m, k) for each c."""
    rest = m - holders
    logs = (
        special.gammaln(rest + 1)
        + special.gammaln(m - size + 1)
        - special.gammaln(np.maximum(rest - size, 0) + 1)
        - special.gammaln(m + 1)
    )
    return np.where(rest >= size, np.exp(np.minimum(logs, 0.0)), 0.0)


def _grams(tokens: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(tokens[start : start + n]) for start in range(len(tokens) - n + 1)]


def semantic_diversity(
    embeddings: np.ndarray, clusters: np.ndarray | None = None, level: float = LEVEL
) -> Estimate | None:
    """Return 1 - the mean cosine of all pairs of embeddings, with its interval.

    Of n vectors of length 1 with the sum S the mean is (|S|^2 - n) / (n (n - 1)), which takes
    O(n d). The interval is the jackknife's over clusters, with the t distribution: the same formula
    without one of them. None for fewer than two embeddings; (0, 2) where there are too few to tell.

    Args:
        embeddings: (n, d) of any length but 0.
        clusters: (n,) scene ids; None: all captions are independent.
        level: the nominal coverage.
    """
    count = len(embeddings)
    if count < 2:
        return None
    codes = np.arange(count) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    sizes = np.bincount(codes)
    sums = np.zeros((len(sizes), embeddings.shape[1]))
    for row, code in zip(embeddings, codes, strict=True):
        values = row.astype(np.float64)
        sums[code] += values / np.linalg.norm(values)
    total = sums.sum(axis=0)
    value = 1 - _mean_cosine(total[None], np.array([count]))[0]
    groups, left = len(sizes), count - sizes
    if groups < 3 or left.min() < 2:
        return Estimate(float(value), 0.0, 2.0, count, float(groups))
    without = 1 - _mean_cosine(total - sums, left)
    variance = (groups - 1) / groups * np.sum((without - without.mean()) ** 2)
    half = special.stdtrit(groups - 1, 0.5 + level / 2) * np.sqrt(variance)
    low, high = max(0.0, value - half), min(2.0, value + half)
    return Estimate(float(value), float(low), float(high), count, float(groups))


def _mean_cosine(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the mean cosine of pairs in each set of unit vectors, from their sums (sets, d)."""
    return (np.sum(sums**2, axis=1) - counts) / (counts * (counts - 1))
