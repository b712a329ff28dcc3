"""A pilot: the first concepts of a suite, and from them what the whole suite will give and take.

The sampling of concepts is prefix-stable, so that a pilot's concepts are those that the whole suite
begins with.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from bindbench.analysis.resampling import Estimate, proportion
from bindbench.pipeline import concept_set, paired_set, validated
from bindbench.pipeline.base import Context
from bindbench.pipeline.costs import Cost, suite_costs, works
from bindbench.storage.timings import Timing
from bindbench.suite import Suite
from bindbench.tasks import TRACKS

CONCEPTS = 50
PAIRED = "paired"  # concepts whose images of both tracks are accepted


@dataclass(frozen=True)
class Harvest:
    """The share of a benchmark's concepts that is accepted, and how many the whole suite gets."""

    benchmark: str
    track: str  # or PAIRED
    share: Estimate  # of the pilot's concepts
    concepts: int  # of the whole suite

    @property
    def expected(self) -> tuple[int, int, int]:
        """How many of the suite's concepts will be accepted, and the bounds of its interval."""
        shares = (self.share.value, self.share.low, self.share.high)
        least, likely, most = sorted(round(self.concepts * share) for share in shares)
        return likely, least, most


@dataclass(frozen=True)
class Projection:
    """What a whole suite will give and take, by its pilot."""

    suite: str
    harvest: tuple[Harvest, ...]
    costs: tuple[Cost, ...]  # of each stage, from nothing
    gpu_seconds: float  # of accelerators that are kept, each counted
    servers: float | None  # what answers of servers cost, in the currency of their prices
    failed: tuple[str, ...]  # benchmarks that the pilot did not finish

    def cost(self, gpu_hour: float) -> float:
        """Return what accelerators and servers cost.

        Args:
            gpu_hour: the price of an accelerator for an hour, in the currency of all prices.
        """
        return self.gpu_seconds / 3600 * gpu_hour + (self.servers or 0.0)


def pilot_concepts(suite: Suite) -> dict[str, int]:
    """Return how many concepts of each benchmark a pilot takes."""
    return {key: min(CONCEPTS, count) for key, count in suite.concepts.items()}


def project(
    pilot: Context, whole: Suite, builds: Iterable[Timing], workers: int, accelerators: int
) -> Projection:
    """Return what a whole suite will give and take.

    Args:
        pilot: the context in which the pilot was built.
        whole: the suite.
        builds: what the builds of the store took, those of the pilot among them.
        workers: that will build the suite.
        accelerators: of this machine, all of which a model with ``device: auto`` keeps.
    """
    done = [key for key in whole.benchmarks if pilot.store.current(paired_set.NAME, key)]
    costs = tuple(suite_costs(whole, builds, workers))
    return Projection(
        whole.name,
        tuple(found for key in done for found in _harvest(pilot, whole, key)),
        costs,
        gpu_seconds(costs, accelerators),
        _servers(pilot, whole),
        tuple(key for key in whole.benchmarks if key not in done),
    )


def _harvest(pilot: Context, whole: Suite, key: str) -> list[Harvest]:
    """Return the accepted share of each track and of both; every concept of the pilot counts."""
    concepts = pilot.current(concept_set.NAME, key).read(["index", "scene_id"]).to_pydict()
    checked = pilot.current(validated.NAME, key).read(["index", "track", "accepted"]).to_pylist()
    paired = pilot.current(paired_set.NAME, key).read(["index"]).to_pydict()["index"]
    accepted = {
        track: {row["index"] for row in checked if row["track"] == track and row["accepted"]}
        for track in TRACKS
    } | {PAIRED: set(paired)}
    scenes = np.array(concepts["scene_id"])
    return [
        Harvest(
            key,
            track,
            proportion(np.isin(concepts["index"], sorted(found)), scenes),
            whole.concepts[key],
        )
        for track, found in accepted.items()
    ]


def gpu_seconds(costs: Sequence[Cost], accelerators: int) -> float:
    """Return how long accelerators are kept by the stages, one second for each of them.

    Args:
        costs: of the stages.
        accelerators: of this machine; a model that is spread over all keeps them all.
    """
    return sum((cost.seconds or 0.0) * _count(cost.accelerators, accelerators) for cost in costs)


def _count(devices: Sequence[str], accelerators: int) -> int:
    if "auto" in devices:
        return max(1, accelerators)
    return len({"cuda:0" if device == "cuda" else device for device in devices})


def _servers(pilot: Context, whole: Suite) -> float | None:
    """Return what servers' answers will cost; None if no model with prices was asked."""
    found: list[float] = []
    for small, large in zip(works(pilot.suite), works(whole), strict=True):
        artifact = pilot.store.current(small.stage, small.partition)
        usage = artifact.summary.get("usage", {}) if artifact else {}
        if "cost" in usage:
            found.append(usage["cost"] * large.size / small.size)
    return sum(found) if found else None
