"""A pool of worker processes that knows which task each worker holds.

The standard library's executor breaks as a whole when one process is killed, and can't say which
task was in it. Here a killed worker costs its own task only, and is replaced.
"""

import multiprocessing
import pickle
import signal
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from bindbench.engine.base import Failure, ShardError
from bindbench.engine.job import Job
from bindbench.engine.threads import one_thread_environment
from bindbench.engine.worker import READY, Load, Run, serve

CLOSE_SECONDS = 5.0  # an idle worker leaves at once; one that does not is killed


class Worker:
    """One worker process, with the task that it holds."""

    def __init__(self):
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs,), daemon=True)
        # The child inherits the variables, and so has them before it imports anything.
        with one_thread_environment():
            self.process.start()
        theirs.close()  # so that the pipe ends when the child does
        self.ready = False
        self.task: int | None = None
        self.function: bytes | None = None

    def give(self, function: bytes, index: int, task: bytes) -> None:
        """Send a task, and before it the function unless the worker has it already."""
        if self.function is not function:
            self.connection.send(Load(function))
            self.function = function
        self.connection.send(Run(index, task))
        self.task = index

    def how_it_died(self) -> str:
        """Say how the process ended."""
        self.process.join()
        code = self.process.exitcode or 0
        if code == -signal.SIGKILL:
            return "was killed (SIGKILL: by hand, or because memory ran out)"
        if code < 0:
            return f"was killed by {signal.Signals(-code).name}"
        return f"ended with exit code {code}"

    def end(self, seconds: float) -> None:
        """Close the pipe, wait for the process to leave, and kill it if it does not."""
        self.connection.close()
        self.process.join(seconds)
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        self.process.close()


class Pool:
    """Up to ``size`` worker processes, started on first need and kept."""

    def __init__(self, size: int):
        self._size = size
        self._workers: list[Worker] = []

    def map(
        self,
        function: Callable[[Any], Any],
        tasks: Sequence[Any],
        on_done: Callable[[int, Any], None],
    ) -> list[Failure]:
        """Compute every task; return the failures. An exception, such as Ctrl-C, ends the pool."""
        job = Job(pickle.dumps(function), tasks, on_done)
        try:
            while job.waiting or self._busy():
                self._hire(min(self._size, len(self._busy()) + len(job.waiting)))
                self._hand_out(job)
                self._collect(job)
        except BaseException:
            self._end(seconds=0)
            raise
        return job.failures

    def close(self) -> None:
        """End the workers."""
        self._end(CLOSE_SECONDS)

    def _busy(self) -> list[Worker]:
        return [worker for worker in self._workers if worker.task is not None]

    def _hire(self, count: int) -> None:
        for worker in [w for w in self._workers if w.task is None and not w.process.is_alive()]:
            if not worker.ready:
                raise _did_not_start(worker)
            self._dismiss(worker)
        while len(self._workers) < count:
            self._workers.append(Worker())

    def _hand_out(self, job: Job) -> None:
        for worker in [w for w in self._workers if w.ready and w.task is None]:
            if (task := job.next()) is None:
                return
            try:
                worker.give(job.function, *task)
            except OSError:  # it died while idle: the task goes to its replacement
                self._dismiss(worker)
                job.waiting.appendleft(task[0])

    def _collect(self, job: Job) -> None:
        # Idle ready workers have nothing to say; one that dies is found when it is next needed.
        heard = [w for w in self._workers if w.task is not None or not w.ready]
        if not heard:
            return
        by_connection = {worker.connection: worker for worker in heard}
        for connection in wait(list(by_connection)):
            assert isinstance(connection, Connection)
            worker = by_connection[connection]
            try:
                message = connection.recv()
            except (EOFError, OSError):
                self._bury(worker, job)
                continue
            if message == READY:
                worker.ready = True
            else:
                worker.task = None
                job.take(message)

    def _bury(self, worker: Worker, job: Job) -> None:
        if worker.task is None:
            raise _did_not_start(worker)
        job.failures.append(Failure(worker.task, f"its worker process {worker.how_it_died()}"))
        self._dismiss(worker)

    def _dismiss(self, worker: Worker) -> None:
        self._workers.remove(worker)
        worker.end(0)

    def _end(self, seconds: float) -> None:
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.end(seconds)


def _did_not_start(worker: Worker) -> ShardError:
    return ShardError(
        f"A worker process could not start (it {worker.how_it_died()}): a script that builds with "
        "several workers needs 'if __name__ == \"__main__\":' around its work."
    )
