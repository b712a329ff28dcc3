"""Margins and ranks: how far the right caption leads or trails, beyond whether it wins."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from bindbench.analysis.accuracy import Items, Mode, negatives, tolerance
from bindbench.analysis.crossed import crossed_mean
from bindbench.analysis.resampling import Estimate

_ROWS_AT_ONCE = 4096  # bounds the memory of the temporaries


@dataclass(frozen=True)
class Margins:
    """How far each item's positive is from its rivals; arrays (items,)."""

    margin: np.ndarray  # float64: score of the positive minus the best rival's; NaN without rivals
    rank: np.ndarray  # float64: of the positive, 1 is the best; the mean rank of those that tie
    rivals: np.ndarray  # int64: candidates that the positive had to beat

    @property
    def included(self) -> np.ndarray:
        """Items with something to beat."""
        return self.rivals > 0

    @property
    def percentile(self) -> np.ndarray:
        """The share of the rivals below the positive; those that tie count half."""
        return 1 - (self.rank - 1) / np.maximum(self.rivals, 1)

    def take(self, rows: np.ndarray) -> "Margins":
        """Return some of the rows."""
        return Margins(self.margin[rows], self.rank[rows], self.rivals[rows])

    @classmethod
    def joined(cls, parts: "Sequence[Margins]") -> "Margins":
        """Return the items of all parts, in their order."""
        return cls(
            np.concatenate([part.margin for part in parts]),
            np.concatenate([part.rank for part in parts]),
            np.concatenate([part.rivals for part in parts]),
        )


def margins_of(items: Items, mode: Mode = "strict", subset: np.ndarray | None = None) -> Margins:
    """Compare the positive of each item with the candidates that ``negatives`` names.

    The margin has the unit of the scores: a similarity, or nats. Scores are equal as in
    ``accuracy.decide``.
    """
    rivals, n = negatives(items.semantics, mode, subset), len(items)
    relative = tolerance(items.dtype)
    sizes = np.abs(items.scores) if items.sizes is None else items.sizes
    margin, rank = np.full(n, np.nan), np.ones(n)
    for start in range(0, n, _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        part, mask = items.scores[rows], rivals[rows]
        lead = np.where(mask, part[:, :1] - part, np.inf)
        margin[rows] = np.where(mask.any(axis=1), lead.min(axis=1), np.nan)
        near = relative * np.maximum(sizes[rows, :1], sizes[rows])
        tied = np.sum((np.abs(lead) <= near) & mask, axis=1)
        rank[rows] += np.sum((lead < -near) & mask, axis=1) + tied / 2
    return Margins(margin, rank, rivals.sum(axis=1))


@dataclass(frozen=True)
class MarginSummary:
    """Margins and ranks of a model on one family of candidates."""

    n_items: int
    median_margin: float  # in the unit of the scores
    reciprocal_rank: Estimate  # mean of 1 / rank (MRR)
    reciprocal_chance: float  # what a random order reaches
    percentile: Estimate  # mean share of rivals below the positive; chance is 1/2


def summarise_margins(margins: Margins, scenes: np.ndarray) -> MarginSummary | None:
    """Return the summary of the items with something to beat; None if there are none.

    Args:
        margins: of every item.
        scenes: (items,) scene ids, by which the intervals are clustered.
    """
    counted = np.flatnonzero(margins.included)
    if not len(counted):
        return None
    found, clusters = margins.take(counted), scenes[counted, None]
    places = found.rivals + 1.0
    harmonic = special.digamma(places + 1) + np.euler_gamma  # 1 + 1/2 + ... + 1/places
    return MarginSummary(
        n_items=len(counted),
        median_margin=float(np.median(found.margin)),
        reciprocal_rank=crossed_mean(1 / found.rank, clusters),
        reciprocal_chance=float(np.mean(harmonic / places)),
        percentile=crossed_mean(found.percentile, clusters),
    )
