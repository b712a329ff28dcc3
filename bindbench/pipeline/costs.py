"""What a run of a suite costs in time and disk, by what earlier builds of the same stages took."""

import math
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.models.family import ModelName, Role
from bindbench.pipeline import (
    alignment,
    captions,
    faithfulness,
    filter_shift,
    first_checks,
    first_images,
    images,
    leaderboard,
    model_scores,
    report,
    second_opinion,
    tables,
    top_up,
    validated,
    vocabularies,
)
from bindbench.pipeline import concept_set as concepts
from bindbench.pipeline.base import UNPARTITIONED
from bindbench.pipeline.spine import benchmark_stages
from bindbench.storage.store import Artifact
from bindbench.storage.timings import Timing
from bindbench.suite import Profile, RoleSettings, Suite

# The models that decide how long a stage takes, as its manifest names them.
ROLES: dict[str, tuple[str, ...]] = {
    captions.NAME: ("writer",),
    first_images.NAME: ("generator",),
    first_checks.NAME: ("detector", "judge"),
    images.NAME: ("generator",),
    validated.NAME: ("detector", "judge"),
    second_opinion.NAME: ("second_judge",),
    alignment.NAME: ("encoder",),
    faithfulness.NAME: ("answerer",),
    model_scores.NAME: ("scorer",),
}
_FILLED: dict[str, Role] = {"second_judge": "judge", "encoder": "scorer", "answerer": "judge"}
_SUMMARY = (leaderboard.NAME, tables.NAME, report.NAME)
_WHOLE = (vocabularies.NAME, filter_shift.NAME, *_SUMMARY)  # one shard, whatever its size
_TIMED = ("model", "options", "batch_size")  # of a model's description


@dataclass(frozen=True)
class Work:
    """One partition that a suite builds. Its size is in concepts, of a summary in scored cells."""

    stage: str
    partition: str
    size: int
    models: Mapping[str, Mapping[str, Any]]  # role -> what its speed depends on
    model: str = ""  # of scores
    accelerators: tuple[str, ...] = ()  # that its models are held on
    lone: bool = False  # whether one process does it, whatever the number of workers


@dataclass(frozen=True)
class Rate:
    """What one unit of work takes, from all builds of a partition."""

    seconds: float  # of one worker
    startup: float  # seconds before the first unit, whatever their number
    bytes: float
    size: int  # how many units it was measured on
    hosts: tuple[str, ...]


@dataclass(frozen=True)
class Cost:
    """What a stage of a suite takes from nothing; of a part, where only a part was measured."""

    stage: str
    model: str  # of scores; empty for the other stages
    seconds: float | None  # None: no measurement yet
    bytes: int | None
    measured: int  # concepts (of a summary: scored cells) that the rates come from
    partitions: int
    unmeasured: tuple[str, ...]  # partitions without a measurement
    hosts: tuple[str, ...]  # that measured it
    accelerators: tuple[str, ...] = ()  # that it keeps, as the models' options name them


def suite_costs(suite: Suite, builds: Iterable[Timing], workers: int) -> list[Cost]:
    """Return the cost of each stage of a suite, in the order of a run.

    A rate is that of the same partition (benchmark, model) with the same model, options and batch
    size, in any suite of the store; builds of this machine are preferred. A build with several
    workers is counted as if it had kept all of them busy.

    Args:
        suite: what would be built.
        builds: of the store.
        workers: that would build it.
    """
    known = list(builds)
    found: dict[tuple[str, str], list[tuple[Work, Rate | None]]] = {}
    for work in works(suite):
        found.setdefault((work.stage, work.model), []).append((work, rate(work, known)))
    return [_cost(*name, parts, suite, workers) for name, parts in found.items()]


def works(suite: Suite) -> Iterator[Work]:
    """Yield every partition that a run of a suite builds, in its order."""
    profile = suite.profile
    yield Work(vocabularies.NAME, UNPARTITIONED, 1, {})
    for key in suite.benchmarks:
        # What is added to match the prior is not known before: costs are those of plain concepts.
        stages = [module.NAME for module in benchmark_stages(suite) if module is not top_up]
        for stage in stages:
            roles = {role: _settings(profile, role) for role in ROLES.get(stage, ())}
            yield Work(stage, key, suite.concepts[key], **_models(roles))
        for scorer in profile.scorers:
            cell = model_scores.partition(key, ModelName.parse(scorer.model).slug)
            models = _models({"scorer": scorer})
            yield Work(model_scores.NAME, cell, suite.concepts[key], model=scorer.model, **models)
    for stage in _SUMMARY:
        yield Work(stage, UNPARTITIONED, len(suite.benchmarks) * len(profile.scorers), {})


def _settings(profile: Profile, role: str) -> RoleSettings:
    section = profile.faithfulness if role in ("encoder", "answerer") else profile
    return getattr(section, role)


def _models(roles: Mapping[str, RoleSettings]) -> dict[str, Any]:
    """Return what the models of some work say of it, as its fields; no weights are looked at."""
    timed: dict[str, dict[str, Any]] = {}
    accelerators: dict[str, None] = {}
    lone = False
    for name, settings in roles.items():
        role = _FILLED.get(name, cast(Role, name))
        try:
            model, _, options = registry.named(role, settings)
        except UserError:  # nothing was ever measured of a model that can't be
            timed[name] = {}
            continue
        values = (str(model), options.model_dump(mode="json"), settings.batch_size)
        timed[name] = dict(zip(_TIMED, values, strict=True))
        accelerators |= dict.fromkeys(registry.accelerators_of(role, settings))
        lone = lone or registry.processes(role, settings, 2) == 1
    return {"models": timed, "accelerators": tuple(accelerators), "lone": lone}


def rate(work: Work, builds: Sequence[Timing]) -> Rate | None:
    """Return what a unit of this work took, or None if it was never measured."""
    alike = [b for b in builds if b.computed and _is_alike(work, b.artifact)]
    chosen = [b for b in alike if b.host == socket.gethostname()] or alike
    by_digest = {(b.suite, b.artifact.asset, b.artifact.digest): b.artifact for b in builds}
    sizes = [(b, size) for b in chosen if (size := _size(b, by_digest))]
    total = sum(size * build.share for build, size in sizes)
    if not total:
        return None
    return Rate(
        seconds=sum((b.seconds - b.startup) * b.lanes for b, _ in sizes) / total,
        startup=sum(b.startup for b, _ in sizes) / len(sizes),
        bytes=sum(_bytes(b.artifact) for b, _ in sizes) / sum(size for _, size in sizes),
        size=round(total),
        hosts=tuple(sorted({b.host for b, _ in sizes})),
    )


def _is_alike(work: Work, artifact: Artifact) -> bool:
    if (artifact.asset, artifact.partition) != (work.stage, work.partition):
        return False
    described = (artifact.settings.get(role, {}) for role in work.models)
    return all(
        {name: found.get(name) for name in _TIMED} == wanted
        for found, wanted in zip(described, work.models.values(), strict=True)
    )


def _size(build: Timing, by_digest: Mapping[tuple[str, str, str], Artifact]) -> int:
    """Return how many concepts, or cells of a summary, an artifact holds; 0 if it can't be told."""
    artifact = build.artifact
    inputs: dict[str, str] = artifact.settings.get("inputs", {})
    if artifact.asset == vocabularies.NAME:
        return 1
    if artifact.asset in _SUMMARY:
        return sum(name.startswith(f"{model_scores.NAME}/") for name in inputs)
    while artifact.asset != concepts.NAME:  # along the inputs, down to the concepts
        found = [by_digest.get((build.suite, name, digest)) for name, digest in inputs.items()]
        if not found or found[0] is None:
            return 0
        artifact, inputs = found[0], found[0].settings.get("inputs", {})
    return artifact.rows


def _bytes(artifact: Artifact) -> int:
    return sum(shard.bytes for shard in artifact.shards)


def _cost(
    stage: str,
    model: str,
    parts: Sequence[tuple[Work, Rate | None]],
    suite: Suite,
    workers: int,
) -> Cost:
    measured = [(work, found) for work, found in parts if found]
    seconds = sum(
        found.startup + found.seconds * work.size / _lanes(work, suite, workers)
        for work, found in measured
    )
    return Cost(
        stage,
        model,
        seconds if measured else None,
        round(sum(found.bytes * work.size for work, found in measured)) if measured else None,
        measured=sum(found.size for _, found in measured),
        partitions=len(parts),
        unmeasured=tuple(work.partition for work, found in parts if not found),
        hosts=tuple(sorted({host for _, found in measured for host in found.hosts})),
        accelerators=parts[0][0].accelerators,
    )


def _lanes(work: Work, suite: Suite, workers: int) -> int:
    """Return how many shards of this work are computed at the same time."""
    if work.lone or work.stage in _WHOLE:
        return 1
    return min(workers, math.ceil(work.size / suite.profile.shard_size))
