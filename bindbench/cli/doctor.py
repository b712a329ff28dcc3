"""The command ``bindbench doctor``: whether a suite can run here, and what a run costs."""

import json
import socket
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console

from bindbench.cli.places import store_of, suite_of, workers_of
from bindbench.pipeline import leaderboard, report, tables, vocabularies
from bindbench.pipeline.costs import Cost
from bindbench.pipeline.doctor import Diagnosis, diagnose
from bindbench.pipeline.readiness import ModelState
from bindbench.releases.record import joined, read_record
from bindbench.reporting.numbers import MISSING, gigabytes
from bindbench.reporting.tables import Grid, to_table
from bindbench.storage.store import Store

WHERE = {
    "none": "none needed",
    "shipped": "shipped",
    "altered": "shipped, but altered",
    "local": "on this machine",
    "cached": "in the cache",
    "missing": "not on this machine",
    "server": "on a server",
}


def run_doctor(source: str, store: str | None, workers: int | None, json_wanted: bool) -> bool:
    """Print the diagnosis of a suite, and return whether it can run here."""
    suite, root = suite_of(source), store_of(store)
    suite = joined(suite, read_record(Store(root, suite.name)))
    found = diagnose(suite, root, workers_of(workers))
    if json_wanted:
        print(json.dumps(as_json(found), indent=2))
    else:
        print_diagnosis(found, suite.name, Console())
    return not found.problems


def as_json(found: Diagnosis) -> dict[str, Any]:
    """Return everything that was found, as JSON data: sizes in bytes, times in seconds."""
    models = [_model(state) for state in found.models]
    return {"ok": not found.problems} | asdict(found) | {"models": models}


def _model(state: ModelState) -> dict[str, Any]:
    weights = state.weights
    place = {"where": weights.where, "place": weights.place, "bytes": weights.bytes}
    return asdict(state) | {"weights": place}


def print_diagnosis(found: Diagnosis, suite: str, console: Console) -> None:
    """Print the machine, the models, the costs, and the problems last."""

    def say(text: str, style: str = "") -> None:
        console.print(text, style=style, soft_wrap=True, highlight=False, markup=False)

    say(f"Machine: {found.cores} cores, {_size(found.memory)} memory")
    for device in found.accelerators:
        say(f"{device['device']}: {device['name']}, {_size(device['memory'])} memory")
    if not found.accelerators:
        say("No GPU")
    for disk in found.disks:
        say(f"Disk of the {disk.use}: {_size(disk.free)} free ({disk.path})")
    versions = [f"{name} {version or 'missing'}" for name, version in found.packages.items()]
    say(f"Packages: {', '.join(versions)}")
    console.print()
    console.print(to_table(models_grid(found.models, suite)))
    console.print()
    console.print(to_table(costs_grid(found.costs, found.workers)))
    console.print()
    for note in found.notes:
        say(f"Note: {note}")
    for problem in found.problems:
        say(f"Problem: {problem}", "red")
    if not found.problems:
        say(f"Suite {suite} can run here.", "green")


def models_grid(models: Sequence[ModelState], suite: str) -> Grid:
    """Return where each model's weights are and what they take."""
    lines = [
        (
            state.role,
            state.name,
            WHERE[state.weights.where],
            _size(state.weights.bytes),
            _size(state.memory),
            state.device,
            str(state.processes),
        )
        for state in models
    ]
    headers = ("Role", "Model", "Weights", "Files", "Memory", "Device", "Processes")
    note = "Memory: of the weights, in each process."
    return Grid(f"Models of suite {suite}", headers, tuple(lines), names=3, note=note)


def costs_grid(costs: Sequence[Cost], workers: int) -> Grid:
    """Return what each stage of a run from nothing takes, and the sum of what is known."""
    lines = [
        (_stage(cost), _time(cost.seconds), _size(cost.bytes), _source(cost)) for cost in costs
    ]
    lines.append(("all", *_total(costs), ""))
    note = f"From nothing with {workers} workers, by what earlier builds in the store took."
    if hosts := {host for cost in costs for host in cost.hosts} - {socket.gethostname()}:
        note += f" Partly measured on {', '.join(sorted(hosts))}."
    return Grid("Cost of a run", ("Stage", "Time", "Disk", "Measured"), tuple(lines), 1, note)


def _stage(cost: Cost) -> str:
    return f"{cost.stage} {cost.model}".strip()


def _total(costs: Sequence[Cost]) -> tuple[str, str]:
    partly = any(cost.unmeasured for cost in costs)
    seconds = [cost.seconds for cost in costs if cost.seconds is not None]
    sizes = [cost.bytes for cost in costs if cost.bytes is not None]
    more = "over " if partly and seconds else ""
    time = _time(sum(seconds)) if seconds else MISSING
    size = _size(sum(sizes)) if sizes else MISSING
    return more + time, more + size


def _source(cost: Cost) -> str:
    """Say what a cost was worked out from."""
    if cost.seconds is None:
        return "no measurement yet"
    known = cost.partitions - len(cost.unmeasured)
    part = f"{known} of {cost.partitions}, " if cost.unmeasured else ""
    summaries = (leaderboard.NAME, tables.NAME, report.NAME)
    unit = "scores" if cost.stage in summaries else "concepts"
    return f"{part}{cost.measured} {unit}" if cost.stage != vocabularies.NAME else "once"


def _time(seconds: float | None) -> str:
    """Return a duration in the unit that suits it."""
    if seconds is None:
        return MISSING
    for unit, width in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= width:
            return f"{seconds / width:.1f} {unit}"
    return f"{seconds:.1f} s"


def _size(size: float | None) -> str:
    return MISSING if size is None else gigabytes(size)
