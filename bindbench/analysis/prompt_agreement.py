"""How far a model chooses the same captions under different prompts."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bindbench.analysis.accuracy import Items, Mode, negatives, tolerance
from bindbench.analysis.resampling import Estimate, proportion

NO_CHOICE = -1


def chosen(items: Items, mode: Mode = "strict", subset: np.ndarray | None = None) -> np.ndarray:
    """Return the candidate of each item that scores highest, int64 (items,).

    Among the positive and the candidates that ``negatives`` names. ``NO_CHOICE`` where two of them
    tie for the highest score, or where there is nothing to choose from.
    """
    compared = negatives(items.semantics, mode, subset)
    compared[:, 0] = compared.any(axis=1)
    scores = np.where(compared, items.scores, -np.inf)
    best = scores.argmax(axis=1)
    top = scores[np.arange(len(items)), best][:, None]
    sizes = np.abs(items.scores) if items.sizes is None else items.sizes
    with np.errstate(invalid="ignore"):  # of candidates that don't count
        near = top - scores <= tolerance(items.dtype) * np.maximum(
            sizes[np.arange(len(items)), best][:, None], sizes
        )
    return np.where((near & compared).sum(axis=1) == 1, best, NO_CHOICE)


@dataclass(frozen=True)
class Agreement:
    """The share of items on which prompts lead to the same choice; a tie agrees with nothing."""

    n_items: int
    all: Estimate  # under every prompt
    pairs: dict[tuple[str, str], Estimate]


def agreement(
    by_prompt: Mapping[str, Items], mode: Mode = "strict", subset: np.ndarray | None = None
) -> Agreement | None:
    """Compare the choices under two or more prompts; None if no item has anything to choose from.

    Args:
        by_prompt: the same items, scored under each prompt.
        mode: which candidates count.
        subset: of one family, as in ``bindbench.analysis.accuracy.negatives``.
    """
    first = next(iter(by_prompt.values()))
    included = negatives(first.semantics, mode, subset).any(axis=1)
    if not included.any():
        return None
    choices = {p: chosen(items, mode, subset)[included] for p, items in by_prompt.items()}
    scenes = first.design.scenes[included]
    pairs = {
        (a, b): (choices[a] == choices[b]) & (choices[a] != NO_CHOICE)
        for a, b in combinations(choices, 2)
    }
    same = np.logical_and.reduce(list(pairs.values()))
    return Agreement(
        int(included.sum()),
        proportion(same, scenes),
        {names: proportion(equal, scenes) for names, equal in pairs.items()},
    )
