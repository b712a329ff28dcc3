"""Whether each model of a suite can run on this machine. Nothing is loaded or downloaded."""

import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from bindbench import machine
from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.models.availability import NO_WEIGHTS, Weights, offline
from bindbench.models.family import Family, ModelName, Role
from bindbench.pipeline.conme_cells import answerers_of
from bindbench.pipeline.preflight import models_of
from bindbench.reporting.numbers import gigabytes
from bindbench.suite import RoleSettings, Suite

HUB = ("cached", "missing")


@dataclass(frozen=True)
class Accelerators:
    """The devices beside the processor, and why they could not be asked, if so."""

    found: tuple[dict[str, Any], ...] = ()  # device, name, memory and free bytes
    problem: str = ""


@dataclass(frozen=True)
class ModelState:
    """One model of a suite on this machine."""

    role: Role
    name: str
    device: str = "cpu"
    processes: int = 1  # that hold it
    weights: Weights = NO_WEIGHTS
    memory: int | None = None  # bytes of the weights in one process; None: it can't be told
    problems: tuple[str, ...] = ()  # a sentence for each reason why it can't run
    notes: tuple[str, ...] = field(default=())  # what stops nothing

    @property
    def spelled(self) -> str:
        """The model as sentences name it, with where its weights come from if its name hides it."""
        place = self.weights.place if self.weights.where == "missing" else ""
        more = f" ({place})" if place and place not in self.name else ""
        return f"{self.role} {self.name}{more}"


def folded(states: Sequence[ModelState], kind: Literal["problems", "notes"]) -> list[str]:
    """Return the sentences of all models; those that differ in the model alone are one."""
    of: dict[str, dict[str, None]] = {}
    for state in states:
        for sentence in getattr(state, kind):
            of.setdefault(sentence.replace(state.spelled, "{}"), {})[state.spelled] = None
    return [cause.replace("{}", ", ".join(names)) for cause, names in of.items()]


def accelerators() -> Accelerators:
    """Ask torch which accelerators there are."""
    try:
        from bindbench.accelerators import accelerators

        return Accelerators(tuple(vars(device) for device in accelerators()))
    except (ImportError, OSError) as error:
        return Accelerators(problem=f"torch can't be imported ({_reason(error)}): reinstall it.")
    except RuntimeError as error:
        return Accelerators(problem=f"torch can't ask the GPU ({_reason(error)}): see its driver.")


def _reason(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


def settings_of(suite: Suite) -> Iterator[tuple[Role, RoleSettings]]:
    """Yield the models of a suite with their roles."""
    yield from models_of(suite.profile)
    for scorer in suite.profile.scorers:
        yield "scorer", scorer
    asked = [*(suite.instabind.models if suite.instabind else ()), *answerers_of(suite)]
    for answerer in {(one.model, str(one.options)): one for one in asked}.values():
        yield "answerer", answerer


def model_state(
    role: Role, settings: RoleSettings, workers: int, devices: Sequence[dict[str, Any]]
) -> ModelState:
    """Return what is known of a model, and every reason why it can't run here."""
    try:
        name, family, options = registry.named(role, settings)
        _check_library(role, name, family)
        weights = family.weights(name, options)
        if weights.where not in HUB:  # of which the check would ask the network
            family.check(name, options)
        family.ready(name, options)
    except UserError as error:
        return ModelState(role, settings.model, problems=(str(error),))
    state = ModelState(
        role,
        str(name),
        getattr(options, "device", "cpu"),
        registry.processes(role, settings, workers),
        weights,
        weights.memory(getattr(options, "quantisation", "") or getattr(options, "dtype", "")),
    )
    problems = (*_missing(state), *_device(state, devices), *_memory(state, devices))
    return ModelState(**{**vars(state), "problems": problems, "notes": tuple(_notes(state))})


def _check_library(role: Role, name: ModelName, family: Family) -> None:
    if family.library and importlib.util.find_spec(family.library) is None:
        raise UserError(f"{role} {name} needs the package {family.library}: install it.")


def _missing(state: ModelState) -> Iterator[str]:
    """Say which weights are not here and can't be fetched."""
    if state.weights.where == "missing" and offline():
        yield (
            f"The weights of {state.spelled} are not on this machine, and HF_HUB_OFFLINE forbids "
            "to fetch them: unset it once."
        )


def _device(state: ModelState, devices: Sequence[dict[str, Any]]) -> Iterator[str]:
    known = ["cpu", *(device["device"] for device in devices)]
    if _numbered(state.device) not in known and state.device != "auto":
        yield (
            f"torch finds no {state.device} here, for {state.spelled}: run on a machine that has "
            f"it, or set the option device to {' or '.join(known)}."
        )


def _numbered(device: str) -> str:
    return "cuda:0" if device == "cuda" else device


def _memory(state: ModelState, devices: Sequence[dict[str, Any]]) -> Iterator[str]:
    there = _capacity(state.device, devices)
    if not state.memory or not there or state.memory * state.processes <= there:
        return
    times = f" in each of {state.processes} processes" if state.processes > 1 else ""
    yield (
        f"The weights of {state.role} {state.name} take {gigabytes(state.memory)}{times}, and "
        f"{state.device} has {gigabytes(there)}: give a smaller dtype, another device or fewer "
        "workers."
    )


def _capacity(device: str, devices: Sequence[dict[str, Any]]) -> int | None:
    """Return the bytes of a device; of ``auto`` those of all accelerators and the machine."""
    sizes: dict[str, int | None] = {d["device"]: d["memory"] for d in devices}
    sizes["cpu"] = machine.memory()
    if device == "auto":
        return sum(size or 0 for size in sizes.values())
    return sizes.get(_numbered(device))


def _notes(state: ModelState) -> Iterator[str]:
    if state.weights.where == "missing" and not offline():
        yield (f"The weights of {state.spelled} are not on this machine: a run fetches them.")
    if state.weights.where == "altered":
        yield (
            f"{state.weights.place} is not what the project ships (by its sha256), so that results "
            "are those of another model: restore the folder unless you rebuilt it on purpose."
        )
