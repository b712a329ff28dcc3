"""Functions that worker processes can import."""

import os
import signal
import sys
import time

from bindbench.errors import UserError


def square(task):
    return task * task


def process_id(task):
    time.sleep(0.05)  # so that every worker gets some
    return os.getpid()


def threads(task):
    return {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}


def user_error_on_odd(task):
    if task % 2:
        raise UserError(f"Task {task} is odd.")
    return task


def zero_division_on_two(task):
    return 1 / (task - 2)


def exit_on_two(task):
    if task == 2:
        sys.exit(7)
    return task


def killed_on_two(task):
    if task == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.05)
    return task


class Unreadable:
    """Fails when the worker reads it."""

    def __reduce__(self):
        return int, ("no number",)


def write_pid_and_sleep(path):
    path.write_text(str(os.getpid()))
    time.sleep(60)


def killed_the_first_time(path):
    """Die at the first try, as a worker whose node is lost; the file says that it was tried."""
    if not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return path.name


def visible_gpus(meeting):
    """Return the GPUs that this process sees, when as many processes have come as are awaited."""
    folder, awaited = meeting
    (folder / str(os.getpid())).touch()
    end = time.monotonic() + 120
    while len(list(folder.iterdir())) < awaited and time.monotonic() < end:
        time.sleep(0.05)
    return os.getpid(), os.environ.get("CUDA_VISIBLE_DEVICES")
