"""A small suite, built once in a process and copied for each module that changes it."""

import functools
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import yaml

from bindbench.engine.local import LocalEngine
from bindbench.pipeline import spine
from bindbench.pipeline.base import Context
from bindbench.storage.store import Store
from bindbench.suite import Suite, load_suite

KEY, UNBUILT = "color-n2", "position-n2"
SCORERS = [{"model": "check:random"}, {"model": "check:oracle", "batch_size": 5}]


@dataclass(frozen=True)
class SmallStore:
    """A suite's file and its store: one benchmark is built, the other is not."""

    folder: Path

    @property
    def file(self) -> str:
        return str(self.folder / "small.yaml")

    @property
    def root(self) -> str:
        return str(self.folder / "store")

    @property
    def suite(self) -> Suite:
        return load_suite(self.file)

    def context(self, suite: Suite | None = None) -> Context:
        suite = suite or self.suite
        return Context(suite, Store(self.root, suite.name), LocalEngine(1))


@functools.cache
def _built() -> tempfile.TemporaryDirectory:
    home = tempfile.TemporaryDirectory(prefix="small-store-")
    store = SmallStore(Path(home.name))
    fields = {
        "name": "small",
        "benchmarks": [KEY, UNBUILT],
        "concepts": 6,
        "overrides": {
            "shard_size": 3,
            "survival": {n: {"low": 0.0} for n in ("captions", "presence", "background", "label")},
            "generator": {"options": {"samples": 4, "faults": {}}},
            "scorers": SCORERS,
        },
    }
    Path(store.file).write_text(yaml.safe_dump(fields))
    spine.build_vocabulary(store.context())
    spine.build_benchmark(store.context(), KEY)
    return home


def small_store(folder: Path) -> SmallStore:
    """Return a copy of the suite and its store; nothing is scored yet."""
    shutil.copytree(_built().name, folder, dirs_exist_ok=True)
    return SmallStore(folder)
