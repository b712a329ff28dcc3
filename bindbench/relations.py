"""The algebra of relations: facts, what follows from them, and what they rule out.

A fact ``(kind, a, b)`` says that ``a`` lies before ``b`` in the order named ``kind``. All words
that are tied by ``synonyms`` and ``inverse`` share one kind, so "A above B" and "B under A" are
the same fact.
"""

from collections import deque
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from bindbench.errors import UserError
from bindbench.vocabulary import Relation, Vocabulary

Fact = tuple[str, Hashable, Hashable]
Thing = TypeVar("Thing", bound=Hashable)


@dataclass(frozen=True)
class Sense:
    """What a relation word means: the order it speaks of, and which way round."""

    kind: str  # the first name, by the alphabet, among the words of the same order
    forward: bool  # whether "a WORD b" is the fact (kind, a, b) or (kind, b, a)
    transitive: bool


def senses(vocabulary: Vocabulary[Relation]) -> dict[str, Sense]:
    """Return the meaning of every relation of a vocabulary.

    Raises:
        UserError: a relation is, through its links, its own inverse.
    """
    found: dict[str, Sense] = {}
    for name in sorted(vocabulary.names):
        if name not in found:
            signs = _signs_from(name, vocabulary)
            transitive = all(vocabulary[word].transitive for word in signs)
            found |= {word: Sense(name, signs[word], transitive) for word in signs}
    return found


def _signs_from(start: str, vocabulary: Vocabulary[Relation]) -> dict[str, bool]:
    """Follow synonyms (same direction) and inverses (opposite) from one relation."""
    signs = {start: True}
    queue = deque([start])
    while queue:
        word = queue.popleft()
        for other, same in _links(word, vocabulary):
            sign = signs[word] == same
            if other not in signs:
                signs[other] = sign
                queue.append(other)
            elif signs[other] != sign:
                raise UserError(
                    f"Relation {other!r} of the vocabulary {vocabulary.name} is its own inverse "
                    f"by way of {word!r}: correct its synonyms and inverse."
                )
    return signs


def _links(word: str, vocabulary: Vocabulary[Relation]) -> Iterable[tuple[str, bool]]:
    """Yield the entries tied to ``word`` from either side, and whether they mean the same."""
    for entry in vocabulary.entries:
        here = vocabulary[word]
        if entry.name in here.synonyms or word in entry.synonyms:
            yield entry.name, True
        if entry.name == here.inverse or word == entry.inverse:
            yield entry.name, False


def chain(objects: Sequence[Thing], relations: Sequence[Sense]) -> list[tuple[str, Thing, Thing]]:
    """Return the facts of a chain: relation i relates object i to object i + 1."""
    links = zip(relations, objects, objects[1:], strict=False)
    return [(r.kind, a, b) if r.forward else (r.kind, b, a) for r, a, b in links]


def closure(facts: Iterable[Fact], transitive: Iterable[str]) -> frozenset[Fact]:
    """Return the facts and all that follow from them in the kinds that are transitive."""
    known = set(facts)
    kinds = set(transitive)
    while True:
        implied = {
            (kind, a, c)
            for kind, a, b in known
            if kind in kinds
            for other, b2, c in known
            if other == kind and b2 == b
        }
        if implied <= known:
            return frozenset(known)
        known |= implied


def scene_facts(objects: Sequence[Hashable], relations: Sequence[Sense]) -> frozenset[Fact]:
    """Return everything that a chain says or implies."""
    return closure(chain(objects, relations), {r.kind for r in relations if r.transitive})


def contradicts(links: Iterable[Fact], facts: frozenset[Fact]) -> bool:
    """Return whether the inverse of any of the links is among the facts."""
    return any((kind, b, a) in facts for kind, a, b in links)
