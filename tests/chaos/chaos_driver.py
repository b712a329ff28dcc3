"""A chain of small assets that costs nothing; also a script that a test can kill.

``python chaos_driver.py ROOT LOG WORKERS ENGINE SEED GATE``
"""

import importlib
import logging
import os
import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from bindbench.concepts import content_id
from bindbench.engine.base import Engine
from bindbench.engine.choice import open_engine
from bindbench.storage.datasets import Shard, build
from bindbench.storage.store import Artifact, Store

SCHEMA = pa.schema([("index", pa.int64()), ("data", pa.binary())])
ASSETS, PARTITIONS, SHARDS = ("images", "validated", "scores"), ("color-n2", "position-n2"), 6
BYTES = 20_000


@dataclass(frozen=True)
class Task:
    """One shard, and what it is made from."""

    name: str
    index: int
    seed: int
    source: Artifact | None


@dataclass(frozen=True)
class Make:
    """Computes a shard; logs its process and the shard before it starts."""

    log: Path
    gate: Path | None  # where there is one: no shard but the first ends before it exists

    def __call__(self, task: Task) -> pa.Table:
        with self.log.open("a") as file:
            file.write(f"{os.getpid()} {task.name}/{task.index}\n")
        time.sleep(0.01)
        while self.gate and task.index and not self.gate.exists():
            time.sleep(0.01)
        key = content_id([task.name, task.index, task.seed])
        data = random.Random(key).randbytes(BYTES)
        if task.source:
            (row,) = task.source.read_shard(task.index).to_pylist()
            data = bytes(a ^ b for a, b in zip(data, row["data"], strict=True))
        return pa.Table.from_pylist([{"index": task.index, "data": data}], schema=SCHEMA)


def chain(
    root: str, engine: Engine, make: Make, seed: int = 0, repair: bool = False
) -> list[Artifact]:
    """Build every asset of every partition, each from the one before it."""
    store, built = Store(root, "suite"), []
    for partition in PARTITIONS:
        source = None
        for asset in ASSETS:
            name = f"{asset}/{partition}"
            shards = [
                Shard(content_id([name, i, seed]), Task(name, i, seed, source))
                for i in range(SHARDS)
            ]
            source = build(
                store,
                asset,
                partition,
                schema=SCHEMA,
                settings={"seed": seed, "inputs": {"source": source.digest} if source else {}},
                shards=shards,
                function=make,
                engine=engine,
                repair=repair,
            )
            built.append(source)
    return built


def every_shard() -> set[str]:
    """Return the names of all shards, as the log has them."""
    return {f"{a}/{p}/{i}" for a in ASSETS for p in PARTITIONS for i in range(SHARDS)}


if __name__ == "__main__":
    root, log, workers, name, seed, gate = sys.argv[1:]
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    opened = open_engine(int(workers), name)
    try:
        # By its name: other processes find nothing in this one's __main__.
        this = importlib.import_module("chaos_driver")
        this.chain(root, opened, this.Make(Path(log), Path(gate) if gate else None), int(seed))
    finally:
        opened.close()
