"""How far people who looked at the same tasks say the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from bindbench.people.tasks import Judgement, by_task


@dataclass(frozen=True)
class PairAgreement:
    """Pairs of annotators of one task, over all tasks."""

    pairs: int
    agreed: int


def pair_agreement(judgements: Sequence[Judgement], choice: str) -> PairAgreement:
    """Count how often two annotators of a task gave the same answer to a choice."""
    pairs = [
        pair
        for several in by_task(judgements).values()
        for pair in combinations([j.answers[choice] for j in several if choice in j.answers], 2)
    ]
    return PairAgreement(len(pairs), sum(a == b for a, b in pairs))
