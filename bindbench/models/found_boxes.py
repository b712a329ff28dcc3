"""From what an open-vocabulary detector answers, noun by noun, to the instances in an image.

Such a detector answers each query by itself and is generous: it gives an object two boxes, frames
several with one, finds a tie in a bow tie, and the same thing as a cup and as a bowl. The rules
here make one instance of one thing. They only ever take boxes away.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from bindbench.models.base import Box
from bindbench.models.boxes import coverage, overlaps
from bindbench.vocabulary import as_words

INSIDE = 0.9  # a box of which this share lies in another one is inside it
FRAME = 0.8  # overlap of a box with the one around several others from which it frames them


@dataclass(frozen=True)
class FoundBox:
    """One answer to the query for a noun."""

    score: float  # in [0, 1]
    box: Box
    words: str | None = None  # the part of the query that it answers to; None: not known


@dataclass(frozen=True)
class Rules:
    """Intersections over union above which two boxes show one thing; 1: never."""

    one_noun: float = 0.5  # of boxes of one noun
    two_nouns: float = 0.8  # of boxes of different nouns


def resolve(
    nouns: Sequence[str],
    found: Sequence[Sequence[FoundBox]],
    known: Collection[str],
    rules: Rules,
) -> list[list[FoundBox]]:
    """Return the instances of each noun in one image, strongest first.

    1. A box answers to its noun: not one of the query "bow tie" that answers to "tie" alone, if the
       vocabularies know a tie, and none that answers to no word.
    2. A box that frames several others of its noun is no instance beside them.
    3. Of boxes of one noun that overlap the strongest stays.
    4. A box of "tie" inside one of "bow tie", or over it, is the bow tie.
    5. Of boxes of different nouns that are nearly the same the strongest stays.

    Args:
        nouns: what was asked for, distinct.
        found: the answers to each query.
        known: the nouns of the vocabularies.
        rules: which overlap is too much.
    """
    own = []
    for noun, boxes in zip(nouns, found, strict=True):
        answers = [box for box in boxes if is_answer(noun, box.words, known)]
        answers.sort(key=lambda box: -box.score)
        own.append(_without_duplicates(_without_frames(answers, rules), rules.one_noun))
    return _one_noun_each(_without_nested(nouns, own, rules.one_noun), rules.two_nouns)


def is_answer(noun: str, words: str | None, known: Collection[str]) -> bool:
    """Whether a box that answers to some words of a query shows the noun that was asked for.

    ``words`` that are no noun of their own, such as the "coffee" of a coffee machine, will do.
    """
    if words is None or words == noun:
        return True
    return words != "" and not (words in known and as_words(words).search(noun))


def plain_words(label: str, special: Collection[str]) -> str:
    """Return a detector's label as the vocabularies spell it: no special tokens, no periods.

    Args:
        label: tokens joined by spaces, such as ``hot - air balloon. [SEP]``.
        special: the tokenizer's special tokens.
    """
    for token in special:
        label = label.replace(token, " ")
    label = re.sub(r"(?<=\w)\s*([-'])\s*(?=\w)", r"\1", label.replace(".", " "))
    return " ".join(label.lower().split())


def _array(boxes: Sequence[FoundBox]) -> np.ndarray:
    return np.array([found.box for found in boxes], dtype=np.float64).reshape(-1, 4)


def _without_duplicates(boxes: Sequence[FoundBox], most: float) -> list[FoundBox]:
    """Keep each box, strongest first, that overlaps none kept before."""
    kept: list[FoundBox] = []
    for found in boxes:
        if not (overlaps(np.array(found.box), _array(kept)) > most).any():
            kept.append(found)
    return kept


def _without_frames(boxes: Sequence[FoundBox], rules: Rules) -> list[FoundBox]:
    """Leave out boxes that several others of the noun fill from side to side."""
    return [found for found in boxes if not _is_frame(found, boxes, rules)]


def _is_frame(found: FoundBox, boxes: Sequence[FoundBox], rules: Rules) -> bool:
    frame, array = np.array(found.box), _array(boxes)
    inside = (coverage(frame, array) > INSIDE) & (overlaps(frame, array) <= rules.one_noun)
    members = _without_duplicates(
        [box for box, is_in in zip(boxes, inside, strict=True) if is_in], rules.one_noun
    )
    if len(members) < 2:
        return False
    parts = _array(members)
    around = np.concatenate([parts[:, :2].min(0), parts[:, 2:].max(0)])
    return bool(overlaps(frame, around[None])[0] > FRAME)


def _without_nested(
    nouns: Sequence[str], found: Sequence[Sequence[FoundBox]], most: float
) -> list[list[FoundBox]]:
    """Leave the boxes of a noun out that are in, or like, one of a noun that holds its words."""
    kept = []
    for noun, boxes in zip(nouns, found, strict=True):
        longer = [
            np.array(box.box)
            for other, others in zip(nouns, found, strict=True)
            if other != noun and as_words(noun).search(other)
            for box in others
        ]
        nested = np.zeros(len(boxes), dtype=bool)
        for box in longer:
            nested |= (coverage(box, _array(boxes)) > INSIDE) | (
                overlaps(box, _array(boxes)) > most
            )
        kept.append([box for box, is_in in zip(boxes, nested, strict=True) if not is_in])
    return kept


def _one_noun_each(found: Sequence[Sequence[FoundBox]], most: float) -> list[list[FoundBox]]:
    """Keep, strongest first, the boxes that are nearly the same as none of another noun."""
    ranked = sorted(
        ((k, box) for k, boxes in enumerate(found) for box in boxes), key=lambda it: -it[1].score
    )
    kept: list[list[FoundBox]] = [[] for _ in found]
    for k, box in ranked:
        others = [other for j, boxes in enumerate(kept) if j != k for other in boxes]
        if not (overlaps(np.array(box.box), _array(others)) > most).any():
            kept[k].append(box)
    return kept
