"""Byte-identical artifacts, whatever the number of workers and however often a run is killed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.slow
DRIVER = Path(__file__).parent / "spine_driver.py"
FIELDS = "{concepts: 8}"
MOMENTS = ("captions/position-n3", "images/color-n2", "validated/color-n2")


def start(root: Path, workers: int) -> subprocess.Popen[str]:
    command = [sys.executable, str(DRIVER), str(root), str(workers), FIELDS]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)


def finish(root: Path, workers: int) -> dict[str, str]:
    process = start(root, workers)
    out, _ = process.communicate()
    assert process.returncode == 0
    return yaml.safe_load(out)


def kill_after_first_part(root: Path, where: str) -> None:
    """Kill the whole run as soon as the artifact has a finished part and no manifest."""
    process = start(root, 2)
    deadline = time.monotonic() + 300
    while not list(root.glob(f"small/{where}/*/part-*.parquet")):
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    return finish(tmp_path_factory.mktemp("one"), 1)


def test_two_workers_give_the_same_bytes(undisturbed, tmp_path):
    assert finish(tmp_path, 2) == undisturbed


def test_kill_9_at_three_moments(undisturbed, tmp_path):
    for moment in MOMENTS:
        kill_after_first_part(tmp_path, moment)
    assert finish(tmp_path, 2) == undisturbed
    assert {name.split("/")[0] for name in undisturbed} >= {"images", "validated", "report"}
