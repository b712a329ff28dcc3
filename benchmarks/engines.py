"""How much two workers speed up a stage that computes: local processes, and Ray actors.

    python benchmarks/engines.py [--shards 12] [--repeats 5] [--engines local ray]

The stage is the ray tracer's: every shard renders some images. Workers are started, and have loaded
what they need, before the clock starts. One worker and two take turns; what is printed is the
median of each and their ratio. Wanted are at least 1.4 times the throughput, which needs two cores
that nothing else uses.
"""

import argparse
import os
import statistics
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

from rendered_shards import IMAGES, render, shards

from bindbench.engine.base import Demand, Engine
from bindbench.engine.choice import open_engine
from bindbench.models.base import ImageRequest

WANTED = 1.4


def seconds(engine: Engine, tasks: list[list[ImageRequest]]) -> float:
    """Return how long an engine takes for the tasks."""
    done: list[int] = []
    started = time.perf_counter()
    engine.map(render, tasks, lambda index, count: done.append(count))
    assert sum(done) == len(tasks) * IMAGES
    return time.perf_counter() - started


def compare(name: str, tasks: list[list[ImageRequest]], repeats: int) -> float:
    """Return how many times the throughput of one worker two of them reach."""
    pair = open_engine(2, name)
    single = pair.holding(Demand("generator", lone=True, gpus=0))  # this process, or one actor
    engines = {1: single, 2: pair}
    taken: dict[int, list[float]] = {workers: [] for workers in engines}
    for engine in engines.values():
        seconds(engine, tasks[:4])
    for _ in range(repeats):
        for workers, engine in engines.items():
            taken[workers].append(seconds(engine, tasks))
    pair.close()
    one, two = (statistics.median(taken[workers]) for workers in (1, 2))
    images = len(tasks) * IMAGES
    print(
        f"{name}: one worker {images / one:.2f} images/s, two {images / two:.2f} images/s: "
        f"{one / two:.2f} times (median of {repeats}; wanted {WANTED})"
    )
    return one / two


def main() -> None:
    """Compare the engines that are asked for."""
    parser = argparse.ArgumentParser(description="Throughput of two workers against one.")
    parser.add_argument("--shards", type=int, default=12)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--engines", nargs="+", default=["local", "ray"])
    options = parser.parse_args()
    tasks = shards(options.shards)
    for name in options.engines:
        compare(name, tasks, options.repeats)


if __name__ == "__main__":
    main()
