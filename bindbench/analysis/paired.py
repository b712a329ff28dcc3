"""Paired comparisons: two tracks, or two models, on the same concepts (Auto-Comp, Table 6)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bindbench.analysis.accuracy import Design, Items, Mode, decide, negatives, tolerance
from bindbench.analysis.crossed import crossed_difference
from bindbench.analysis.differences import paired_difference
from bindbench.analysis.resampling import (
    Estimate,
    bootstrap_ratio,
    mcnemar,
    paired_permutation,
    proportion,
    smallest_detectable_difference,
)


@dataclass(frozen=True)
class Comparison:
    """Two rates of wins on the same items, and their difference (second minus first)."""

    n_items: int
    n_excluded: int  # items without a candidate that counts in both
    first: Estimate
    second: Estimate
    difference: Estimate  # its interval is Tango's, clustered by scene
    wide_low: float  # wider interval of the difference, beyond these objects and labels (crossed)
    wide_high: float
    ratio: Estimate | None  # second / first; None where the first never wins
    p_value: float  # exact McNemar; a permutation test by scene where scenes repeat
    detectable: float  # smallest difference found with 80% power at these numbers


def compare(
    first: np.ndarray, second: np.ndarray, design: Design, seed: int = 0, n_excluded: int = 0
) -> Comparison | None:
    """Compare two paired sets of wins, bool (items,); None without items.

    The p-value is not corrected: apply ``resampling.holm`` to all of one table.
    """
    if not len(first):
        return None
    scenes, differences = design.scenes, second.astype(float) - first.astype(float)
    repeated = len(np.unique(scenes)) < len(scenes)
    p_value = paired_permutation(differences, scenes, seed) if repeated else mcnemar(first, second)
    difference = paired_difference(first, second, scenes)
    wide = crossed_difference(first, second, design.objects, design.labels)
    return Comparison(
        n_items=len(first),
        n_excluded=n_excluded,
        first=proportion(first, scenes),
        second=proportion(second, scenes),
        difference=difference,
        wide_low=min(difference.low, wide.low),
        wide_high=max(difference.high, wide.high),
        ratio=bootstrap_ratio(second, first, scenes, seed),
        p_value=p_value,
        detectable=smallest_detectable_difference(len(first), int(np.sum(first != second))),
    )


def compare_tracks(
    minimal: Items,
    contextual: Items,
    mode: Mode = "strict",
    subset: np.ndarray | None = None,
    seed: int = 0,
) -> Comparison | None:
    """Return contextual minus minimal on the paired set.

    Only candidates that must be beaten in both tracks count: those false in both (``strict``) or
    all (``paper``). Items left without any are excluded; None if that is all of them.

    Args:
        minimal: items of the paired set, in its order.
        contextual: the same concepts in the same order. Candidate k must be the same claim in
            both: where clause orders differ, pass both through ``in_concept_order`` first.
        mode: see ``accuracy.negatives``.
        subset: likewise.
        seed: of the bootstrap.
    """
    found = paired_wins(minimal, contextual, mode, subset)
    counted = found.counted
    excluded = int((~counted).sum())
    return compare(found.first, found.second, minimal.design.take(counted), seed, excluded)


@dataclass(frozen=True)
class PairedWins:
    """Which of some paired items count, and which of those each track wins."""

    counted: np.ndarray  # bool (items,): something must be beaten in both tracks
    first: np.ndarray  # bool (counted items,): won in the minimal track
    second: np.ndarray  # bool (counted items,): won in the contextual track

    @classmethod
    def joined(cls, parts: "Sequence[PairedWins]") -> "PairedWins":
        """Return the items of all parts, in their order."""
        return cls(
            np.concatenate([part.counted for part in parts]),
            np.concatenate([part.first for part in parts]),
            np.concatenate([part.second for part in parts]),
        )


def paired_wins(
    minimal: Items, contextual: Items, mode: Mode = "strict", subset: np.ndarray | None = None
) -> PairedWins:
    """Return what ``compare_tracks`` compares; the arguments are the same.

    Raises:
        ValueError: the two tracks hold different items.
    """
    if not np.array_equal(minimal.design.scenes, contextual.design.scenes):
        raise ValueError("the two tracks must hold the same scenes in the same order")
    # They may have been padded to the widths of items that only one of them holds.
    width = min(minimal.scores.shape[1], contextual.scores.shape[1])
    minimal, contextual = minimal.narrow(width), contextual.narrow(width)
    subset = None if subset is None else subset[..., :width]
    rivals = negatives(minimal.semantics, mode, subset)
    rivals &= negatives(contextual.semantics, mode, subset)
    counted = np.asarray(rivals.any(axis=1))
    wins = [
        decide(part.scores, rivals[counted], part.dtype, sizes=part.sizes).win
        for part in (minimal.take(counted), contextual.take(counted))
    ]
    return PairedWins(counted, *wins)


def in_concept_order(
    items: Items, objects: np.ndarray, labels: np.ndarray, orders: np.ndarray
) -> Items:
    """Return the items with their candidates at the index of the same claim in concept order.

    The scored caption may mention the objects in another order than the concept does. Its
    candidates are numbered by ITS slots, so that index k says different things in two orders.
    Candidate k fills the slot that belongs to object c of the concept with some object and label;
    it moves to the index of the candidate that does so in the concept's own order. The positive
    stays at index 0.

    Args:
        items: scored items of one benchmark with N >= 2.
        objects: int (candidates, N): which object of the scored caption stands in each slot.
        labels: int (candidates, L): which label.
        orders: int (items, N): scored position -> concept position. In relational tasks (L = N-1)
            the chain fixes the order, which must be the identity.
    """
    if np.array_equal(orders, np.broadcast_to(np.arange(orders.shape[1]), orders.shape)):
        return items
    semantics, scores = items.semantics.copy(), items.scores.copy()
    sizes = None if items.sizes is None else items.sizes.copy()
    for order in np.unique(orders, axis=0):
        rows = np.flatnonzero((orders == order).all(axis=1))
        where = np.ix_(rows, _candidate_map(objects, labels, order))
        semantics[where], scores[where] = items.semantics[rows], items.scores[rows]
        if sizes is not None and items.sizes is not None:
            sizes[where] = items.sizes[rows]
    return replace(items, scores=scores, semantics=semantics, sizes=sizes)


def _candidate_map(objects: np.ndarray, labels: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return, for each candidate under ``order``, its index under the concept's own order."""
    if np.array_equal(order, np.arange(len(order))):
        return np.arange(len(objects))
    if labels.shape != objects.shape:
        raise ValueError("the clauses of a relational caption cannot be reordered")
    slot_of = np.argsort(order)  # concept position -> scored position
    moved = np.concatenate([order[objects][:, slot_of], order[labels][:, slot_of]], axis=1)
    rows = np.concatenate([objects, labels], axis=1)
    # Rows as numbers in base N: each is the claim of one candidate.
    places = len(order) ** np.arange(rows.shape[1])
    claims, wanted = rows @ places, moved @ places
    by_claim = np.argsort(claims)
    return by_claim[np.searchsorted(claims, wanted, sorter=by_claim)]


@dataclass(frozen=True)
class Winoground:
    """Winoground's three scores over pairs of swapped concepts."""

    text: Estimate  # both images prefer their own caption
    image: Estimate  # both captions prefer their own image
    group: Estimate  # both of these


WINOGROUND_CHANCE = {"text": 1 / 4, "image": 1 / 4, "group": 1 / 6}


def winoground(table: np.ndarray, dtype: str, scenes: Sequence[str] | None = None) -> Winoground:
    """Return Winoground's text, image and group scores; a tie is a loss.

    Args:
        table: float64 (pairs, 2, 2): ``table[p, i, t]`` is the score of image i with caption t,
            where image 0 belongs to caption 0 and image 1 to caption 1.
        dtype: of the scorer's arithmetic; decides what a tie is.
        scenes: (pairs,) scene ids by which the intervals are clustered.
    """
    own = np.diagonal(table, axis1=1, axis2=2)  # (pairs, 2)
    other_text = table[:, [0, 1], [1, 0]]  # the same image with the other caption
    other_image = table[:, [1, 0], [0, 1]]  # the same caption with the other image
    text = np.all(_above(own, other_text, dtype), axis=1)
    image = np.all(_above(own, other_image, dtype), axis=1)
    clusters = None if scenes is None else np.asarray(scenes)
    group = np.logical_and(text, image)
    return Winoground(*(proportion(wins, clusters) for wins in (text, image, group)))


def _above(first: np.ndarray, second: np.ndarray, dtype: str) -> np.ndarray:
    """Where the first score is higher by more than the tolerance."""
    return first - second > tolerance(dtype) * np.maximum(np.abs(first), np.abs(second))
