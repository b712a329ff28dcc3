"""Runs of processes that were killed: they must not keep the GPU pool from later runs."""

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dagster import DagsterInstance

PROCESS_TAG = "bindbench/process"


def this_process() -> str:
    """Return what names this process: host, number and start."""
    return _mark(os.getpid())


def _mark(pid: int) -> str:
    """Return the name of a process; without its start where the system does not tell it."""
    try:
        # The 20th field after the command's name, which may hold blanks.
        start = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
    except OSError:
        start = ""
    return f"{socket.gethostname()}:{pid}:{start}"


def is_alive(mark: str) -> bool:
    """Whether the process of a name still runs; those of other hosts may."""
    host, pid, _ = mark.rsplit(":", 2)
    if host != socket.gethostname():
        return True
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return _mark(int(pid)) == mark


def release_dead_runs(instance: "DagsterInstance") -> None:
    """Fail the runs whose process is gone, and free the pool slots that they hold."""
    from dagster import DagsterRunStatus, RunsFilter

    running = [DagsterRunStatus.STARTED, DagsterRunStatus.STARTING, DagsterRunStatus.NOT_STARTED]
    for run in instance.get_runs(RunsFilter(statuses=running)):
        mark = run.tags.get(PROCESS_TAG)
        if mark and not is_alive(mark):
            instance.report_run_failed(run, "The process that executed this run was killed.")
            instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
