"""Table 22: what a benchmark costs, by what the builds of the suite took on its machine.

It is of the machine and not of the data, so that it is computed when it is shown.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from bindbench.analysis.resampling import Estimate, proportion
from bindbench.pipeline import (
    alignment,
    captions,
    concept_set,
    faithfulness,
    filter_shift,
    images,
    model_scores,
    negatives,
    paired_set,
    second_opinion,
    validated,
)
from bindbench.pipeline.costs import Cost, suite_costs
from bindbench.pipeline.pilot import gpu_seconds
from bindbench.storage.timings import Timing, timing_of
from bindbench.suite import Prices
from bindbench.tables.inputs import Inputs
from bindbench.tables.number import Number, Source, Unit, missing
from bindbench.tables.sources import EVERY

BATCHES = (1_000, 100_000)  # concepts
# The rows that a benchmark takes, whose sum is the total, and those that only measure it.
MAKING = {
    concept_set.NAME: "concepts",
    captions.NAME: "captions",
    images.NAME: "images",
    validated.NAME: "checks",
    paired_set.NAME: "pairs",
    negatives.NAME: "candidates",
}
MEASURING = {
    filter_shift.NAME: "filter shift",
    second_opinion.NAME: "second opinion",
    alignment.NAME: "alignment",
    faithfulness.NAME: "faithfulness",
    model_scores.NAME: "scores of all models",
}
TOTAL = "total"


@dataclass(frozen=True)
class Spent:
    """What some work takes; the sum of several is that of each field."""

    seconds: float = 0.0  # of one worker
    gpu_seconds: float = 0.0  # of all accelerators that it keeps
    servers: float = 0.0  # what answers cost, in the currency of their prices
    unmeasured: frozenset[str] = field(default_factory=frozenset)  # partitions

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(
            self.seconds + other.seconds,
            self.gpu_seconds + other.gpu_seconds,
            self.servers + other.servers,
            self.unmeasured | other.unmeasured,
        )

    def __truediv__(self, by: float) -> "Spent":
        return Spent(self.seconds / by, self.gpu_seconds / by, self.servers / by, self.unmeasured)

    def money(self, prices: Prices) -> float:
        """Return what it costs; what has no price costs nothing."""
        hours = self.seconds * (prices.core_hour or 0) + self.gpu_seconds * (prices.gpu_hour or 0)
        return hours / 3600 + self.servers


def table_22(inputs: Inputs) -> Iterator[Number]:
    """Yield what batches of concepts take, stage by stage, and what a validated sample takes."""
    built = [key for key in inputs.benchmarks if inputs.has(MAKING, key)]
    for key in inputs.benchmarks:
        if key not in built:
            yield missing("22", f"{key} is not built: run {inputs.run_command}.")
    if not built:
        return
    if not _priced(inputs):
        yield missing(
            "22",
            f"Suite {inputs.suite.name} has no prices: set prices.gpu_hour or prices.core_hour in "
            "its overrides.",
        )
    builds = list(_builds(inputs))
    for size in BATCHES:
        block = f"{size:,} concepts"
        spent = {key: _stages(inputs, builds, key, size) for key in built}
        for stage in (*MAKING, TOTAL, *MEASURING):
            yield from _row(inputs, block, stage, size, spent)
    whole = {key: _stages(inputs, builds, key, BATCHES[-1])[TOTAL] for key in built}
    yield from _per_sample(inputs, whole)


def _priced(inputs: Inputs) -> bool:
    prices = inputs.suite.profile.prices
    return prices.gpu_hour is not None or prices.core_hour is not None


def _builds(inputs: Inputs) -> Iterator[Timing]:
    for artifact in inputs.artifacts.values():
        if artifact.run_path.exists():
            yield timing_of(inputs.suite.name, artifact)


def _stages(inputs: Inputs, builds: list[Timing], key: str, size: int) -> dict[str, Spent]:
    """Return what each stage of a benchmark with so many concepts takes, and the total."""
    changed = {"benchmarks": (key,), "concepts": {key: size}}
    suite = inputs.suite.model_copy(update=changed)
    found: dict[str, Spent] = {}
    for cost in suite_costs(suite, builds, workers=1):
        if cost.stage in MAKING or cost.stage in MEASURING:
            spent = _spent(cost, _servers(inputs, cost.stage, key, size))
            found[cost.stage] = found.get(cost.stage, Spent()) + spent
    return found | {TOTAL: _sum(found[stage] for stage in MAKING)}


def _spent(cost: Cost, servers: float) -> Spent:
    kept = gpu_seconds([cost], _accelerators() if "auto" in cost.accelerators else 1)
    return Spent(cost.seconds or 0.0, kept, servers, frozenset(cost.unmeasured))


def _accelerators() -> int:
    from bindbench.pipeline.readiness import accelerators

    return len(accelerators().found)


def _servers(inputs: Inputs, stage: str, key: str, size: int) -> float:
    """Return what the answers of servers cost, of which a suite's own builds tell."""
    artifact, concepts = inputs.get(stage, key), inputs.get(concept_set.NAME, key)
    if artifact is None or concepts is None:
        return 0.0
    return artifact.summary.get("usage", {}).get("cost", 0.0) * size / concepts.rows


def _sum(parts: Iterable[Spent]) -> Spent:
    return sum(parts, Spent())


def _row(
    inputs: Inputs, block: str, stage: str, size: int, spent: Mapping[str, Mapping[str, Spent]]
) -> Iterator[Number]:
    """Yield the numbers of a stage: a benchmark's, on average over those that are measured."""
    own = {key: stages[stage] for key, stages in spent.items() if stage in stages}
    measured = {key: one for key, one in own.items() if not one.unmeasured}
    if not own:
        return
    row = {**MAKING, **MEASURING}.get(stage, stage)
    note = "" if len(measured) == len(own) else f"of {len(measured)} of {len(own)} benchmarks"
    source = None if stage == TOTAL else Source(stage, EVERY)
    if stage in MAKING:
        rows = [_rows_of_concept(inputs, stage, key) * size for key in own]
        yield Number("22", block, row, "workload", float(np.mean(rows)), "count", source=source)
    mean = _sum(measured.values()) / len(measured) if measured else None
    yield from _measures(inputs, ("22", block, row), mean, note, source)


def _rows_of_concept(inputs: Inputs, stage: str, key: str) -> float:
    made, concepts = inputs.artifacts[f"{stage}/{key}"], inputs.artifacts[f"concept_set/{key}"]
    return made.rows / concepts.rows


def _measures(
    inputs: Inputs,
    place: tuple[str, str, str],
    spent: Spent | None,
    note: str,
    source: Source | None,
) -> Iterator[Number]:
    """Yield hours, GPU-hours and cost."""
    if spent is None:
        why = "Its builds are not of the suite's models as they are now."
        yield Number(*place, "hours", None, "hours", note=why)
        return
    columns: list[tuple[str, float, Unit]] = [
        ("hours", spent.seconds / 3600, "hours"),
        ("GPU-hours", spent.gpu_seconds / 3600, "hours"),
    ]
    if _priced(inputs):
        columns.append(("cost", spent.money(inputs.suite.profile.prices), "money"))
    for column, value, unit in columns:
        yield Number(*place, column, value, unit, note=note, source=source)


def _per_sample(inputs: Inputs, whole: Mapping[str, Spent]) -> Iterator[Number]:
    """Yield what an accepted image takes, of each benchmark; its interval is of the survival."""
    for key, spent in whole.items():
        share, images_of_concept = _accepted(inputs, key)
        place = ("22", "a validated sample", key)
        if not share.value or spent.unmeasured:
            why = "No image was accepted." if not share.value else "Its builds are not measured."
            yield Number(*place, "seconds", None, "seconds", note=why)
            continue
        image = spent / (BATCHES[-1] * images_of_concept)
        columns: list[tuple[str, float, Unit]] = [
            ("seconds", image.seconds, "seconds"),
            ("GPU-seconds", image.gpu_seconds, "seconds"),
        ]
        if _priced(inputs):
            columns.append(("cost", image.money(inputs.suite.profile.prices), "money"))
        for column, value, unit in columns:
            yield Number(
                *(*place, column, value / share.value, unit),
                low=value / share.high,
                high=value / share.low if share.low else None,
                n_items=share.n,
                source=Source(validated.NAME, key, {"accepted": True}),
            )


def _accepted(inputs: Inputs, key: str) -> tuple[Estimate, float]:
    """Return the share of images that are accepted, and the images of a concept."""
    rows = inputs.rows(validated.NAME, key, ("scene_id", "accepted"))
    accepted = np.array([row["accepted"] for row in rows], bool)
    share = proportion(accepted, np.array([row["scene_id"] for row in rows]))
    return share, _rows_of_concept(inputs, validated.NAME, key)
