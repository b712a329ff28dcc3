"""Do misbindings come from neighbors more often than chance would have it?

The null: whatever instance an answer was taken from, it could as well have been any other wrong
one. It is conditional on the group's size and the target's order, because a middle instance of
three has no other instances than neighbors. L4 is left out: its false claims are neighbors' by
construction.
"""

import math
from collections import Counter
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from bindbench.instabind.outcomes import MISBINDING, Outcomes

EXCLUDED_LEVEL = "L4"


@dataclass(frozen=True)
class Adjacency:
    """Observed against expected share of misbindings from neighbors."""

    misbindings: int
    observed: float | None  # A-MBR; None: there are no misbindings
    null: float | None
    p: float  # two-sided


def adjacent_chance(size: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the share of neighbors among the wrong instances; both arguments are int (n,)."""
    neighbors = (target > 1).astype(int) + (target < size)
    return neighbors / (size - 1)


def adjacency(table: Outcomes) -> Adjacency:
    """Return the test on outcomes, without their level L4.

    The test permutes: for each target instance, what it was mistaken for is assigned anew among
    the other instances of its group, all of its misbindings together, so that an error that
    recurs in several questions about one instance is one event. The number from neighbors is
    then compared with its exact distribution.
    """
    rows = table.where((table.error == MISBINDING) & (table.level != EXCLUDED_LEVEL))
    if not len(rows):
        return Adjacency(0, None, None, 1.0)
    adjacent = int((rows.distance == 1).sum())
    null = adjacent_chance(rows.group_size, rows.target)
    return Adjacency(
        len(rows), adjacent / len(rows), float(null.mean()), _two_sided(_units(rows), adjacent)
    )


_Unit = tuple[int, int, tuple[int, ...]]  # other instances, neighbors among them, errors from each


def _units(rows: Outcomes) -> Counter[_Unit]:
    errors: dict[tuple[str, str, int, int], Counter[int]] = {}
    columns = (rows.image_id, rows.group_id, rows.group_size, rows.target, rows.source)
    for image, group, size, target, source in zip(*columns, strict=True):
        errors.setdefault((image, group, int(size), int(target)), Counter())[int(source)] += 1
    return Counter(
        (size - 1, (target > 1) + (target < size), tuple(sorted(counts.values(), reverse=True)))
        for (_, _, size, target), counts in errors.items()
    )


def _two_sided(units: Counter[_Unit], observed: int) -> float:
    """Return twice the smaller tail of the number of errors from neighbors, at most 1."""
    total = np.ones(1)
    for (others, neighbors, errors), times in sorted(units.items()):
        shares = _shares(others, neighbors, errors)
        for _ in range(times):
            total = np.convolve(total, shares)
    upper, lower = total[observed:].sum(), total[: observed + 1].sum()
    return float(min(1.0, 2 * min(upper, lower)))


def _shares(others: int, neighbors: int, errors: tuple[int, ...]) -> np.ndarray:
    """Return the probability of each number of errors that fall on neighbors."""
    counts = [*errors, *[0] * (others - len(errors))]
    shares = np.zeros(sum(errors) + 1)
    for chosen in combinations(range(others), neighbors):
        shares[sum(counts[i] for i in chosen)] += 1
    return shares / math.comb(others, neighbors)
