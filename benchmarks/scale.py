"""Color with three objects through every asset, with models that take no time.

    python benchmarks/scale.py [--concepts 10000 100000] [--workers 2]

Each size runs in a process of its own and prints, for every stage, its wall time, the processor
time of the driver and its workers (which says more on a machine that others use as well), its rate
and the most memory that they held together (proportional set size, sampled twice a second). At the
end stands the time of the last size divided by that of the first.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from null_models import register

from bindbench.engine.local import LocalEngine
from bindbench.pipeline import leaderboard, model_scores, negatives, report, tables
from bindbench.pipeline.base import Context
from bindbench.pipeline.spine import BENCHMARK_STAGES, build_vocabulary
from bindbench.storage.store import Artifact, Store
from bindbench.suite import Suite, resolve_suite

register()  # here, so that worker processes know the stand-ins as well

KEY = "color-n3"
SHOWN = (tables.NAME, report.NAME)  # what is made of the leaderboard, and not in the totals
ROLES = ("writer", "generator", "detector", "judge")
NULL = {"model": "null:null", "batch_size": 64}
MIB = 2**20


def suite_of(concepts: int, shard_size: int) -> Suite:
    """Return the suite that is built: one benchmark, every role played by a stand-in."""
    overrides = dict.fromkeys(ROLES, NULL) | {
        "scorers": [NULL],
        "shard_size": shard_size,
        "survival": {},
    }
    fields = {"name": "scale", "benchmarks": [KEY], "concepts": concepts, "overrides": overrides}
    return resolve_suite(fields, "benchmarks/scale.py")


def stages() -> dict[str, Callable[[Context], Artifact]]:
    """Return what is timed, by name, in its order."""
    slug = "null-null"
    named: dict[str, Callable[[Context], Artifact]] = {
        "vocabulary": lambda context: build_vocabulary(context)[0]
    }
    for stage in BENCHMARK_STAGES:
        named[stage.NAME] = lambda context, stage=stage: stage.build(context, KEY)
    named[model_scores.NAME] = lambda context: model_scores.build_named(context, KEY, slug)
    named[leaderboard.NAME] = leaderboard.build
    named[tables.NAME] = tables.build
    named[report.NAME] = report.build
    return named


class Memory:
    """Watches how much memory this process and its children hold together."""

    def __init__(self) -> None:
        self._most = 0
        threading.Thread(target=self._watch, daemon=True).start()

    def take(self) -> int:
        """Return the most bytes since the last call."""
        self._look()
        most, self._most = self._most, 0
        return most

    def _watch(self) -> None:
        while True:
            self._look()
            time.sleep(0.5)

    def _look(self) -> None:
        self._most = max(self._most, sum(map(_held, _family(os.getpid()))))


def _family(pid: int) -> list[int]:
    """Return a process and all that descend from it."""
    found = [pid]
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += _family(int(child))
    return found


def processor_seconds() -> float:
    """Return the processor time that this process and its children have used so far."""
    ticks = 0
    for pid in _family(os.getpid()):
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])  # in user mode and in the kernel
    return ticks / os.sysconf("SC_CLK_TCK")


def _held(pid: int) -> int:
    """Return the bytes that a process holds; what it shares with others is counted in parts."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def measure(concepts: int, workers: int, shard_size: int, root: Path) -> dict[str, Any]:
    """Build the suite and return what each stage took."""
    engine, memory = LocalEngine(workers), Memory()
    context = Context(suite_of(concepts, shard_size), Store(root, "scale"), engine)
    rows = []
    for name, build in stages().items():
        started, used = time.perf_counter(), processor_seconds()
        artifact = build(context)
        rows.append(
            {
                "stage": name,
                "seconds": time.perf_counter() - started,
                "processor": processor_seconds() - used,
                "bytes": sum(shard.bytes for shard in artifact.shards),
                "memory": memory.take(),
            }
        )
        print(_line(rows[-1], concepts), file=sys.stderr, flush=True)
    engine.close()
    return {"concepts": concepts, "stages": rows}


def _line(row: dict[str, Any], concepts: int) -> str:
    seconds = row["seconds"]
    return (
        f"{row['stage']:14} {seconds:8.1f} s {row['processor']:8.1f} s of processors "
        f"{concepts / seconds:9.0f} concepts/s "
        f"{row['memory'] / MIB:7.0f} MiB held {row['bytes'] / 1e6:8.1f} MB stored"
    )


def run_apart(concepts: int, options: argparse.Namespace) -> dict[str, Any]:
    """Measure one size in a process and a store of its own."""
    with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
        command = [sys.executable, __file__, "--one", folder, "--concepts", str(concepts)]
        command += ["--workers", str(options.workers), "--shard-size", str(options.shard_size)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def summary(found: dict[str, Any]) -> str:
    """Return the totals of one size, up to the leaderboard."""
    rows = [row for row in found["stages"] if row["stage"] not in SHOWN]
    candidates = next(row for row in rows if row["stage"] == negatives.NAME)
    return (
        f"{found['concepts']} concepts to the leaderboard: {total(found, 'seconds'):.0f} s "
        f"({total(found, 'processor'):.0f} s of processors), "
        f"{max(row['memory'] for row in rows) / MIB:.0f} MiB at most, candidates "
        f"{candidates['bytes'] / 1e6:.1f} MB"
    )


def total(found: dict[str, Any], column: str) -> float:
    """Return the sum of a column up to the leaderboard."""
    return sum(row[column] for row in found["stages"] if row["stage"] not in SHOWN)


def main() -> None:
    """Measure every size and compare the last with the first."""
    parser = argparse.ArgumentParser(description="Time of a large benchmark without its models.")
    parser.add_argument("--concepts", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--shard-size", type=int, default=500, help="concepts in a shard")
    parser.add_argument("--scratch", help="folder for the stores, removed afterwards")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        (concepts,) = options.concepts
        size = options.shard_size
        print(json.dumps(measure(concepts, options.workers, size, options.one)))
        return
    found = []
    for concepts in options.concepts:
        found.append(run_apart(concepts, options))
        print(summary(found[-1]), flush=True)
    if len(found) > 1:
        for column, unit in (("seconds", "time"), ("processor", "processor time")):
            ratio = total(found[-1], column) / total(found[0], column)
            sizes = [part["concepts"] for part in (found[-1], found[0])]
            print(f"{sizes[0]} take {ratio:.1f} times the {unit} of {sizes[1]}")


if __name__ == "__main__":
    main()
