"""Ray actors of one shape, each with the task that it holds."""

import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import RayError

from bindbench.engine.base import Failure, ShardError
from bindbench.engine.threads import ONE_THREAD, one_thread
from bindbench.engine.worker import Done, Function, Run, compute

MOST_FAILED_STARTS = 3  # one after the other; then something is wrong that no new actor mends


@dataclass(frozen=True)
class Shape:
    """What an actor takes of the cluster."""

    cpus: float
    gpus: float


class Actor:
    """Computes tasks; what they loaded stays loaded from one map to the next."""

    def __init__(self) -> None:
        # Ctrl-C reaches every process of the terminal; the driver alone decides what it means.
        with suppress(ValueError):  # not in the main thread, which alone may say so
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._data, self._function = b"", Function(b"")

    def ready(self) -> None:
        """Return, which shows that the actor could start."""

    def run(self, function: bytes, task: Run) -> Done | Failure:
        """Return the result of a task, or why there is none."""
        if function != self._data:
            self._data, self._function = function, Function(function)
        with one_thread():
            return compute(self._function, task)


@dataclass
class Member:
    """An actor of a crew."""

    actor: Any  # its handle
    ready: bool = False
    task: int | None = None


class Crew:
    """Actors of one shape, started on need and kept."""

    def __init__(self, shape: Shape) -> None:
        self._remote = ray.remote(Actor).options(
            num_cpus=shape.cpus,
            num_gpus=shape.gpus,
            runtime_env={"env_vars": ONE_THREAD},  # there before the actor imports anything
        )
        self._members: list[Member] = []
        self._heard: dict[ray.ObjectRef, Member] = {}  # what a member will say next
        self._failed_starts = 0

    @property
    def busy(self) -> int:
        """How many actors hold a task."""
        return sum(member.task is not None for member in self._members)

    @property
    def idle(self) -> list[Member]:
        """The actors that a task can be given to."""
        return [member for member in self._members if member.ready and member.task is None]

    @property
    def started(self) -> bool:
        """Whether any actor has ever been there to compute."""
        return any(member.ready for member in self._members)

    def hire(self, count: int) -> None:
        """Have at least so many actors, started or waiting for room in the cluster."""
        while len(self._members) < count:
            member = Member(self._remote.remote())
            self._members.append(member)
            self._heard[member.actor.ready.remote()] = member

    def give(self, member: Member, function: bytes, index: int, task: bytes) -> None:
        """Let an idle actor compute a task."""
        member.task = index
        self._heard[member.actor.run.remote(function, Run(index, task))] = member

    def hear(self, seconds: float) -> Iterator[Done | Failure | int]:
        """Wait for news, at most so long; yield results, failures, and the indices of lost tasks.

        Raises:
            ShardError: no actor can start.
        """
        for reference in ray.wait(list(self._heard), timeout=seconds)[0]:
            member = self._heard.pop(reference)
            index, member.task = member.task, None
            try:
                message = ray.get(reference)
            except RayError as error:
                self._members.remove(member)
                if index is None:
                    self._count_failed_start(error)
                else:
                    yield index
                continue
            self._failed_starts = 0
            member.ready = True
            if message is not None:
                yield message

    def end(self) -> None:
        """End the actors, whatever they do."""
        members, self._members = self._members, []
        self._heard.clear()
        for member in members:
            with suppress(RayError):  # the program may have left their cluster for another one
                ray.kill(member.actor)

    def _count_failed_start(self, error: RayError) -> None:
        self._failed_starts += 1
        if self._failed_starts < MOST_FAILED_STARTS:
            return
        first = str(error).strip().partition("\n")[0].rstrip(".")
        raise ShardError(
            f"A Ray actor could not start {MOST_FAILED_STARTS} times ({first}): every node of the "
            "cluster needs the same versions of Python, ray and bindbench."
        ) from error
