"""The candidates of a concept: numbers first, text only when a scorer needs it.

Auto-Comp, section 3, stage 3. With N objects the candidates are the positive (index 0) and its
confusion space, of which the swap set is a part: the same enumeration for every concept of a
benchmark. With N = 1 they are the positive, then the other colors, then the other nouns.
"""

import itertools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from bindbench.captions.slots import Renderer, Template
from bindbench.concepts import Concept
from bindbench.memo import per_lexicon
from bindbench.tasks import Axis
from bindbench.vocabulary import Lexicon

ERROR_FAMILIES = (
    "positive",
    "reordered",
    "swap",
    "object_kept",
    "label_kept",
    "repeated_pair",
    "other",
)


Picker = Callable[[Sequence[str]], tuple[str, ...]]  # some words -> those of each candidate


@dataclass(frozen=True)
class CandidateSpace:
    """The candidates of every concept with N objects, as indices into the concept's own words.

    The positive comes first, then all other tuples in lexicographic order.
    """

    axis: Axis
    objects: np.ndarray  # int8 (K, N): the object in each place of the caption
    labels: np.ndarray  # int8 (K, L): the label in each place, L = N or N-1

    def __len__(self) -> int:
        return len(self.objects)

    @property
    def n(self) -> int:
        """The number of objects."""
        return self.objects.shape[1]

    @cached_property
    def distinct_objects(self) -> np.ndarray:
        """Which candidates name every object once: bool (K,)."""
        return _distinct(self.objects)

    @cached_property
    def distinct_labels(self) -> np.ndarray:
        """Which candidates use every label once: bool (K,)."""
        return _distinct(self.labels)

    @cached_property
    def swap(self) -> np.ndarray:
        """The swap set, bool (K,): labels (attribute) or objects (relation) permuted, N! - 1."""
        swapped, kept = self.labels, self.objects
        if self.axis == "relation":
            swapped, kept = kept, swapped
        mask = (kept == np.arange(kept.shape[1])).all(axis=1) & _distinct(swapped)
        mask[0] = False
        return mask

    @cached_property
    def reordered(self) -> np.ndarray:
        """The positive with its clauses in another order (attribute only), bool (K,)."""
        if self.axis == "relation":
            return np.zeros(len(self), bool)
        mask = (self.objects == self.labels).all(axis=1) & self.distinct_objects
        mask[0] = False
        return mask

    @cached_property
    def families(self) -> tuple[str, ...]:
        """For each candidate "swap" or "confusion"; "" for the positive."""
        return ("", *np.where(self.swap[1:], "swap", "confusion").tolist())

    @cached_property
    def errors(self) -> np.ndarray:
        """The kind of error by the multiset of pairs: indices into ERROR_FAMILIES, int8 (K,).

        Attribute tasks: a swap in any clause order; all objects kept and labels repeated; all
        labels kept and objects repeated; a pair said twice; other. Relational tasks know only
        swap and other.
        """
        code = {name: i for i, name in enumerate(ERROR_FAMILIES)}
        if self.axis == "relation":
            kinds = [(self.swap, "swap")]
        else:
            o, a = self.distinct_objects, self.distinct_labels
            repeated = ~_distinct(self.objects.astype(int) * self.n + self.labels)
            kinds = [
                (self.reordered, "reordered"),
                (o & a, "swap"),
                (o, "object_kept"),
                (a, "label_kept"),
                (repeated, "repeated_pair"),
            ]
        masks, names = zip(*kinds, strict=True)
        errors = np.select(masks, [code[name] for name in names], code["other"]).astype(np.int8)
        errors[0] = code["positive"]
        return errors

    @cached_property
    def pair_at(self) -> tuple[Picker, ...]:
        """For each place, what picks every candidate's pair from all N * L pairs, by object."""
        codes = self.objects.astype(int) * self.labels.shape[1] + self.labels
        return _pickers(codes)

    @cached_property
    def object_at(self) -> tuple[Picker, ...]:
        """For each place, what picks every candidate's object from the concept's objects."""
        return _pickers(self.objects)

    @cached_property
    def label_at(self) -> tuple[Picker, ...]:
        """For each place, what picks every candidate's label from the concept's labels."""
        return _pickers(self.labels)


def _pickers(codes: np.ndarray) -> tuple[Picker, ...]:
    return tuple(operator.itemgetter(*column) for column in codes.T.tolist())


def _distinct(rows: np.ndarray) -> np.ndarray:
    ordered = np.sort(rows, axis=1)
    return (ordered[:, 1:] != ordered[:, :-1]).all(axis=1)


@lru_cache(maxsize=16)
def candidate_space(axis: Axis, n: int) -> CandidateSpace:
    """Return the candidates of concepts with ``n`` objects (at least 2).

    There are N^(2N) of them (attribute) or N^N (N-1)^(N-1) (relation), the positive included.
    """
    k = n if axis == "attribute" else n - 1
    rows = [
        (*objects, *labels)
        for objects in itertools.product(range(n), repeat=n)
        for labels in itertools.product(range(k), repeat=k)
    ]
    positive = (*range(n), *range(k))
    rows.remove(positive)
    table = np.array([positive, *rows], np.int8)
    objects, labels = np.ascontiguousarray(table[:, :n]), np.ascontiguousarray(table[:, n:])
    objects.flags.writeable = labels.flags.writeable = False
    return CandidateSpace(axis, objects, labels)


Words = tuple[tuple[str, ...], tuple[str, ...]]  # objects and labels of a caption


def candidate_words(concept: Concept, lexicon: Lexicon) -> list[Words]:
    """Return the objects and labels of each candidate, in the order of the candidates."""
    if concept.n == 1:
        colors, nouns = variations(concept, lexicon)
        return [
            (concept.objects, concept.labels),
            *((concept.objects, (color,)) for color in colors),
            *(((noun,), concept.labels) for noun in nouns),
        ]
    space = candidate_space(concept.task.axis, concept.n)
    return [
        (tuple(concept.objects[i] for i in objects), tuple(concept.labels[i] for i in labels))
        for objects, labels in zip(space.objects.tolist(), space.labels.tolist(), strict=True)
    ]


def variations(concept: Concept, lexicon: Lexicon) -> tuple[list[str], list[str]]:
    """Return the other colors, and the other nouns that the object is no instance of (N = 1).

    Nouns that overlap with the object's (nested, broader, narrower) are left out: the same
    picture could show both.
    """
    (obj,), (label,) = concept.objects, concept.labels
    colors = [name for name in lexicon.labels(concept.task).names if name != label]
    known = _apart(lexicon)
    key = (concept.task.object_role, obj)
    if key not in known:
        nouns = lexicon.nouns(concept.task)
        known[key] = [name for name in nouns.names if not nouns.overlaps(name, obj)]
    return colors, known[key]


@per_lexicon
def _apart(lexicon: Lexicon) -> dict[tuple[str, str], list[str]]:
    """Remember, for nouns asked about, the others that do not overlap with them."""
    return {}


def candidate_families(concept: Concept, lexicon: Lexicon) -> list[str]:
    """Return each candidate's family; "" for the positive.

    "swap" and "confusion" (N >= 2; a swap is in the confusion space as well), "vary_color" and
    "vary_object" (N = 1).
    """
    if concept.n > 1:
        return list(candidate_space(concept.task.axis, concept.n).families)
    colors, nouns = variations(concept, lexicon)
    return ["", *["vary_color"] * len(colors), *["vary_object"] * len(nouns)]


def candidate_texts(template: Template, concept: Concept, lexicon: Lexicon) -> list[str]:
    """Return the captions of all candidates, all distinct; the first is the template's own.

    Args:
        template: a caption of the concept with its slots.
        concept: the concept, in the order of mention that the slots' positions refer to.
        lexicon: the vocabularies.
    """
    renderer = Renderer(template, concept, lexicon)
    if concept.n > 1:
        return renderer.render_all(candidate_space(concept.task.axis, concept.n))
    render = renderer.render
    return [render(objects, labels) for objects, labels in candidate_words(concept, lexicon)]
