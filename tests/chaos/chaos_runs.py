"""Starting, killing and resuming runs of the chain, and what must hold afterwards."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from chaos_driver import Make, chain, every_shard

from bindbench.engine.local import LocalEngine
from bindbench.storage.manifest import DamageError

DRIVER = Path(__file__).with_name("chaos_driver.py")
Files = Callable[[], dict[str, bytes]]


def start(
    root: str, log: Path, workers: int = 1, engine: str = "local", seed: int = 0, gate: str = ""
) -> subprocess.Popen[str]:
    """Start a run in a process of its own."""
    values = (root, log, workers, engine, seed, gate)
    command = [sys.executable, str(DRIVER), *map(str, values)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def lines(log: Path) -> list[tuple[int, str]]:
    """Return the process and the shard of each line of a log."""
    text = log.read_text() if log.exists() else ""
    pairs = [line.split() for line in text.split("\n")[:-1]]
    return [(int(pid), shard) for pid, shard in pairs]


def wait_until(condition: Callable[[], bool], seconds: float = 120) -> None:
    """Wait for something that must happen."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.002)


def kill_somewhere(
    root: str, log: Path, draw: random.Random, victim: str, workers: int, engine: str = "local"
) -> None:
    """Run the chain and kill the driver, or the process of a shard, at a random moment."""
    run = start(root, log, workers, engine)
    moment = draw.randrange(1, len(every_shard()))
    wait_until(lambda: len(lines(log)) >= moment or run.poll() is not None)
    time.sleep(draw.uniform(0, 0.03))
    pid = run.pid if victim == "driver" else lines(log)[-1][0]
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        assert run.wait() == 0  # it was faster
    run.communicate()
    for worker in {pid for pid, _ in lines(log)}:
        wait_until(lambda worker=worker: not is_running(worker))


def is_running(pid: int) -> bool:
    """Whether a process still computes."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def resume(root: str, log: Path) -> None:
    """Run the chain to its end in this process; a damaged manifest is repaired, as it says."""
    make = Make(log, None)
    try:
        chain(root, LocalEngine(1), make)
    except DamageError:
        chain(root, LocalEngine(1), make, repair=True)


def data_of(found: dict[str, bytes]) -> dict[str, bytes]:
    """Leave out times and hosts, and the scratch that a killed process left."""
    return {
        name: data
        for name, data in found.items()
        if not name.endswith(".run.json") and "/.tmp/" not in name
    }


def folder_files(root: Path) -> dict[str, bytes]:
    """Return all files of a folder."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file()
    }


def finished(found: dict[str, bytes], right: dict[str, bytes]) -> set[str]:
    """Return the shards that stand in a store just as they must."""
    parts = {n: n.split("/") for n in found if n.endswith(".parquet") and found[n] == right.get(n)}
    return {f"{asset}/{part}/{int(file[5:10])}" for _, asset, part, _, file in parts.values()}


def assert_resumes(root: str, files: Files, right: dict[str, bytes], log: Path) -> None:
    """Resume a killed run: the right bytes, nothing computed twice, nothing lost."""
    before = finished(files(), right)
    resume(root, log)
    computed = [shard for _, shard in lines(log)]
    assert len(computed) == len(set(computed)), "a shard was computed twice"
    assert not before & set(computed), "a finished shard was computed again"
    assert before | set(computed) == every_shard()
    assert data_of(files()) == right
    again = log.with_name("again")
    resume(root, again)
    assert lines(again) == []
