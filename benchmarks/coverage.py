"""How often the reported intervals hold the truth, on simulated benchmarks whose truth is known.

    python benchmarks/coverage.py [--benchmarks 2000] [--items 300] [--only crossed] [--seed 0]

Prints a table for docs/numbers.md. ``paired``: two models or tracks on the same items, given the
number of pairs that are expected to differ; items that share a scene depend on each other.
``crossed``: objects and labels are drawn anew for each benchmark, and each adds something of its
own to the difficulty of its items (probit). ``crossed_paired``: words add to the difficulty for
both models and, apart, to that for the second one. Each line names the nominal 95% interval of one
such world, as ``Comparison`` and ``Accuracy`` report it: crossed ones are never narrower than
the plain ones.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import special

from bindbench.analysis.crossed import crossed_difference, crossed_proportion
from bindbench.analysis.differences import paired_difference
from bindbench.analysis.resampling import Estimate, proportion

BENCHMARKS, ITEMS, OBJECTS = 2000, 300, 150
Draw = Callable[[np.random.Generator], tuple[Estimate, ...]]


@dataclass(frozen=True)
class World:
    """A kind of benchmark of which many are drawn."""

    group: str
    name: str
    truth: float
    draw: Draw  # the intervals of one benchmark; the widest counts
    exception: bool = False  # docs/numbers.md says why it is not covered in 93-98%


@dataclass(frozen=True)
class Words:
    """What the items of a crossed world mention, and how much of it matters (probit units)."""

    name: str
    labels: int  # in the vocabulary
    of_item: tuple[int, int]  # objects and labels of an item
    effects: tuple[float, float] = (0.2, 0.3)  # standard deviations of objects and of labels

    @property
    def spread(self) -> float:
        """The standard deviation of an item's difficulty, with noise of 1."""
        (objects, labels), (by_object, by_label) = self.of_item, self.effects
        return float(np.sqrt(1 + objects * by_object**2 + labels * by_label**2))

    def drawn(self, rng: np.random.Generator, items: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the objects and labels of items, all different within one."""
        objects, labels = self.of_item
        return _distinct(rng, items, OBJECTS, objects), _distinct(rng, items, self.labels, labels)

    def difficulty(
        self, rng: np.random.Generator, objects: np.ndarray, labels: np.ndarray
    ) -> np.ndarray:
        """Return what the words add to each item."""
        by_object = rng.normal(0, self.effects[0], OBJECTS)
        by_label = rng.normal(0, self.effects[1], self.labels)
        return by_object[objects].sum(axis=1) + by_label[labels].sum(axis=1)


def _distinct(rng: np.random.Generator, items: int, size: int, width: int) -> np.ndarray:
    """Return ``width`` different numbers below ``size`` for each item."""
    picked = np.empty((items, 0), np.int64)
    for taken in range(width):
        new = rng.integers(0, size - taken, items)
        for old in np.sort(picked, axis=1).T:  # skip those that are taken
            new += new >= old
        picked = np.column_stack([picked, new])
    return picked


WORDS = (
    Words("20 colors, N = 2", 20, (2, 2)),
    Words("20 colors, N = 3", 20, (3, 3)),
    Words("4 relations, N = 2", 4, (2, 1)),
    Words("4 relations, N = 3", 4, (3, 2)),
    Words("3 sizes, N = 2", 3, (2, 1)),
    Words("3 sizes, N = 3", 3, (3, 2)),
)
CASES = (  # beside the standard effects
    Words("20 colors that matter much, N = 2", 20, (2, 2), (0.2, 0.6)),
    Words("4 relations that matter much, N = 2", 4, (2, 1), (0.2, 0.6)),
    Words("4 relations that do not matter, N = 2", 4, (2, 1), (0.2, 0.0)),
)
RATES = (1 / 729, 1 / 16, 0.5, 0.97)


def crossed_worlds(items: int) -> Iterator[World]:
    """Yield worlds of one model's accuracy."""
    for words in (*WORDS, *CASES):
        for rate in RATES:
            exception = words in CASES or rate * items < 1
            name, draw = f"{words.name}; p = {rate:.3g}", _accuracy(words, rate, items)
            yield World("crossed", name, rate, draw, exception)


def _accuracy(words: Words, rate: float, items: int) -> Draw:
    centre = special.ndtri(rate) * words.spread

    def draw(rng: np.random.Generator) -> tuple[Estimate, ...]:
        objects, labels = words.drawn(rng, items)
        wins = rng.normal(size=items) < centre + words.difficulty(rng, objects, labels)
        return proportion(wins), crossed_proportion(wins, objects, labels)

    return draw


def crossed_paired_worlds(items: int) -> Iterator[World]:
    """Yield worlds of the difference of two models."""
    for words in (*WORDS, *CASES):
        for first, second in ((0.03, 0.06), (0.5, 0.5), (0.5, 0.6), (0.97, 0.94)):
            name = f"{words.name}; {first} and {second}"
            draw = _difference(words, first, second, items)
            yield World("crossed_paired", name, second - first, draw, words in CASES)


def _difference(words: Words, first: float, second: float, items: int) -> Draw:
    spread = words.spread
    apart = np.sqrt(2 * spread**2 - 1)  # the words' effects enter the second model twice
    shared = 0.7  # of the noise of both models

    def draw(rng: np.random.Generator) -> tuple[Estimate, ...]:
        objects, labels = words.drawn(rng, items)
        both = words.difficulty(rng, objects, labels)
        only_second = words.difficulty(rng, objects, labels)
        common = rng.normal(0, np.sqrt(shared), items)
        noise = rng.normal(0, np.sqrt(1 - shared), (2, items)) + common
        one = noise[0] < special.ndtri(first) * spread + both
        two = noise[1] < special.ndtri(second) * apart + both + only_second
        return paired_difference(one, two), crossed_difference(one, two, objects, labels)

    return draw


def paired_worlds(items: int) -> Iterator[World]:
    """Yield worlds of paired rates: independent scenes, then scenes that repeat."""
    for differing in (1, 2, 3, 5, 8, 15, 30, 100):
        for gains in (0.5, 0.8, 1.0):
            rate, truth = differing / items, differing / items * (2 * gains - 1)
            name = f"{differing} of {items} pairs differ, {gains:.0%} are gains"
            yield World("paired", name, truth, _pairs(rate, gains, items, 1), differing < 5)
    for differing in (15, 60):
        name = f"{differing} of {items} pairs differ, 80% are gains, 3 of each scene"
        yield World(
            "paired", name, differing / items * 0.6, _pairs(differing / items, 0.8, items, 3)
        )


def _pairs(rate: float, gains: float, items: int, replicates: int) -> Draw:
    def draw(rng: np.random.Generator) -> tuple[Estimate, ...]:
        scenes = items // replicates
        # A scene's own rates, around the overall ones: its replicates are alike.
        cells = np.array([rate * gains, rate * (1 - gains), 1 - rate])
        if replicates > 1:
            cells = rng.dirichlet(2 * cells + 1e-12, scenes)
        drawn = rng.random((scenes, replicates, 1)) > np.cumsum(cells, axis=-1)[..., None, :]
        kind = drawn.reshape(-1, 3).sum(axis=1)
        clusters = np.repeat(np.arange(scenes), replicates)
        return (paired_difference(kind == 1, kind == 0, clusters),)

    return draw


GROUPS = {
    "paired": paired_worlds,
    "crossed": crossed_worlds,
    "crossed_paired": crossed_paired_worlds,
}


def coverage(world: World, benchmarks: int = BENCHMARKS, seed: int = 0) -> float:
    """Return the share of drawn benchmarks whose widest interval holds the truth."""
    rng, hits = np.random.default_rng(seed), 0
    for _ in range(benchmarks):
        found = world.draw(rng)
        low, high = min(e.low for e in found), max(e.high for e in found)
        hits += low - 1e-12 <= world.truth <= high + 1e-12
    return hits / benchmarks


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="How often the reported intervals hold the truth.")
    parser.add_argument("--benchmarks", type=int, default=BENCHMARKS)
    parser.add_argument("--items", type=int, default=ITEMS)
    parser.add_argument("--only", choices=GROUPS)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print("| interval | world | coverage |\n|---|---|---|")
    for group in [given.only] if given.only else GROUPS:
        for world in GROUPS[group](given.items):
            found = coverage(world, given.benchmarks, given.seed)
            print(f"| {world.group} | {world.name} | {found:.1%} |", flush=True)


if __name__ == "__main__":
    main()
