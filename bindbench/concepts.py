"""Concepts: what a scene holds. Their ids, the size of their spaces, and their sampling."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bindbench.errors import UserError
from bindbench.memo import per_lexicon
from bindbench.permutation import Permutation
from bindbench.relations import Sense, scene_facts, senses
from bindbench.spaces import SceneSpace
from bindbench.tasks import TASKS, Benchmark, Task
from bindbench.vocabulary import Lexicon


def content_id(value: object) -> str:
    """Return the first 16 hex digits of the SHA-256 of ``value`` as canonical JSON."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Concept:
    """Objects in their order of mention, and their labels.

    Attribute tasks: ``labels[i]`` is the attribute of ``objects[i]``. Relational tasks:
    ``labels[i]`` relates ``objects[i]`` to ``objects[i + 1]`` (Auto-Comp, section 3).
    """

    task_name: str
    objects: tuple[str, ...]
    labels: tuple[str, ...]

    @property
    def task(self) -> Task:
        """The task family."""
        return TASKS[self.task_name]

    @property
    def n(self) -> int:
        """The number of objects."""
        return len(self.objects)

    @cached_property
    def id(self) -> str:
        """A hash of the content, order of mention included."""
        return content_id([self.task_name, self.objects, self.labels])

    def scene_id(self, lexicon: Lexicon) -> str:
        """Return a hash of the scene: equal for concepts that say the same of the same objects.

        It ignores the order of mention, and folds inverses and synonyms: "A above B" and
        "B under A" are one scene. The order of the vocabularies does not matter.
        """
        if self.task.axis == "attribute":
            pairs = sorted(zip(self.objects, self.labels, strict=True))
            return content_id([self.task_name, pairs])
        known = relation_senses(lexicon)[self.task.label_role]
        facts = scene_facts(self.objects, [known[label] for label in self.labels])
        return content_id([self.task_name, sorted(facts)])


@per_lexicon
def relation_senses(lexicon: Lexicon) -> dict[str, dict[str, Sense]]:
    """Return the meaning of every relation of a lexicon, by label role and name."""
    return {"positions": senses(lexicon.positions), "sizes": senses(lexicon.sizes)}


@dataclass(frozen=True)
class Sampled:
    """A concept of a benchmark's sequence."""

    index: int
    concept: Concept
    scene_id: str
    replicate: int  # 0, unless the whole space was used up before
    counterpart: str | None  # id of the concept that is this one swapped, before or after it


def space_size(benchmark: Benchmark, lexicon: Lexicon) -> int:
    """Return the number of distinct scenes of a benchmark, those with nested nouns left out."""
    return SceneSpace(benchmark, lexicon).size()


def sample_concepts(
    benchmark: Benchmark,
    lexicon: Lexicon,
    count: int,
    seed: int,
    start: int = 0,
    replicates: bool = False,
    counterparts: bool = False,
) -> list[Sampled]:
    """Return ``count`` concepts of a benchmark's sequence, from ``start`` on.

    The sequence depends on the benchmark, the lexicon, the seed and the options alone: a longer
    one begins with the shorter one. Objects and labels are uniform over the vocabularies, scenes
    are distinct, and no concept holds nested nouns.

    Args:
        benchmark: the benchmark.
        lexicon: its vocabularies.
        count: number of concepts.
        seed: a non-negative integer.
        start: index of the first one returned.
        replicates: begin the sequence again, with the next replicate number, where it ends.
        counterparts: let every concept be followed by its swapped counterpart, which is false of
            the first one's scene. A scene that no unused counterpart is left for is passed over.

    Raises:
        UserError: there are not so many scenes, or the benchmark has nothing to swap.
    """
    if counterparts and benchmark.n == 1:
        raise UserError(
            f"Benchmark {benchmark.key} has nothing to swap: counterparts need N of at least 2."
        )
    space, stop = SceneSpace(benchmark, lexicon), start + count
    if not replicates:
        _check_count(benchmark, stop, space.size())
    rows = _draw(space, min(stop, space.size()), seed, counterparts)
    if not rows and stop:
        _check_count(benchmark, stop, 0)
    if not replicates:
        _check_count(benchmark, stop, len(rows))
    return [_sampled(space, rows, index, counterparts) for index in range(start, stop)]


@dataclass(frozen=True)
class Further:
    """The concepts of a benchmark's sequence from ``start`` on, as numbers of their words."""

    space: SceneSpace
    rows: "list[Row]"  # of the sequence from its beginning; beyond the last they come again
    start: int
    count: int
    counterparts: bool

    @cached_property
    def objects(self) -> np.ndarray:
        """Numbers of the objects, int64 (count, N)."""
        return self._words(0, self.space.benchmark.n)

    @cached_property
    def labels(self) -> np.ndarray:
        """Numbers of the labels, int64 (count, L)."""
        return self._words(1, self.space.benchmark.n_labels)

    def _words(self, part: int, width: int) -> np.ndarray:
        table = np.array([row[part] for row in self.rows], np.int64).reshape(-1, width)
        places = np.arange(self.start, self.start + self.count)
        return table[places % max(len(self.rows), 1)]

    def sampled(self, place: int, index: int) -> Sampled:
        """Return the concept ``start + place`` of the sequence, under another index."""
        found = _sampled(self.space, self.rows, self.start + place, self.counterparts)
        return replace(found, index=index)


def further_concepts(
    benchmark: Benchmark,
    lexicon: Lexicon,
    start: int,
    most: int,
    seed: int,
    *,
    replicates: bool = False,
    counterparts: bool = False,
) -> Further:
    """Return the concepts that follow the first ``start`` in the sequence of ``sample_concepts``.

    There are at most ``most``, and without replicates none where the space is used up. ``start``
    and ``most`` are even with counterparts.
    """
    space = SceneSpace(benchmark, lexicon)
    rows = _draw(space, min(start + most, space.size()), seed, counterparts)
    left = max(len(rows) - start, 0)
    return Further(space, rows, start, most if replicates else min(most, left), counterparts)


def _check_count(benchmark: Benchmark, asked: int, available: int) -> None:
    if asked > available:
        raise UserError(
            f"Benchmark {benchmark.key} was asked for {asked} concepts, but its vocabularies make "
            f"{available} scenes: ask for at most {available}, or set replicates."
        )


Row = tuple[tuple[int, ...], tuple[int, ...]]  # indices of objects and labels


def _draw(space: SceneSpace, count: int, seed: int, counterparts: bool) -> list[Row]:
    """Return the first ``count`` concepts in pseudo-random order, fewer if there are not so many.

    With counterparts, odd rows are the counterparts of the rows before them, and the result may
    hold one row more.
    """
    key = [seed, *space.benchmark.key.encode()]
    order = Permutation(space.ordered, key)
    seen: set[int] = set()
    rows: list[Row] = []
    at = 0
    while len(rows) < count and at < space.ordered:
        size = min(max(1024, 2 * (count - len(rows))), 2**18, space.ordered - at)
        objects, labels = space.concepts(order(np.arange(at, at + size)))
        at += size
        keep = space.allowed(objects)
        accept = _accept_pairs if counterparts else _accept
        for new in accept(space, objects[keep], labels[keep], seen):
            rows += new
            if len(rows) >= count:
                break
    return rows


def _accept(
    space: SceneSpace, objects: np.ndarray, labels: np.ndarray, seen: set[int]
) -> Iterator[list[Row]]:
    """Yield the rows whose scene is new, one by one."""
    keys = space.keys(objects, labels).tolist()
    for key, o, a in zip(keys, objects.tolist(), labels.tolist(), strict=True):
        if key not in seen:
            seen.add(key)
            yield [(tuple(o), tuple(a))]


def _accept_pairs(
    space: SceneSpace, objects: np.ndarray, labels: np.ndarray, seen: set[int]
) -> Iterator[list[Row]]:
    """Yield rows with their counterparts, where both scenes are new."""
    keys = space.keys(objects, labels).tolist()
    swaps = [
        (o.tolist(), a.tolist(), false.tolist(), space.keys(o, a).tolist())
        for o, a, false in space.swaps(objects, labels)
    ]
    for i, key in enumerate(keys):
        if key in seen:
            continue
        for o, a, false, swapped in swaps:
            if false[i] and swapped[i] not in seen:
                seen |= {key, swapped[i]}
                first = tuple(objects[i].tolist()), tuple(labels[i].tolist())
                yield [first, (tuple(o[i]), tuple(a[i]))]
                break


def _sampled(space: SceneSpace, rows: list[Row], index: int, counterparts: bool) -> Sampled:
    """Return the concept at an index; beyond the last row, the rows come again."""
    replicate, place = divmod(index, len(rows))
    concept = _concept(space, rows[place])
    other = _concept(space, rows[place ^ 1]).id if counterparts else None
    return Sampled(index, concept, concept.scene_id(space.lexicon), replicate, other)


def _concept(space: SceneSpace, row: Row) -> Concept:
    objects, labels = row
    return Concept(
        space.benchmark.task.name,
        tuple(space.nouns[i] for i in objects),
        tuple(space.words[i] for i in labels),
    )
