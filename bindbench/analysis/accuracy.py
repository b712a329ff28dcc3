"""Accuracy from stored scores: wins, ties, chance and ceiling (Auto-Comp, section 3)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bindbench.analysis.crossed import crossed_proportion
from bindbench.analysis.resampling import proportion
from bindbench.errors import UserError, unknown_name
from bindbench.semantics import FALSE, TRUE

Mode = Literal["strict", "paper"]
ABSENT = -1  # semantics of the padding where items have different numbers of candidates
_ROWS_AT_ONCE = 4096  # bounds the memory of the temporaries

# Relative to the larger of two scores. Sums in float32 and float64 gather some units of rounding
# and differ with the batch (about 2e-5 nats in a caption's log-likelihood of -60 in float32).
# Scores of 16-bit models are coarse in themselves, by one unit: two cosines of 0.3 in bfloat16 lie
# 0.002 apart or not at all, and its log-likelihoods are right to about 0.4 nats of 60.
_TOLERANCES = {
    "float64": 8 * 2.0**-52,
    "float32": 8 * 2.0**-23,
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7,
}


def tolerance(dtype: str) -> float:
    """Return the relative difference up to which two scores of this dtype are equal.

    Scores a and b tie if abs(a - b) <= tolerance * max(abs(a), abs(b)).
    """
    if dtype not in _TOLERANCES:
        raise unknown_name("dtype of scores", dtype, _TOLERANCES)
    return _TOLERANCES[dtype]


@dataclass(frozen=True)
class Design:
    """What items have in common, on which the intervals depend; row i is item i."""

    scenes: np.ndarray  # str (items,): canonical scene ids; replicates share one
    objects: np.ndarray  # int64 (items, N): codes of the objects
    labels: np.ndarray  # int64 (items, L): codes of the labels

    def __len__(self) -> int:
        return len(self.scenes)

    def take(self, rows: np.ndarray) -> "Design":
        """Return some of the rows."""
        return Design(self.scenes[rows], self.objects[rows], self.labels[rows])


def design_of(
    scenes: Sequence[str], objects: Sequence[Sequence[str]], labels: Sequence[Sequence[str]]
) -> Design:
    """Return the design of items of one benchmark, given their ids and words."""
    return Design(np.asarray(scenes, str), _coded(objects), _coded(labels))


def _coded(words: Sequence[Sequence[str]]) -> np.ndarray:
    table = np.asarray(words, str).reshape(len(words), len(words[0]) if words else 0)
    return np.unique(table, return_inverse=True)[1].reshape(table.shape)


@dataclass(frozen=True)
class Items:
    """The scored items of one benchmark, track and model; row i is item i, column 0 its positive.

    Arrays over candidates have shape (items, candidates); items with fewer candidates than the
    widest are padded with semantics ``ABSENT``.
    """

    scores: np.ndarray  # float64, higher is better
    semantics: np.ndarray  # int8: TRUE, FALSE, UNDECIDED or ABSENT
    dtype: str  # of the scorer's arithmetic
    design: Design
    # float64: the numbers that a score was computed from, by size, where it is a difference of
    # larger ones: rounding is relative to them. None: the scores themselves.
    sizes: np.ndarray | None = None

    def __post_init__(self) -> None:
        present = self.semantics != ABSENT
        if self.scores.shape != self.semantics.shape or len(self.design) != len(self.scores):
            raise ValueError(f"shapes differ: {self.scores.shape} and {self.semantics.shape}")
        if np.any(self.semantics[:, :1] != TRUE):
            raise ValueError("candidate 0 of every item must be the positive, and true")
        broken = ~np.all(np.isfinite(self.scores) | ~present, axis=1)
        if broken.any():
            scene = self.design.scenes[int(np.argmax(broken))]
            raise UserError(
                f"The scores of {int(broken.sum())} items, that of scene {scene} the first, are "
                "not finite: every candidate needs a finite score."
            )

    def __len__(self) -> int:
        return len(self.scores)

    def take(self, rows: np.ndarray) -> "Items":
        """Return some of the rows."""
        sizes = None if self.sizes is None else self.sizes[rows]
        design = self.design.take(rows)
        return Items(self.scores[rows], self.semantics[rows], self.dtype, design, sizes)

    def narrow(self, width: int) -> "Items":
        """Return the first ``width`` candidates of each item; none of the others may be present."""
        if width >= self.scores.shape[1]:
            return self
        if np.any(self.semantics[:, width:] != ABSENT):
            raise ValueError(f"items have more than {width} candidates")
        sizes = None if self.sizes is None else self.sizes[:, :width]
        scores, semantics = self.scores[:, :width], self.semantics[:, :width]
        return Items(scores, semantics, self.dtype, self.design, sizes)


def pack(
    scores: Sequence[np.ndarray],
    semantics: Sequence[np.ndarray],
    dtype: str,
    design: Design,
    sizes: Sequence[np.ndarray] | None = None,
) -> Items:
    """Return items from rows that may differ in length."""
    return Items(
        pad(scores, 0.0, np.float64),
        pad(semantics, ABSENT, np.int8),
        dtype,
        design,
        None if sizes is None else pad(sizes, 0.0, np.float64),
    )


def pad(rows: Sequence[np.ndarray], fill: float, dtype: type) -> np.ndarray:
    """Return rows of different lengths as one array (rows, longest), filled up at their ends."""
    out = np.full((len(rows), max(map(len, rows), default=1)), fill, dtype)
    for index, row in enumerate(rows):
        out[index, : len(row)] = row
    return out


def negatives(
    semantics: np.ndarray, mode: Mode = "strict", subset: np.ndarray | None = None
) -> np.ndarray:
    """Return which candidates the positive must beat, bool (items, candidates).

    Args:
        semantics: int8 (items, candidates).
        mode: ``strict``, the false ones; ``paper``, every other one.
        subset: bool (candidates,) or (items, candidates): the family that counts (swap, vary
            color, without the reason count ...). None: all.
    """
    mask = semantics == FALSE if mode == "strict" else semantics != ABSENT
    if subset is not None:
        mask &= subset
    mask[:, 0] = False
    return mask


@dataclass(frozen=True)
class Outcomes:
    """What became of each item; arrays (items,)."""

    rivals: np.ndarray  # int64: candidates that the positive had to beat; 0: the item is excluded
    tied: np.ndarray  # int64: how many of them tie with the positive
    beaten: np.ndarray  # bool: at least one of them scores higher than the positive
    true_rivals: np.ndarray  # int64: how many of them are true captions (0 in ``strict`` mode)

    @property
    def included(self) -> np.ndarray:
        """Items with something to beat."""
        return self.rivals > 0

    @property
    def win(self) -> np.ndarray:
        """The positive is above every rival; a tie is a loss."""
        return self.included & ~self.beaten & (self.tied == 0)

    @property
    def at_top_tied(self) -> np.ndarray:
        """The positive shares the highest score."""
        return self.included & ~self.beaten & (self.tied > 0)

    @property
    def credit(self) -> np.ndarray:
        """1 / (1 + number tied at the top); 0 where the positive is beaten."""
        return np.where(self.included & ~self.beaten, 1 / (1 + self.tied), 0.0)

    @property
    def chance(self) -> np.ndarray:
        """The probability that a random order puts the positive first."""
        return 1 / (1 + self.rivals)

    @property
    def ceiling(self) -> np.ndarray:
        """The credit of a perfect model that cannot tell true captions apart.

        All true captions tie with the positive there, so that it gets 1/N! in the attribute tasks
        in ``paper`` mode.
        """
        return 1 / (1 + self.true_rivals)

    def take(self, rows: np.ndarray) -> "Outcomes":
        """Return some of the rows."""
        return Outcomes(
            self.rivals[rows], self.tied[rows], self.beaten[rows], self.true_rivals[rows]
        )

    @classmethod
    def none(cls, items: int) -> "Outcomes":
        """Return what became of items without any candidate to beat."""
        zeros = np.zeros(items, np.int64)
        return cls(zeros, zeros, np.zeros(items, bool), zeros)

    @classmethod
    def joined(cls, parts: "Sequence[Outcomes]") -> "Outcomes":
        """Return the items of all parts, in their order."""
        return cls(
            np.concatenate([part.rivals for part in parts]),
            np.concatenate([part.tied for part in parts]),
            np.concatenate([part.beaten for part in parts]),
            np.concatenate([part.true_rivals for part in parts]),
        )


def outcomes_of(items: Items, mode: Mode = "strict", subset: np.ndarray | None = None) -> Outcomes:
    """Compare the positive of each item with the candidates that ``negatives`` names."""
    rivals = negatives(items.semantics, mode, subset)
    return decide(items.scores, rivals, items.dtype, items.semantics == TRUE, items.sizes)


def decide(
    scores: np.ndarray,
    rivals: np.ndarray,
    dtype: str,
    true: np.ndarray | None = None,
    sizes: np.ndarray | None = None,
) -> Outcomes:
    """Compare each positive (column 0) with its rivals.

    Args:
        scores: float64 (items, candidates).
        rivals: bool (items, candidates): the candidates to beat.
        dtype: of the scorer's arithmetic; decides what a tie is.
        true: bool (items, candidates): captions that are true. None: no rival is.
        sizes: float64 (items, candidates): what the tolerance is relative to. None: the scores.
    """
    relative, n = tolerance(dtype), len(scores)
    sizes = np.abs(scores) if sizes is None else sizes
    tied, beaten = np.empty(n, np.int64), np.empty(n, bool)
    for start in range(0, n, _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        part, mask = scores[rows], rivals[rows]
        lead = part[:, :1] - part
        margin = relative * np.maximum(sizes[rows, :1], sizes[rows])
        tied[rows] = np.sum((np.abs(lead) <= margin) & mask, axis=1)
        beaten[rows] = np.any((lead < -margin) & mask, axis=1)
    true_rivals = np.zeros(n, np.int64) if true is None else (rivals & true).sum(axis=1)
    return Outcomes(rivals.sum(axis=1), tied, beaten, true_rivals)


def undecided(
    items: Items, gap: float, mode: Mode = "strict", subset: np.ndarray | None = None
) -> np.ndarray:
    """Return the items whose two best candidates are less than ``gap`` apart, bool (items,).

    The candidates are the positive and those that ``negatives`` names; an item without any of the
    latter is not undecided.
    """
    rivals = negatives(items.semantics, mode, subset)
    close = np.zeros(len(items), bool)
    for start in range(0, len(items), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        compared = rivals[rows].copy()
        compared[:, 0] = compared.any(axis=1)
        met = np.flatnonzero(compared[:, 0])
        scores = np.where(compared[met], items.scores[rows][met], -np.inf)
        if len(met):
            best = np.partition(scores, -2, axis=1)[:, -2:]
            close[start + met] = best[:, 1] - best[:, 0] < gap
    return close


@dataclass(frozen=True)
class Accuracy:
    """The accuracy of a model on one family of candidates; shares are of the included items."""

    n_items: int  # included items
    n_excluded: int  # items without any candidate to beat
    accuracy: float  # share of wins; a tie is a loss
    low: float  # 95% interval of the accuracy over concepts like these
    high: float
    wide_low: float  # wider one, for claims beyond these objects and labels (crossed)
    wide_high: float
    credit: float  # mean of 1 / (1 + tied at the top)
    tie_rate: float  # share of items whose positive shares the highest score
    chance: float  # mean of 1 / (1 + candidates to beat)
    ceiling: float  # credit of a perfect model that cannot tell true captions apart
    ceiling_ties_lose: float  # accuracy of that model, as ties are losses


def evaluate(
    items: Items,
    mode: Mode = "strict",
    subset: np.ndarray | None = None,
    keep: np.ndarray | None = None,
) -> Accuracy:
    """Return the accuracy on the candidates of ``subset``, of the items of ``keep`` (bool)."""
    return summarise(outcomes_of(items, mode, subset), items.design, keep)


def summarise(outcomes: Outcomes, design: Design, keep: np.ndarray | None = None) -> Accuracy:
    """Return the accuracy of items whose outcomes are known.

    Args:
        outcomes: of every item.
        design: of every item; the interval is clustered by scene.
        keep: bool (items,): the slice of items to count; the others are not even excluded.
    """
    chosen = np.ones(len(design), bool) if keep is None else keep
    counted = chosen & outcomes.included
    n = int(counted.sum())
    wins, common = outcomes.win[counted], design.take(counted)
    share = proportion(wins, common.scenes)
    wide = crossed_proportion(wins, common.objects, common.labels)
    return Accuracy(
        n_items=n,
        n_excluded=int(chosen.sum()) - n,
        accuracy=share.value,
        low=share.low,
        high=share.high,
        wide_low=min(share.low, wide.low),
        wide_high=max(share.high, wide.high),
        credit=_mean(outcomes.credit[counted]),
        tie_rate=_mean(outcomes.at_top_tied[counted]),
        chance=_mean(outcomes.chance[counted]),
        ceiling=_mean(outcomes.ceiling[counted]),
        ceiling_ties_lose=_mean(outcomes.true_rivals[counted] == 0),
    )


def _mean(values: np.ndarray) -> float:
    """The mean, and 0 of nothing (``n_items`` then says that nothing was counted)."""
    return float(np.mean(values)) if len(values) else 0.0
