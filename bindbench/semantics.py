"""Which candidates are true of a concept's scene, which are false, and which the text leaves open.

No true caption is ever called a negative. In the attribute tasks a candidate is true if it says
the same pairs in any order. In the relational tasks it is true if every link follows from the
scene (inverse, synonym, transitivity), false if any link's inverse does. Distinct mentions are
distinct things, so one mentioned too often is false by counting alone.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from bindbench.candidates import CandidateSpace, candidate_space, variations
from bindbench.concepts import Concept, relation_senses
from bindbench.relations import Fact, Sense, chain, contradicts, scene_facts
from bindbench.vocabulary import Lexicon, Relation, Vocabulary

TRUE, FALSE, UNDECIDED = 0, 1, 2
SEMANTICS = ("true", "false", "undecided")

NONE, COUNT, PAIRING, BROADER, CONTRADICTION, UNSTATED, IMAGE = range(7)
REASONS = (
    "none",  # true by the text
    "count",  # false: something is mentioned more often than the scene holds it
    "pairing",  # false: another label or object
    "broader",  # undecided: every word that differs is broader than the right one
    "contradiction",  # false: the inverse of a link follows from the scene
    "unstated",  # undecided: the text does not say how these things lie
    "image",  # decided by the image, where the text does not say
)

OFFSET = 0.15  # of the image side: the least offset of centres that shows a spatial relation
RATIO = 1.5  # the least ratio of mask areas that shows a relation of size

Labelled = tuple[np.ndarray, np.ndarray]  # int8 (K,): semantics and reasons
Matrix = tuple[tuple[bool, ...], ...]


def text_semantics(concept: Concept, lexicon: Lexicon) -> Labelled:
    """Label every candidate of a concept by what the text says.

    Returns:
        Semantics (TRUE, FALSE, UNDECIDED) and reasons (indices into REASONS), both int8 (K,) and
        read-only. They depend on the structure of the concept only, and are shared by concepts of
        equal structure.
    """
    nouns, labels = lexicon.nouns(concept.task), lexicon.labels(concept.task)
    if concept.n == 1:
        return _single(concept, lexicon)
    objects = _Words.of(concept.objects, nouns)
    if concept.task.axis == "attribute":
        return _attribute(concept.n, objects, _Words.of(concept.labels, labels))
    return _relation(concept.n, objects, _pattern(concept, lexicon))


@dataclass(frozen=True)
class _Words:
    """How the words of a concept stand to each other, whatever they are."""

    same: Matrix  # same[i][j]: word i means what word j means
    covers: Matrix  # covers[i][j]: word i is right of all that word j is right of

    @classmethod
    def of(cls, names: tuple[str, ...], vocabulary: Vocabulary) -> "_Words":
        """Compare the words of a concept by their vocabulary."""
        same = _matrix(names, lambda a, b: a == b or vocabulary.are_synonyms(a, b))
        broader = _matrix(names, vocabulary.is_broader)
        covers = tuple(
            tuple(s or b for s, b in zip(*rows, strict=True))
            for rows in zip(same, broader, strict=True)
        )
        return cls(same, covers)


def _matrix(names: tuple[str, ...], holds: Callable[[str, str], bool]) -> Matrix:
    return tuple(tuple(holds(a, b) for b in names) for a in names)


def _readings(mentions: tuple[int, ...], allowed: Matrix) -> Iterator[tuple[int, ...]]:
    """Yield the ways to take each mention for a different thing that its word is right of."""
    for things in itertools.permutations(range(len(mentions))):
        if _fit(mentions, things, allowed):
            yield things


def _fit(words: tuple[int, ...], things: tuple[int, ...], allowed: Matrix) -> bool:
    """Return whether every word is right of its thing."""
    return all(allowed[word][thing] for word, thing in zip(words, things, strict=True))


def _arrays(pairs: list[tuple[int, int]]) -> Labelled:
    table = np.array(pairs, np.int8)
    table.flags.writeable = False
    return table[:, 0], table[:, 1]


def _single(concept: Concept, lexicon: Lexicon) -> Labelled:
    """Label the candidates of a concept of one object."""
    (label,) = concept.labels
    vocabulary = lexicon.labels(concept.task)
    colors, nouns = variations(concept, lexicon)
    pairs = [(TRUE, NONE)]
    for color in colors:
        if vocabulary.are_synonyms(color, label):
            pairs.append((TRUE, NONE))
        elif vocabulary.is_broader(color, label):
            pairs.append((UNDECIDED, BROADER))
        else:
            pairs.append((FALSE, PAIRING))
    return _arrays([*pairs, *[(FALSE, PAIRING)] * len(nouns)])


@lru_cache(maxsize=4096)
def _attribute(n: int, objects: _Words, labels: _Words) -> Labelled:
    space = candidate_space("attribute", n)
    rows = zip(space.objects.tolist(), space.labels.tolist(), strict=True)
    return _arrays([_judge_pairs(tuple(o), tuple(a), objects, labels) for o, a in rows])


def _judge_pairs(
    mentioned: tuple[int, ...], said: tuple[int, ...], objects: _Words, labels: _Words
) -> tuple[int, int]:
    """Label one candidate; the scene's i-th thing has object i and label i."""
    if any(_fit(said, things, labels.same) for things in _readings(mentioned, objects.same)):
        return TRUE, NONE
    readings = list(_readings(mentioned, objects.covers))
    if any(_fit(said, things, labels.covers) for things in readings):
        return UNDECIDED, BROADER
    return FALSE, PAIRING if readings else COUNT


Pattern = tuple[Sense, ...]  # of the concept's relations


def _pattern(concept: Concept, lexicon: Lexicon) -> Pattern:
    known = relation_senses(lexicon)[concept.task.label_role]
    return tuple(known[label] for label in concept.labels)


@lru_cache(maxsize=4096)
def _relation(n: int, objects: _Words, pattern: Pattern) -> Labelled:
    space = candidate_space("relation", n)
    facts = scene_facts(range(n), pattern)
    rows = zip(space.objects.tolist(), space.labels.tolist(), strict=True)
    return _arrays(
        [_judge_links(tuple(o), [pattern[i] for i in a], objects, facts) for o, a in rows]
    )


def _judge_links(
    mentioned: tuple[int, ...], relations: list[Sense], objects: _Words, facts: frozenset[Fact]
) -> tuple[int, int]:
    """Label one candidate of a relational concept against the facts of its scene."""
    readings = {
        things: _judge_chain(chain(things, relations), facts)
        for things in _readings(mentioned, objects.covers)
    }
    if not readings:
        return FALSE, COUNT
    literal = readings.get(mentioned)
    if literal and (len(readings) == 1 or literal == (TRUE, NONE)):
        return literal
    if all(verdict == FALSE for verdict, _ in readings.values()):
        return FALSE, CONTRADICTION
    return UNDECIDED, BROADER


def _judge_chain(links: list[Fact], facts: frozenset[Fact]) -> tuple[int, int]:
    if set(links) <= facts:
        return TRUE, NONE
    if contradicts(links, facts):
        return FALSE, CONTRADICTION
    return UNDECIDED, UNSTATED


def settle(
    concept: Concept,
    semantics: np.ndarray,
    reasons: np.ndarray,
    centers: np.ndarray,
    areas: np.ndarray,
    lexicon: Lexicon,
) -> Labelled:
    """Decide by the image, where it is clear, the relations that the text leaves open.

    A relation is clear where the centres are more than OFFSET of the image side apart along its
    axis, or the mask areas differ by more than RATIO. What the text implies stays as it is.

    Args:
        concept: the concept.
        semantics: int8 (K,), from ``text_semantics``.
        reasons: int8 (K,), from ``text_semantics``.
        centers: float (N, 2), each object's x and y as fractions of the image, y downwards.
        areas: float (N,), each object's mask, in any one unit.
        lexicon: the vocabularies.

    Returns:
        Semantics and reasons, int8 (K,); what the image decided has the reason IMAGE.
    """
    settled, why = semantics.copy(), reasons.copy()
    rows = np.flatnonzero(reasons == UNSTATED)
    if not len(rows):
        return settled, why
    space = candidate_space(concept.task.axis, concept.n)
    known = _known_links(concept, np.asarray(centers, float), np.asarray(areas, float), lexicon)
    links = _look_up(known, space, rows)
    false = (links < 0).any(axis=1)
    true = (links > 0).all(axis=1)
    settled[rows[false]], settled[rows[true]] = FALSE, TRUE
    why[rows[false | true]] = IMAGE
    return settled, why


def _look_up(known: np.ndarray, space: CandidateSpace, rows: np.ndarray) -> np.ndarray:
    """Return what is known of every link of these candidates, int8 (rows, N-1)."""
    objects = space.objects[rows]
    return known[space.labels[rows], objects[:, :-1], objects[:, 1:]]


def _known_links(
    concept: Concept, centers: np.ndarray, areas: np.ndarray, lexicon: Lexicon
) -> np.ndarray:
    """Return for each label and pair of objects: 1 holds, -1 its inverse holds, 0 not clear."""
    pattern = _pattern(concept, lexicon)
    facts = scene_facts(range(concept.n), pattern)
    known = np.zeros((concept.n - 1, concept.n, concept.n), np.int8)
    for k, sense in enumerate(pattern):
        entry = lexicon.labels(concept.task)[concept.labels[k]]
        known[k] = _measured(entry, centers, areas)
        for a, b in itertools.permutations(range(concept.n), 2):
            verdict, _ = _judge_chain(chain((a, b), [sense]), facts)
            if verdict != UNDECIDED:
                known[k, a, b] = 1 if verdict == TRUE else -1
    return known


def _measured(relation: Relation, centers: np.ndarray, areas: np.ndarray) -> np.ndarray:
    """Return where the image shows a relation (1) or its inverse (-1) clearly, int8 (N, N)."""
    if relation.axis == "size":
        ahead = areas[:, None] > RATIO * areas[None, :]
    else:
        place = centers[:, 0] if relation.axis == "horizontal" else -centers[:, 1]
        ahead = place[:, None] - place[None, :] > OFFSET
    return relation.direction * (ahead.astype(np.int8) - ahead.T.astype(np.int8))
