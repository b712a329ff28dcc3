"""What people answered about a benchmark's items (Auto-Comp, section 5, A.10, Tables 11 and 20)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from bindbench.analysis.resampling import Estimate, proportion
from bindbench.people.agreement import alpha

# concordance: does the image show what its caption says? The others: which caption is right?
Kind = Literal["concordance", "swap", "confusion"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Answered:
    """One answer of one person.

    In a question of concordance ``yes`` and ``no`` are offered, and ``right`` is the pipeline's
    verdict: to be right is to agree with it. In the others captions are offered, at most 50, and
    the right one is the item's own.
    """

    validator: str  # who answered: any name
    item: str  # the image: concept_id/track
    scene: str  # scene_id of its concept: replicates of a scene are no independent items
    benchmark: str
    track: str
    kind: Kind
    offered: tuple[str, ...]
    chosen: str  # one of them
    right: str  # one of them

    @property
    def is_right(self) -> bool:
        """Whether the right option was chosen."""
        return self.chosen == self.right


def of_kind(answers: Iterable[Answered], kind: Kind, benchmark: str, track: str) -> list[Answered]:
    """Return the answers to one kind of question about a benchmark's track."""
    where = (kind, benchmark, track)
    return [one for one in answers if (one.kind, one.benchmark, one.track) == where]


def share_right(answers: Sequence[Answered]) -> Estimate | None:
    """Return the share of right answers, clustered by scene; None without answers.

    Several people who look at one image are one cluster: they meet the same difficulty.
    """
    if not answers:
        return None
    scenes = np.array([one.scene for one in answers])
    return proportion(np.array([one.is_right for one in answers]), scenes)


def agreement_of(answers: Iterable[Answered]) -> float | None:
    """Return Krippendorff's alpha of the answers to one kind of question (see ``alpha``)."""
    units: dict[str, list[str]] = {}
    for one in answers:
        units.setdefault(one.item, []).append(one.chosen)
    return alpha(units.values())
