"""What an engine is, and how it reports the tasks that failed."""

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from bindbench.errors import UserError

T = TypeVar("T")
R = TypeVar("R")

NAMES_IN_ERROR = 5  # more failed shards than this are counted instead of named


@dataclass(frozen=True)
class Demand:
    """What a model asks of the workers that hold it."""

    role: str
    lone: bool  # it fills accelerators, and so one process of a machine holds it
    gpus: int  # on how many GPUs it is held


class Engine(Protocol):
    """Applies a function to tasks, somewhere."""

    @property
    def workers(self) -> int:
        """How many tasks are computed at the same time."""
        ...

    def map(
        self,
        function: Callable[[T], R],
        tasks: Sequence[T],
        on_done: Callable[[int, R], None],
        names: Sequence[str] | None = None,
    ) -> None:
        """Apply ``function`` to every task, in any order.

        ``function``, tasks and results must be picklable. Every task is tried, whatever happens
        to the others; an engine whose workers are on other machines tries one again if its worker
        is lost. ``on_done(index, result)`` is called in the caller's thread after each success;
        ``names`` are what errors call the tasks.

        Raises:
            UserError: every failed task failed with a UserError.
            ShardError: tasks failed otherwise, or their worker was killed.
        """
        ...

    def holding(self, demand: Demand) -> "Engine":
        """Return the engine with workers that can hold a model."""
        ...

    def close(self) -> None:
        """End the workers; a later map starts new ones."""
        ...


class ShardError(RuntimeError):
    """Shards could not be computed; names them, with the first cause as a note."""


@dataclass(frozen=True)
class Failure:
    """Why one task failed."""

    index: int
    message: str
    is_user_error: bool = False
    detail: str = ""  # the traceback, where there is one

    @classmethod
    def of(cls, index: int, error: BaseException) -> "Failure":
        """Describe an exception, as text: not every exception can travel between processes."""
        if isinstance(error, UserError):
            return cls(index, str(error), is_user_error=True)
        message = f"{type(error).__name__}: {error}"
        return cls(index, message, detail="".join(traceback.format_exception(error)))


def raise_failures(failures: Sequence[Failure], total: int, names: Sequence[str] | None) -> None:
    """Raise the one error that stands for all failures; do nothing if there are none."""
    if not failures:
        return
    ordered = sorted(failures, key=lambda failure: failure.index)
    called = [names[f.index] if names else f"task {f.index}" for f in ordered]
    first = ordered[0]
    if len(ordered) == 1:
        message = f"{called[0]} failed: {first.message}"
    else:
        listed = ", ".join(called[:NAMES_IN_ERROR])
        more = f" and {len(called) - NAMES_IN_ERROR} more" if len(called) > NAMES_IN_ERROR else ""
        message = (
            f"{len(ordered)} of {total} shards failed ({listed}{more}); "
            f"the first, {called[0]}: {first.message}"
        )
    if all(failure.is_user_error for failure in ordered):
        raise UserError(message)
    error = ShardError(message)
    for detail in [failure.detail for failure in ordered if failure.detail][:1]:
        error.add_note(detail)
    raise error
