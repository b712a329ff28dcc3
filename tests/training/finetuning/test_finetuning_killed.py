"""A fine-tuning that SIGKILL ends, as a user runs it, and that is run again."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from finetuning_samples import fill
from nano_folders import tiny_folder

pytestmark = pytest.mark.slow
LIMIT = 240  # seconds until a training has a state to go on from


@pytest.fixture(scope="module")
def command(tmp_path_factory) -> list[str]:
    """The command without its folder: two trainings of a tiny model, some steps each."""
    folder = tmp_path_factory.mktemp("killed")
    context = fill(folder, {"color-n2": 40})
    (folder / "clip").mkdir()
    model = tiny_folder(folder / "clip", "custom")
    line = (
        f"finetune --model open_clip:{model} --benchmark color-n2 --suite {folder}/tuned.yaml "
        f"--store {context.store.root} --seeds 1 --steps 40 --check-every 2 --patience 40 "
        "--batch 16 --rate 1e-3 --warm-up 4 --workers 1"
    )
    return [sys.executable, "-m", "bindbench.cli.main", *line.split()]


def test_a_run_that_is_killed_again_and_again_ends_with_the_same_bytes(command, tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    subprocess.run([*command, "--out", str(whole)], check=True, capture_output=True)
    for name in ("swap-seed0", "confusion-seed0"):
        _kill_within(command, killed, killed / name)
    subprocess.run([*command, "--out", str(killed)], check=True, capture_output=True)
    assert _files(killed) == _files(whole)


def _kill_within(command: list[str], out: Path, training: Path) -> None:
    """Run the command until a training has a state and no record, then kill all of it."""
    running = subprocess.Popen(
        [*command, "--out", str(out)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    end = time.monotonic() + LIMIT
    while not (training / "state.pt").is_file():
        assert running.poll() is None, "it ended before it was killed"
        assert time.monotonic() < end, "it has no state yet"
        time.sleep(0.01)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    assert not (training / "training.json").exists(), "it was killed too late"


def _files(folder: Path) -> dict[str, bytes]:
    """Return what a folder holds; the results name the folder itself."""
    return {
        str(path.relative_to(folder)): path.read_bytes().replace(str(folder).encode(), b"")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
