"""ConMe's numbers: each model at each stage, in each mode, with what the selection itself does.

Stages follow the paper's Table 3: all samples of a round, and those that are left after filtering.
What is left of the second round is the benchmark.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bindbench.analysis.resampling import Estimate
from bindbench.conme.choices import Ballots, Choice, hard, measure, same_choices
from bindbench.conme.samples import Sample

Stage = Literal["source", "round_1", "round_1_kept", "round_2", "round_2_kept"]
STAGES: tuple[Stage, ...] = ("source", "round_1", "round_1_kept", "round_2", "round_2_kept")
FINAL: Stage = "round_2_kept"
FIRST: dict[Stage, Stage] = {"round_2": "round_1", "round_2_kept": "round_1_kept"}
Part = Literal["target", "strong", "unseen"]  # a model's part in the conversation


@dataclass(frozen=True, eq=False)
class Votes:
    """A model's choices on a set and panel, of the source's items and of both rounds.

    Attributes:
        part: what it did in the conversation; ``unseen`` models had none.
        samples: what was put to it.
        kept: bool (samples,): what is left after filtering.
        ballots: by reading, on these samples.
    """

    part: Part
    samples: Sequence[Sample]
    kept: np.ndarray
    ballots: Mapping[str, Ballots]

    def of(self, stage: Stage) -> np.ndarray:
        """Return which samples are of a stage, bool (samples,)."""
        rounds = np.array([sample.round for sample in self.samples], int)
        if stage == "source":
            return rounds == 0
        chosen = rounds == (1 if stage.startswith("round_1") else 2)
        return chosen & self.kept if stage.endswith("kept") else chosen


@dataclass(frozen=True)
class Cell:
    """A model in one reading at one stage.

    Attributes:
        choice: None without samples.
        without: of a target, after filtering: on what the other targets alone leave, so that its
            own misses don't select the samples on which it is measured.
        drop: from the source benchmark to the final set, in accuracy; negative where it is harder.
        between: from the first round to the second, all samples or what is kept of both.
    """

    model: str
    part: Part
    reading: str
    stage: Stage
    choice: Choice | None
    without: Choice | None = None
    drop: Estimate | None = None
    between: Estimate | None = None


def cells(votes: Mapping[str, Votes], said: Mapping[str, Ballots]) -> Iterator[Cell]:
    """Yield every model's numbers, by model, reading and stage.

    Args:
        votes: by model, all on the same samples in the same order.
        said: the choices by which the targets filtered, on these samples; what they say of the
            source's items is not looked at.
    """
    for model, own in votes.items():
        for reading, ballots in own.ballots.items():
            found: dict[Stage, Choice | None] = {
                stage: measure(ballots.where(own.of(stage))) for stage in STAGES
            }
            for stage, choice in found.items():
                without = None
                if stage.endswith("kept") and model in said and len(said) > 1:
                    # Filtered anew, without what this model says.
                    rounds = own.of("round_1" if stage == "round_1_kept" else "round_2")
                    without = measure(ballots.where(rounds & hard(said, without=model)))
                drop = _change(choice, found["source"]) if stage == FINAL else None
                before = FIRST.get(stage)
                between = _change(choice, found[before]) if before else None
                yield Cell(model, own.part, reading, stage, choice, without, drop, between)


def _change(now: Choice | None, before: Choice | None) -> Estimate | None:
    return difference(now.accuracy, before.accuracy) if now and before else None


def difference(one: Estimate, other: Estimate) -> Estimate:
    """Return one share less another, with the interval that follows from both of theirs.

    Zou and Donner's (2008) way, for independent shares: where both are of the same images, which
    makes them go together, it is too wide rather than too narrow.
    """
    value = one.value - other.value
    low = value - math.hypot(one.value - one.low, other.high - other.value)
    high = value + math.hypot(one.high - one.value, other.value - other.low)
    size = min(one.n_effective, other.n_effective)
    return Estimate(value, max(-1.0, low), min(1.0, high), min(one.n, other.n), size)


def mean(shares: Sequence[Estimate]) -> Estimate | None:
    """Return the mean of several sets' shares, all with the same weight (ConMe, Table 2).

    The interval follows from theirs in the same way as that of a difference.
    """
    if not shares:
        return None
    value = math.fsum(share.value for share in shares) / len(shares)
    low = math.hypot(*(share.value - share.low for share in shares)) / len(shares)
    high = math.hypot(*(share.high - share.value for share in shares)) / len(shares)
    return Estimate(
        value,
        value - low,
        value + high,
        sum(share.n for share in shares),
        sum(share.n_effective for share in shares),
    )


def agreements(votes: Votes, stage: Stage = FINAL) -> dict[str, dict[str, float | None]]:
    """Return how far each pair of a model's readings makes the same choices, and Cohen's kappa.

    Kappa is None where both always choose alike.
    """
    names, own = [name for name in votes.ballots if name != "blind"], votes.of(stage)
    out: dict[str, dict[str, float | None]] = {}
    for i, first in enumerate(names if own.any() else ()):
        for second in names[i + 1 :]:
            pair = (votes.ballots[name].where(own) for name in (first, second))
            share, kappa = same_choices(*pair)
            out[f"{first} and {second}"] = {
                "same": share,
                "kappa": None if math.isnan(kappa) else kappa,
            }
    return out
