"""Where objects stand: a floor and a shelf above it, packed so that nothing is ambiguous.

All measures are in units of the image side. Where several placements satisfy what is asked, each
is as likely as its mirror image and as the same placement with the objects permuted: the order
of mention says nothing about places that no relation asks for.
"""

import itertools
from dataclasses import dataclass

import numpy as np

from bindbench.rendering.plans import Demand

MARGIN = 0.03  # to the image's edge
GAP = 0.035  # between neighbours
PLANK = 0.02  # thickness of a shelf
CLEAR = 0.265  # least offset of centres of a decided relation; the judges' threshold is 0.15
NEAR = (0.115, 0.185)  # offsets about that threshold
LEVEL = 0.05  # most offset of centres where there is to be none
ONE_ROW = {1: 1.0, 2: 0.55, 3: 0.3, 4: 0.0}  # how often all stand on the floor, if they may


@dataclass(frozen=True)
class Extent:
    """An object's box in the image, relative to the foot that it stands on."""

    left: float
    right: float
    bottom: float
    top: float

    def scaled(self, factor: float) -> "Extent":
        """Return the extent of the object at another size."""
        return Extent(*(factor * v for v in (self.left, self.right, self.bottom, self.top)))

    @property
    def width(self) -> float:
        """Horizontal extent."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """Vertical extent."""
        return self.top - self.bottom

    @property
    def middle(self) -> tuple[float, float]:
        """Centre, relative to the foot."""
        return (self.left + self.right) / 2, (self.bottom + self.top) / 2


@dataclass(frozen=True)
class Placement:
    """Feet of the objects in the image, and the factor by which all had to shrink."""

    feet: tuple[tuple[float, float], ...]
    levels: tuple[int, ...]  # 0: on the floor, 1: on the shelf
    floor: float  # v of the floor
    shelf: float  # height of the shelf above the floor
    lifts: tuple[float, ...]  # height of the plinth under each object
    shrink: float


def _levels(
    n: int, demands: tuple[Demand, ...], rng: np.random.Generator
) -> tuple[int, ...] | None:
    """Choose who stands on the shelf."""
    fitting = []
    for levels in itertools.product((0, 1), repeat=n):
        if sum(levels) == n or (n == 4 and sum(levels) != 2):
            continue
        wanted = all(
            levels[d.first] - levels[d.second] == (d.direction if d.how == "clear" else 0)
            for d in demands
            if d.axis == "vertical"
        )
        apart = all(  # a horizontal offset near the threshold is possible only one above another
            levels[d.first] != levels[d.second]
            for d in demands
            if d.axis == "horizontal" and d.how in ("near", "level")
        )
        if wanted and apart:
            fitting.append(levels)
    if not fitting:
        return None
    rows = [levels for levels in fitting if not any(levels)]
    shelves = [levels for levels in fitting if any(levels)]
    one_row = rows and (not shelves or rng.random() < ONE_ROW[n])
    chosen = rows if one_row else shelves
    return chosen[int(rng.integers(len(chosen)))]


def _packed(
    members: list[int], extents: list[Extent], rng: np.random.Generator
) -> dict[int, float] | None:
    """Place a row's members from left to right in random order; their u coordinates."""
    order = [members[k] for k in rng.permutation(len(members))]
    width = sum(extents[k].width for k in order)
    slack = 1 - 2 * MARGIN - width - GAP * (len(order) - 1)
    if slack < 0:
        return None
    spaces = rng.dirichlet(np.full(len(order) + 1, 1.5)) * slack
    at, u = MARGIN, {}
    for k, space in zip(order, spaces, strict=False):
        at += space
        u[k] = at - extents[k].left
        at += extents[k].width + GAP
    return u


def _shelf_height(
    levels: tuple[int, ...],
    extents: list[Extent],
    lifts: list[float],
    demands: tuple[Demand, ...],
    rng: np.random.Generator,
) -> float:
    """The shelf's height above the floor: clear of what stands below, and offsets clear."""
    floor = [k for k, level in enumerate(levels) if level == 0]
    shelf = [k for k, level in enumerate(levels) if level == 1]
    lowest = min(extents[k].bottom for k in shelf)
    height = max(lifts[k] + extents[k].top for k in floor) + GAP + PLANK - lowest
    middles = [lift + e.middle[1] for lift, e in zip(lifts, extents, strict=True)]
    for d in demands:
        if d.axis == "vertical" and d.how == "clear":
            up, down = (d.first, d.second) if d.direction > 0 else (d.second, d.first)
            height = max(height, CLEAR + middles[down] - middles[up])
    return height + float(rng.uniform(0.0, 0.05))


def _lifts(
    levels: tuple[int, ...],
    raised: tuple[bool, bool],
    extents: list[Extent],
    demands: tuple[Demand, ...],
    rng: np.random.Generator,
) -> list[float]:
    """Heights of plinths that turn a row's order of heights round or bring about an offset.

    Args:
        levels: who stands on the shelf.
        raised: whether, on each level, the lower objects are raised above the taller ones.
        extents: of the objects.
        demands: those on vertical offsets near the threshold or of zero need plinths too.
        rng: draws the offsets.
    """
    lifts = [0.0] * len(extents)
    for level in (0, 1):
        members = [k for k, at in enumerate(levels) if at == level]
        if raised[level] and members:
            highest = max(extents[k].middle[1] for k in members)
            for k in members:
                lifts[k] = 2 * (highest - extents[k].middle[1])
    for d in demands:
        if d.axis == "vertical" and d.how != "clear":
            up, down = (d.first, d.second) if d.direction > 0 else (d.second, d.first)
            offset = float(rng.uniform(*NEAR)) if d.how == "near" else 0.0
            lift = offset + extents[down].middle[1] - extents[up].middle[1]
            lifts[up if lift > 0 else down] = abs(lift)
    return lifts


def offsets_hold(centres: np.ndarray, demands: tuple[Demand, ...], slack: float = 0.0) -> bool:
    """Whether centres (n, 2) satisfy the demands on places, some slack allowed."""
    for d in demands:
        if d.axis == "size":
            continue
        axis = 0 if d.axis == "horizontal" else 1
        offset = float(centres[d.first, axis] - centres[d.second, axis]) * d.direction
        low, high = {"clear": (CLEAR, 2.0), "near": NEAR, "level": (-LEVEL, LEVEL)}[d.how]
        if not low - slack <= offset <= high + slack:
            return False
    return True


def _factor(levels: tuple[int, ...], extents: list[Extent], total: float) -> float:
    """The factor that makes the rows and the whole height fit, at most 1."""
    factor = min(1.0, (1 - 2 * MARGIN) / total)
    for level in (0, 1):
        members = [e for e, at in zip(extents, levels, strict=True) if at == level]
        if members:
            space = 1 - 2 * MARGIN - GAP * (len(members) - 1)
            factor = min(factor, space / sum(e.width for e in members))
    return factor


def place(
    extents: list[Extent], demands: tuple[Demand, ...], rng: np.random.Generator
) -> Placement | None:
    """Try to place objects of the given extents; None where this draw leads nowhere."""
    levels = _levels(len(extents), demands, rng)
    if levels is None:
        return None
    raised = (False, False)
    if any(d.axis == "size" for d in demands):  # else the larger ones' centres would lie higher
        raised = (bool(rng.random() < 0.5), bool(rng.random() < 0.5))
    shrink = 1.0
    for _ in range(4):  # the gaps do not shrink with the objects, so once may not be enough
        sized = [e.scaled(shrink) for e in extents]
        lifts = _lifts(levels, raised, sized, demands, rng)
        shelf = _shelf_height(levels, sized, lifts, demands, rng) if any(levels) else 0.0
        tops = [
            shelf * level + lift + e.top
            for level, lift, e in zip(levels, lifts, sized, strict=True)
        ]
        lowest = min(e.bottom for e, level in zip(sized, levels, strict=True) if level == 0)
        total = max(tops) - lowest
        factor = _factor(levels, sized, total)
        if factor >= 1:
            break
        shrink *= factor * 0.985
    else:
        return None
    spare = 1 - 2 * MARGIN - total
    floor = MARGIN - lowest + spare * float(rng.uniform(0.25, 0.6))
    for _ in range(40):
        u: dict[int, float] = {}
        for level in (0, 1):
            row = _packed([k for k, at in enumerate(levels) if at == level], sized, rng)
            if row is None:
                return None
            u |= row
        feet = tuple((u[k], floor + shelf * levels[k] + lifts[k]) for k in range(len(extents)))
        centres = np.array([foot + np.array(e.middle) for foot, e in zip(feet, sized, strict=True)])
        if offsets_hold(centres, demands):
            return Placement(feet, levels, floor, shelf, tuple(lifts), shrink)
    return None
