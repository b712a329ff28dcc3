"""What is asked: question sets as the strong model writes them, and choices between two options."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from bindbench.concepts import content_id

Round = Literal[0, 1, 2]  # 0: items of the benchmark that the images come from
ORDERS = 2  # of the two options


@dataclass(frozen=True)
class QuestionSet:
    """A question with its answer and wrong answers."""

    question: str
    answer: str
    negatives: tuple[str, ...]


@dataclass(frozen=True)
class Sample:
    """A question with one right and one wrong option (ConMe, stage 4)."""

    image_id: str
    round: Round
    question: str
    answer: str
    negative: str

    @property
    def id(self) -> str:
        """A hash of the content."""
        return content_id([self.image_id, self.round, self.question, self.answer, self.negative])

    def options(self, order: int) -> tuple[str, str]:
        """Return the two options as they are shown in an order, 0 or 1.

        Which option stands first in order 0 follows from the sample's id, so that "the first" is
        right in about half of the samples in either order; order 1 shows them the other way round.
        """
        if self.right_place(order) == 0:
            return self.answer, self.negative
        return self.negative, self.answer

    def right_place(self, order: int) -> int:
        """Return where the right option stands in an order: 0 first, 1 second."""
        return (int(self.id[-1], 16) + order) % 2


@dataclass(frozen=True)
class Samples:
    """The samples of an image and a round, and what was refused."""

    kept: tuple[Sample, ...]
    refused: dict[str, int]  # how many wrong answers, by reason


def samples_of(image_id: str, round: Round, sets: Sequence[QuestionSet]) -> Samples:
    """Return one sample for each wrong answer of each set.

    An option that reads like the other one (but for case, spaces and the final period) has no
    right choice, and what was asked already is not asked again: both are counted, not kept.
    """
    refused: Counter[str] = Counter()
    kept: dict[tuple[str, ...], Sample] = {}
    for each in sets:
        for negative in each.negatives:
            sample = Sample(image_id, round, each.question, each.answer, negative)
            key = tuple(map(plain, (each.question, each.answer, negative)))
            if key[1] == key[2]:
                refused["equal options"] += 1
            elif key in kept:
                refused["duplicate"] += 1
            else:
                kept[key] = sample
    return Samples(tuple(kept.values()), dict(refused))


def plain(text: str) -> str:
    """Return a text as it counts in comparisons: without case, extra spaces and a final period."""
    return " ".join(text.casefold().split()).rstrip(".").rstrip()


def near_duplicates(texts: Iterable[str], least: float = 0.8) -> list[tuple[int, int]]:
    """Return the pairs of texts that share most of their words.

    Args:
        texts: the questions of one image.
        least: Jaccard similarity of the sets of words from which on two texts are near.
    """
    words = [frozenset(plain(text).split()) for text in texts]
    pairs = ((i, j) for j in range(len(words)) for i in range(j))
    return [(i, j) for i, j in pairs if _jaccard(words[i], words[j]) >= least]


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 1.0
