"""The engine of one machine: this process, or a pool of worker processes."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from bindbench.engine.base import Demand, Failure, raise_failures
from bindbench.engine.pool import Pool
from bindbench.engine.threads import one_thread
from bindbench.errors import UserError

T = TypeVar("T")
R = TypeVar("R")


class LocalEngine:
    """Computes in this process (one worker) or in spawned processes (several).

    The processes start on first need and serve every later map, so that what they loaded stays
    loaded. Each computes with one thread; see ``bindbench.engine.threads`` for the reason.
    """

    def __init__(self, workers: int = 1):
        if workers < 1:
            raise UserError(f"The engine has workers={workers}: use 1 or more.")
        self._workers = workers
        self._pool = Pool(workers)

    @property
    def workers(self) -> int:
        """How many tasks are computed at the same time."""
        return self._workers

    def map(
        self,
        function: Callable[[T], R],
        tasks: Sequence[T],
        on_done: Callable[[int, R], None],
        names: Sequence[str] | None = None,
    ) -> None:
        """Apply ``function`` to every task; see ``bindbench.engine.base.Engine``."""
        if self._workers == 1:
            failures = _map_here(function, tasks, on_done)
        else:
            failures = self._pool.map(function, tasks, on_done)
        raise_failures(failures, len(tasks), names)

    def holding(self, demand: Demand) -> "LocalEngine":
        """Return the engine for a model: this process alone, if the model fills accelerators."""
        return LocalEngine(1) if demand.lone and self._workers > 1 else self

    def close(self) -> None:
        """End the worker processes; a later map starts new ones."""
        self._pool.close()


def _map_here(
    function: Callable[[T], R], tasks: Sequence[T], on_done: Callable[[int, R], None]
) -> list[Failure]:
    failures: list[Failure] = []
    with one_thread():
        for index, task in enumerate(tasks):
            try:
                result = function(task)
            except Exception as error:
                failures.append(Failure.of(index, error))
            else:
                on_done(index, result)
    return failures
