"""A small asset that worker processes can compute, counting the calls in a side file."""

import io
import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from PIL import Image

from bindbench.engine.local import LocalEngine
from bindbench.errors import UserError
from bindbench.storage.datasets import Shard, build
from bindbench.storage.schema import IMAGE
from bindbench.storage.store import Store

SCHEMA = pa.schema(
    [("index", pa.int64()), ("caption", pa.string()), ("image", IMAGE), ("seed", pa.int64())]
)
ROWS = 3


def pixels(index):
    """The picture of a row, worked out from its index alone."""
    return np.random.default_rng(index).integers(0, 256, (5, 4, 3), dtype=np.uint8)


def png(array):
    buffer = io.BytesIO()
    Image.fromarray(array).save(buffer, format="PNG")
    return buffer.getvalue()


def rows(shard):
    return [
        {
            "index": i,
            "caption": f"caption {i}",
            "image": {"bytes": png(pixels(i)), "path": f"{i}.png"},
            "seed": i * i,
        }
        for i in range(shard * ROWS, (shard + 1) * ROWS)
    ]


@dataclass(frozen=True)
class MakeRows:
    """Makes a shard of three rows; logs its process and task before it starts."""

    log: Path | None = None
    seconds: float = 0.0
    hold: int | None = None  # shards from here on never end: time to kill the build
    fail: tuple[int, ...] = ()
    change: str = ""

    def __call__(self, task):
        if self.log is not None:
            with self.log.open("a") as file:
                file.write(f"{os.getpid()} {task}\n")
        time.sleep(60 if self.hold is not None and task >= self.hold else self.seconds)
        if task in self.fail:
            raise UserError(f"Shard {task} can't be made.")
        made = rows(task)
        made[0]["caption"] += self.change
        return pa.Table.from_pylist(made, schema=SCHEMA)


def make(root, count=4, workers=1, settings=None, salt="", **options):
    """Build ``count`` shards of the sample asset."""
    names = ("on_progress", "repair", "summarize", "make_current")
    rest = {name: options.pop(name) for name in names if name in options}
    engine = LocalEngine(workers)
    try:
        return build(
            Store(root, "suite"),
            "images",
            "color-n2",
            schema=SCHEMA,
            settings={"seed": 1} if settings is None else settings,
            shards=[Shard(f"{salt}{i:04x}", i) for i in range(count)],
            function=MakeRows(**options),
            engine=engine,
            **rest,
        )
    finally:
        engine.close()


def calls(log):
    """Return the tasks that were computed, in order."""
    return [int(line.split()[1]) for line in log.read_text().splitlines()] if log.exists() else []


def folder_bytes(artifact):
    return {path.name: path.read_bytes() for path in artifact.path.iterdir()}
