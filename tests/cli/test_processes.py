"""A killed run must not keep the pool from later ones."""

import os
import subprocess
import sys

from dagster import DagsterInstance, DagsterRunStatus
from dagster._core.test_utils import create_run_for_test

from bindbench.cli.processes import PROCESS_TAG, is_alive, release_dead_runs, this_process


def test_a_process_is_known_while_it_lives():
    assert is_alive(this_process())
    host = this_process().split(":")[0]
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert not is_alive(f"{host}:{ended.pid}:1")
    assert not is_alive(f"{host}:{os.getpid()}:1")  # the number was given to another process
    assert is_alive(f"another-{host}:{ended.pid}:1")


def test_runs_of_dead_processes_fail_and_others_stay():
    host = this_process().split(":")[0]
    with DagsterInstance.ephemeral() as instance:
        dead = create_run_for_test(instance, "a", tags={PROCESS_TAG: f"{host}:{os.getpid()}:1"})
        live = create_run_for_test(instance, "a", tags={PROCESS_TAG: this_process()})
        release_dead_runs(instance)
        assert instance.get_run_by_id(dead.run_id).status == DagsterRunStatus.FAILURE
        assert instance.get_run_by_id(live.run_id).status == DagsterRunStatus.NOT_STARTED
