"""How far people who looked at the same tasks say the same."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
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


def alpha(units: Iterable[Sequence[Hashable]]) -> float | None:
    """Return Krippendorff's alpha for nominal values: 1 - observed / expected disagreement.

    From the coincidences of values (Krippendorff, 2011): a unit with m values adds 1 / (m - 1) for
    each ordered pair of them. With n values in all units of two or more, n_c of them c, and o_cc
    coincidences of c with itself,

        alpha = 1 - (n - 1) (n - sum_c o_cc) / (n^2 - sum_c n_c^2).

    Args:
        units: the values that each thing was given, by any number of people in any order; a unit
            with fewer than two tells nothing.

    Returns:
        None where all values are the same or none is left: nothing can disagree.
    """
    totals: Counter[Hashable] = Counter()
    agreed = 0.0
    for values in units:
        if len(values) < 2:
            continue
        counts = Counter(values)
        totals += counts
        agreed += sum(count * (count - 1) for count in counts.values()) / (len(values) - 1)
    n = totals.total()
    expected = n**2 - sum(count**2 for count in totals.values())
    return 1 - (n - 1) * (n - agreed) / expected if expected else None
