"""A build that is killed, at any moment, loses only the shards in work."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from storage_samples import calls, folder_bytes, make

DRIVER = Path(__file__).with_name("build_driver.py")
SHARDS = 12


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    return make(tmp_path_factory.mktemp("undisturbed"), SHARDS)


def start(root, log, workers, hold=SHARDS):
    command = [sys.executable, str(DRIVER), str(root), str(log), str(workers), str(hold)]
    return subprocess.Popen(command)


def kill_at(moment, root, log, workers):
    """Start a build, and kill it when ``moment`` shards are finished and the next are in work."""
    build = start(root, log, workers, moment)
    in_work = min(workers, SHARDS - moment)
    wait_until(lambda: len(calls(log)) == moment + in_work and len(finished(root)) == moment)
    build.kill()
    build.wait()
    pids = {int(line.split()[0]) for line in log.read_text().splitlines()}
    wait_until(lambda: not any(map(is_running, pids)))


def finished(root):
    """Return the indices of the shards that stand in the store."""
    return {int(path.stem[-5:]) for path in root.rglob("part-*.parquet")}


def is_running(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_until(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.005)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("moment", [0, 5, 11])
def test_a_killed_build_resumes(tmp_path, undisturbed, moment, workers):
    root, log, second_log = tmp_path / "store", tmp_path / "log", tmp_path / "log2"
    kill_at(moment, root, log, workers)
    assert finished(root) == set(range(moment))
    assert not list(root.rglob("current"))

    resumed = make(root, SHARDS, workers, log=second_log)
    assert sorted(calls(second_log)) == list(range(moment, SHARDS))
    assert resumed.shards == undisturbed.shards
    assert folder_bytes(resumed) == folder_bytes(undisturbed)
    assert resumed.manifest_path.read_bytes() == undisturbed.manifest_path.read_bytes()
    assert json.loads(resumed.run_path.read_text())["shards_reused"] == moment


def test_a_killed_build_serves_a_larger_one(tmp_path):
    root, log, second_log = tmp_path / "store", tmp_path / "log", tmp_path / "log2"
    kill_at(3, root, log, 1)
    make(root, SHARDS + 1, log=second_log).verify()
    assert calls(second_log) == list(range(3, SHARDS + 1))


def test_what_a_killed_write_left_is_ignored_then_removed(tmp_path):
    artifact = make(tmp_path, 1)
    scratch = artifact.path.parent / ".tmp"
    young, old = scratch / "young", scratch / "old"
    young.write_bytes(b"half a sh")
    old.write_bytes(b"half a sh")
    two_days_ago = time.time() - 2 * 24 * 3600
    os.utime(old, (two_days_ago, two_days_ago))
    make(tmp_path, 2).verify()
    assert young.exists()  # may be another process's, in work
    assert not old.exists()


def test_two_processes_at_once(tmp_path, undisturbed):
    root = tmp_path / "store"
    builds = [start(root, tmp_path / f"log{i}", i) for i in (1, 2)]
    assert [build.wait(timeout=60) for build in builds] == [0, 0]
    artifact = make(root, SHARDS)
    artifact.verify()
    assert folder_bytes(artifact) == folder_bytes(undisturbed)
