"""What a worker process does: it waits for tasks on its pipe, and dies with its parent.

This module is imported before the libraries that the tasks need; it imports nothing heavy.
"""

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from bindbench.engine.base import Failure

READY = "ready"


@dataclass(frozen=True)
class Load:
    """Sent to a worker: the function of the tasks that follow, pickled."""

    function: bytes


@dataclass(frozen=True)
class Run:
    """Sent to a worker: a task, pickled apart so that one that can't be read fails alone."""

    index: int
    task: bytes


@dataclass(frozen=True)
class Done:
    """Sent by a worker: the result of a task, pickled."""

    index: int
    result: bytes


def serve(connection: Connection) -> None:
    """Compute tasks until the pipe is closed."""
    # Ctrl-C reaches every process of the terminal; the parent alone decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    # The pipe fails when the parent closed it.
    with contextlib.suppress(EOFError, OSError):
        _answer(connection)


def _answer(connection: Connection) -> None:
    function = Function(b"")
    connection.send(READY)
    while True:
        message = connection.recv()
        if isinstance(message, Load):
            function = Function(message.function)
        else:
            connection.send(compute(function, message))


class Function:
    """A pickled function that is read on first use, inside the task that it may fail."""

    def __init__(self, data: bytes):
        self._data = data
        self._value: Callable[[Any], Any] | None = None

    def __call__(self, task: Any) -> Any:
        """Call the function."""
        if self._value is None:
            self._value = pickle.loads(self._data)
        assert self._value is not None
        return self._value(task)


def compute(function: Function, run: Run) -> Done | Failure:
    """Return the result of a task, or why there is none."""
    try:
        return Done(run.index, pickle.dumps(function(pickle.loads(run.task))))
    except BaseException as error:  # also SystemExit: no task ends the worker
        return Failure.of(run.index, error)


def _die_with_parent() -> None:
    """End this process at once when the parent is gone, however it died."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
