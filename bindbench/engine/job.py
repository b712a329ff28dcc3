"""One map of an engine that has workers: what waits to be computed, and what failed."""

import pickle
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from bindbench.engine.base import Failure
from bindbench.engine.worker import Done


class Job:
    """The tasks of a map, on their way to the workers and back."""

    def __init__(self, function: bytes, tasks: Sequence[Any], on_done: Callable[[int, Any], None]):
        self.function = function
        self.tasks = tasks
        self.on_done = on_done
        self.waiting = deque(range(len(tasks)))
        self.failures: list[Failure] = []

    def next(self) -> tuple[int, bytes] | None:
        """Return the next task, pickled, with its index; one that can't be pickled has failed."""
        while self.waiting:
            index = self.waiting.popleft()
            try:
                return index, pickle.dumps(self.tasks[index])
            except Exception as error:
                self.failures.append(Failure.of(index, error))
        return None

    def take(self, message: Done | Failure) -> None:
        """Take what a worker sent about a task."""
        if isinstance(message, Failure):
            self.failures.append(message)
        else:
            self.on_done(message.index, pickle.loads(message.result))
