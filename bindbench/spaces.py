"""The space of a benchmark's scenes, in numbers: how many there are, and which two are the same.

Concepts are rows of indices into the vocabularies: ``objects`` (m, N) and ``labels``
(m, N or N-1), all of one row distinct.
"""

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bindbench.errors import UserError
from bindbench.permutation import arrangements, unrank
from bindbench.relations import Sense, chain, contradicts, scene_facts, senses
from bindbench.tasks import Benchmark
from bindbench.vocabulary import Lexicon

_LARGEST = 2**62  # keys and ranks are 64-bit integers
_NOWHERE = -1


@dataclass(frozen=True)
class SceneSpace:
    """All scenes of a benchmark."""

    benchmark: Benchmark
    lexicon: Lexicon

    @cached_property
    def nouns(self) -> tuple[str, ...]:
        """The names of the objects."""
        return self.lexicon.nouns(self.benchmark.task).names

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The names of the labels."""
        return self.lexicon.labels(self.benchmark.task).names

    @property
    def _attribute(self) -> bool:
        return self.benchmark.task.axis == "attribute"

    @cached_property
    def ordered(self) -> int:
        """The number of concepts, every order of mention counted and nested nouns included."""
        n, k = self.benchmark.n, self.benchmark.n_labels
        total = arrangements(len(self.nouns), n) * arrangements(len(self.words), k)
        if total >= _LARGEST or len(self.nouns) ** n * len(self.words) ** n >= _LARGEST:
            raise UserError(
                f"The vocabularies of {self.benchmark.key} are too large to number its concepts: "
                f"{len(self.nouns)} nouns and {len(self.words)} labels."
            )
        return total

    def concepts(self, ranks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the objects (m, N) and labels (m, L) of concepts numbered below ``ordered``."""
        n, k = self.benchmark.n, self.benchmark.n_labels
        labelings = arrangements(len(self.words), k)
        objects = unrank(ranks // labelings, len(self.nouns), n)
        return objects, unrank(ranks % labelings, len(self.words), k)

    @cached_property
    def apart(self) -> np.ndarray:
        """Which two nouns may be in one concept: bool (nouns, nouns), False on the diagonal."""
        place = {name: i for i, name in enumerate(self.nouns)}
        allowed = ~np.eye(len(self.nouns), dtype=bool)
        for pair in self.lexicon.nouns(self.benchmark.task).nested:
            a, b = (place[name] for name in pair)
            allowed[a, b] = allowed[b, a] = False
        return allowed

    def allowed(self, objects: np.ndarray) -> np.ndarray:
        """Return which rows hold no nested nouns, bool (m,)."""
        keep = np.ones(len(objects), bool)
        for a, b in itertools.combinations(range(self.benchmark.n), 2):
            keep &= self.apart[objects[:, a], objects[:, b]]
        return keep

    def size(self) -> int:
        """Return the number of distinct scenes without nested nouns."""
        k = self.benchmark.n_labels
        labelings = arrangements(len(self.words), k) if self._attribute else self._n_states
        return _cliques(self.apart, self.benchmark.n) * labelings

    def keys(self, objects: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return a number for each row's scene: equal exactly for equal scenes, int64 (m,)."""
        if self._attribute:
            pairs = np.sort(objects * len(self.words) + labels, axis=1)
            return _digits(pairs, len(self.nouns) * len(self.words))
        order = np.argsort(objects, axis=1, kind="stable")
        members = np.take_along_axis(objects, order, axis=1)
        ranks = np.argsort(order, axis=1, kind="stable")
        state = self._states[(*ranks.T, *labels.T)]
        return _digits(members, len(self.nouns)) * self._n_states + state

    @cached_property
    def _senses(self) -> list[Sense]:
        known = senses(getattr(self.lexicon, self.benchmark.task.label_role))
        return [known[word] for word in self.words]

    @cached_property
    def _states(self) -> np.ndarray:
        """The scene that a chain makes of its objects, by their ranks and its labels.

        Shape: N axes of length N, then N-1 axes as long as the vocabulary of labels.
        """
        n, k = self.benchmark.n, self.benchmark.n_labels
        table = np.full((n,) * n + (len(self.words),) * k, _NOWHERE, np.int64)
        numbers: dict[frozenset, int] = {}
        for ranks in itertools.permutations(range(n)):
            for labels in itertools.permutations(range(len(self.words)), k):
                facts = scene_facts(ranks, [self._senses[i] for i in labels])
                table[(*ranks, *labels)] = numbers.setdefault(facts, len(numbers))
        return table

    @property
    def _n_states(self) -> int:
        return int(self._states.max()) + 1

    def swaps(
        self, objects: np.ndarray, labels: np.ndarray
    ) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Return the swapped counterparts of each row, the preferred one first.

        Attribute tasks: the labels shifted cyclically. Relational tasks: the objects reversed, or
        permuted otherwise where the reversed chain does not contradict the row's scene.

        Returns:
            Objects, labels, and whether the counterpart is false of the row's scene, bool (m,).
        """
        n = self.benchmark.n
        if self._attribute:
            true = np.ones(len(objects), bool)
            return [(objects, np.roll(labels, -shift, axis=1), true) for shift in range(1, n)]
        identity = tuple(range(n))
        others = [
            p for p in itertools.permutations(identity) if p not in (identity, identity[::-1])
        ]
        return [
            (objects[:, order], labels, self._contradicted(order)[tuple(labels.T)])
            for order in (identity[::-1], *others)
        ]

    def _contradicted(self, order: tuple[int, ...]) -> np.ndarray:
        """Return for which labels the chain through ``order`` contradicts the original one."""
        n, k = self.benchmark.n, self.benchmark.n_labels
        table = np.zeros((len(self.words),) * k, bool)
        for labels in itertools.permutations(range(len(self.words)), k):
            relations = [self._senses[i] for i in labels]
            table[labels] = contradicts(chain(order, relations), scene_facts(range(n), relations))
        return table


def _digits(rows: np.ndarray, base: int) -> np.ndarray:
    """Read each row as a number in this base."""
    value = np.zeros(len(rows), np.int64)
    for column in rows.T:
        value = value * base + column
    return value


def _cliques(allowed: np.ndarray, n: int) -> int:
    """Return the number of sets of ``n`` things of which every two are allowed together."""
    above = [
        sum(1 << j for j in range(i + 1, len(allowed)) if allowed[i, j])
        for i in range(len(allowed))
    ]

    def count(candidates: int, left: int) -> int:
        if left == 1:
            return candidates.bit_count()
        total = 0
        while candidates:
            lowest = candidates & -candidates
            total += count(candidates & above[lowest.bit_length() - 1], left - 1)
            candidates ^= lowest
        return total

    return count((1 << len(allowed)) - 1, n)
