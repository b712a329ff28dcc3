"""Whether a suite can run on this machine, and what a run of it costs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bindbench import machine
from bindbench.errors import UserError
from bindbench.models.availability import hub_cache
from bindbench.pipeline.costs import Cost, suite_costs
from bindbench.pipeline.preflight import check_slugs, check_spaces, check_words
from bindbench.pipeline.readiness import (
    Accelerators,
    ModelState,
    accelerators,
    folded,
    model_state,
    settings_of,
)
from bindbench.reporting.numbers import gigabytes
from bindbench.storage.facts import package_versions
from bindbench.storage.paths import is_local, root_path
from bindbench.storage.timings import timings
from bindbench.suite import Suite


@dataclass(frozen=True)
class Disk:
    """Free space of one place."""

    use: str
    path: str
    free: int | None  # bytes; None: it is on no disk of this machine


@dataclass(frozen=True)
class Diagnosis:
    """What was found. The suite can run here if there are no problems."""

    cores: int
    memory: int | None  # bytes
    accelerators: tuple[dict[str, Any], ...]  # device, name, memory and free bytes
    disks: tuple[Disk, ...]
    packages: dict[str, str | None]  # name -> version
    workers: int
    models: tuple[ModelState, ...]
    costs: tuple[Cost, ...]
    problems: tuple[str, ...]  # one sentence each
    notes: tuple[str, ...]  # what stops nothing


def diagnose(suite: Suite, root: str, workers: int) -> Diagnosis:
    """Look at the machine, the models of a suite and the store's timings.

    Args:
        suite: that would be built.
        root: of the store.
        workers: that would build it.
    """
    devices = accelerators()
    models = tuple(model_state(*m, workers, devices.found) for m in settings_of(suite))
    disks = (_disk("store", root), _disk("Hugging Face cache", str(hub_cache())))
    costs, damage = _costs(suite, root, workers)
    return Diagnosis(
        machine.cores(),
        machine.memory(),
        devices.found,
        disks,
        package_versions(),
        workers,
        models,
        costs,
        tuple(_problems(suite, devices, models, disks[0], costs)),
        (*folded(models, "notes"), *damage),
    )


def _disk(use: str, path: str) -> Disk:
    place = root_path(path)
    return Disk(use, str(place), machine.free_disk(Path(str(place))) if is_local(place) else None)


def _costs(suite: Suite, root: str, workers: int) -> tuple[tuple[Cost, ...], list[str]]:
    """Return the costs of a suite's stages, and why there are none, if so."""
    try:
        return tuple(suite_costs(suite, timings(root), workers)), []
    except UserError as error:
        return (), [f"The costs are not known: {error}"]


def _problems(
    suite: Suite,
    devices: Accelerators,
    models: Sequence[ModelState],
    disk: Disk,
    costs: Sequence[Cost],
) -> Iterator[str]:
    found = folded(models, "problems")
    yield from [devices.problem] * bool(devices.problem)
    yield from found
    for check in (check_words, check_slugs, check_spaces):
        try:
            check(suite)
        except UserError as error:
            if str(error) not in found:
                yield str(error)
    if disk.free is not None and not machine.is_writable(Path(disk.path)):
        yield f"The store {disk.path} can't be written: give a folder that you may write to."
    needed = sum(cost.bytes or 0 for cost in costs)
    if disk.free is not None and needed > disk.free:
        yield (
            f"A run takes about {gigabytes(needed)}, but {disk.path} has {gigabytes(disk.free)} "
            "free: choose another disk with --store."
        )
