"""Errors: which wrong captions a model prefers, and where (Auto-Comp, Tables 10 and 15)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from bindbench.analysis.accuracy import (
    Accuracy,
    Design,
    Items,
    Mode,
    Outcomes,
    decide,
    negatives,
    outcomes_of,
    summarise,
)
from bindbench.analysis.resampling import Estimate, proportion

_ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class FamilyErrors:
    """How one family of wrong captions takes part in the errors."""

    family: str
    errors: float  # errors that fall to it; fractions where families tie at the top
    share: float  # of all errors
    chance_share: float  # its share of the candidates to beat, in the items with an error
    wins: Estimate  # items whose positive beats all of this family (of the items that have any)


def top_rivals(scores: np.ndarray, rivals: np.ndarray) -> np.ndarray:
    """Return each rival's part in its item's highest wrong score, float64 (items, candidates).

    Rivals that score exactly alike share it; a row sums to 1, or to 0 without rivals.
    """
    shares = np.zeros(scores.shape)
    for start in range(0, len(scores), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        masked = np.where(rivals[rows], scores[rows], -np.inf)
        top = rivals[rows] & (masked == masked.max(axis=1, keepdims=True))
        shares[rows] = top / np.maximum(top.sum(axis=1, keepdims=True), 1)
    return shares


def top_family(scores: np.ndarray, rivals: np.ndarray, families: np.ndarray) -> np.ndarray:
    """Return the family code of each item's highest wrong candidate, int64 (items,).

    The first of them where several score alike; -1 without rivals.

    Args:
        scores: float64 (items, candidates).
        rivals: bool, likewise.
        families: int8 (candidates,) or (items, candidates): the family code of each candidate.
    """
    best = np.argmax(np.where(rivals, scores, -np.inf), axis=1)
    codes = np.broadcast_to(families, scores.shape)[np.arange(len(scores)), best]
    return np.where(rivals.any(axis=1), codes, -1).astype(np.int64)


@dataclass(frozen=True)
class ErrorParts:
    """How one family of wrong captions takes part in each item; arrays (items,)."""

    lost: np.ndarray  # bool: the item is not won, whatever the family
    errors: np.ndarray  # float64: the family's part in the highest wrong score, 0 if not lost
    among: np.ndarray  # float64: its share of the candidates to beat, 0 if not lost
    against: Outcomes  # against this family alone

    @classmethod
    def joined(cls, parts: "Sequence[ErrorParts]") -> "ErrorParts":
        """Return the items of all parts, in their order."""
        return cls(
            np.concatenate([part.lost for part in parts]),
            np.concatenate([part.errors for part in parts]),
            np.concatenate([part.among for part in parts]),
            Outcomes.joined([part.against for part in parts]),
        )

    def summed(self, family: str, scenes: np.ndarray) -> FamilyErrors | None:
        """Return what the family did over all items, None if it never had to be beaten."""
        met, count = self.against.included, int(self.lost.sum())
        if not met.any():
            return None
        errors = float(self.errors.sum())
        return FamilyErrors(
            family=family,
            errors=errors,
            share=errors / max(count, 1),
            chance_share=float(self.among[self.lost].mean()) if count else 0.0,
            wins=proportion(self.against.win[met], scenes[met]),
        )


def error_parts(
    items: Items,
    families: np.ndarray,
    names: Sequence[str],
    mode: Mode = "strict",
    subset: np.ndarray | None = None,
) -> dict[str, ErrorParts]:
    """Return, for each family, its part in every item's error. Arguments as ``family_errors``."""
    rivals = negatives(items.semantics, mode, subset)
    outcomes = decide(items.scores, rivals, items.dtype, sizes=items.sizes)
    lost = outcomes.included & ~outcomes.win
    shares = top_rivals(items.scores[lost], rivals[lost])
    codes = np.broadcast_to(families, items.scores.shape)
    parts = {}
    for code, name in enumerate(names):
        members = rivals & (codes == code)
        errors, among = np.zeros(len(items)), np.zeros(len(items))
        if not members.any():
            parts[name] = ErrorParts(lost, errors, among, Outcomes.none(len(items)))
            continue
        errors[lost] = (shares * members[lost]).sum(axis=1)
        among[lost] = members[lost].sum(axis=1) / outcomes.rivals[lost]
        against = decide(items.scores, members, items.dtype, sizes=items.sizes)
        parts[name] = ErrorParts(lost, errors, among, against)
    return parts


def family_errors(
    items: Items,
    families: np.ndarray,
    names: Sequence[str],
    mode: Mode = "strict",
    subset: np.ndarray | None = None,
) -> list[FamilyErrors]:
    """Return, for each family, its part in the errors and the accuracy against it alone.

    An error is an item that is not won; it falls to the family of its highest wrong candidate.

    Args:
        items: the scored items.
        families: int8 (candidates,) or (items, candidates): codes.
        names: the family of each code; families without a candidate to beat are left out.
        mode: see ``negatives``.
        subset: see ``negatives``.
    """
    parts = error_parts(items, families, names, mode, subset)
    summed = (part.summed(name, items.design.scenes) for name, part in parts.items())
    return [family for family in summed if family]


@dataclass(frozen=True)
class HardNegative:
    """A candidate index and how often it defeats the positive."""

    index: int
    not_beaten: float  # share of items in which it scores at least as high as the positive
    n_items: int  # items in which it counts
    margin: float  # mean of the positive's score minus its own


def hardest(
    items: Items, mode: Mode = "strict", subset: np.ndarray | None = None, top: int = 10
) -> list[HardNegative]:
    """Return the candidate indices that defeat the positive most often, hardest first.

    Of equal ones the smaller index comes first. An index means the same in every item of a
    benchmark with N >= 2.
    """
    rivals = negatives(items.semantics, mode, subset)
    found = []
    for index in np.flatnonzero(rivals.any(axis=0)):
        rows = rivals[:, index]
        pair = items.scores[rows][:, [0, index]]
        sizes = None if items.sizes is None else items.sizes[rows][:, [0, index]]
        met = np.tile([False, True], (len(pair), 1))
        won = decide(pair, met, items.dtype, sizes=sizes).win
        margin = float(np.mean(pair[:, 0] - pair[:, 1]))
        found.append(HardNegative(int(index), float(np.mean(~won)), len(pair), margin))
    return sorted(found, key=lambda negative: (-negative.not_beaten, negative.index))[:top]


def accuracy_by_word(
    items: Items,
    words: Sequence[Sequence[str]],
    mode: Mode = "strict",
    subset: np.ndarray | None = None,
) -> dict[str, Accuracy]:
    """Return the accuracy for each label (or relation, or object), by name (Table 15).

    An item counts once for each distinct word that it mentions, so that the slices overlap where
    it mentions several.
    """
    return by_word(outcomes_of(items, mode, subset), items.design, words)


def by_word(
    outcomes: Outcomes, design: Design, words: Sequence[Sequence[str]]
) -> dict[str, Accuracy]:
    """Return the accuracy for each word, as ``accuracy_by_word``, of items already decided."""
    holders: dict[str, list[int]] = {}
    for row, mentioned in enumerate(words):
        for word in set(mentioned):
            holders.setdefault(word, []).append(row)
    table = {}
    for word in sorted(holders):
        keep = np.zeros(len(design), bool)
        keep[holders[word]] = True
        table[word] = summarise(outcomes, design, keep)
    return table


def holds_close_pair(
    words: Sequence[Sequence[str]], close: Iterable[tuple[str, str]]
) -> np.ndarray:
    """Return which items mention both words of a look-alike pair, bool (items,).

    The slice of gold against yellow, silver against gray and the like, to pass as ``keep``.
    """
    pairs = [frozenset(pair) for pair in close]
    return np.array([any(pair <= set(mentioned) for pair in pairs) for mentioned in words], bool)
