"""What every format is written from: accepted images, their candidates, and a folder of its own."""

import contextlib
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bindbench.errors import UserError
from bindbench.evaluation import BuiltBenchmark, BuiltItem, open_benchmark
from bindbench.pipeline import negatives
from bindbench.semantics import FALSE, REASONS, SEMANTICS
from bindbench.storage.store import Store
from bindbench.suite import Suite
from bindbench.tasks import TRACKS, Track, get_benchmark

POSITIVE = "positive"  # the family of the right caption


@dataclass(frozen=True)
class Exported:
    """What is written: a suite, and those of its benchmarks that are built."""

    suite: Suite
    benchmarks: tuple[BuiltBenchmark, ...]

    @property
    def generator(self) -> str:
        """The model that made the images."""
        return self.suite.profile.generator.model


def open_suite(suite: Suite, store: Store, wanted: Sequence[str]) -> Exported:
    """Open the benchmarks of a suite that are asked for, or all that are built.

    Raises:
        UserError: one is not of the suite or not built, or none is.
    """
    for key in wanted:
        if get_benchmark(key).key not in suite.benchmarks:
            raise UserError(
                f"{key} is not in the suite {suite.name}: it has {', '.join(suite.benchmarks)}."
            )
    keys = dict.fromkeys(wanted) or [
        key for key in suite.benchmarks if store.current(negatives.NAME, key) is not None
    ]
    if not keys:
        raise UserError(
            f"Nothing of the suite {suite.name} is in {store.path}: build it with "
            f"'bindbench run --suite {suite.name}'."
        )
    return Exported(suite, tuple(open_benchmark(str(store.path), key) for key in keys))


@dataclass(frozen=True)
class Item:
    """An accepted image with all its candidates; candidate 0 is the right caption."""

    key: str  # concept and track
    row: dict[str, Any]  # of the asset ``negatives``
    image: bytes  # PNG
    texts: tuple[str, ...]
    semantics: np.ndarray  # int8 (texts,)
    families: tuple[str, ...]

    def wrong(self, family: str) -> list[int]:
        """Return the false candidates of a family, as strict accuracy counts them."""
        own = np.array([in_family(name, family) for name in self.families])
        return np.flatnonzero((self.semantics == FALSE) & own).tolist()

    def columns(self) -> dict[str, Any]:
        """Return the candidates as columns of text."""
        reasons = np.frombuffer(self.row["reasons"], np.int8)
        return {
            "candidates": list(self.texts),
            "semantics": [SEMANTICS[code] for code in self.semantics],
            "reasons": [REASONS[code] for code in reasons],
            "families": list(self.families),
        }


def families_of(key: str) -> tuple[str, ...]:
    """Return the families of wrong captions that a benchmark is scored by."""
    return ("vary_color", "vary_object") if get_benchmark(key).n == 1 else ("swap", "confusion")


def in_family(name: str, family: str) -> bool:
    """Whether a candidate of one family counts in another: every swap is in Confusion too."""
    return name == family or (family == "confusion" and name == "swap")


def shards(benchmark: BuiltBenchmark) -> Iterator[dict[Track, list[Item]]]:
    """Yield the items of each shard by track; one shard is held at a time."""
    for part in benchmark.shards():
        found: dict[Track, list[Item]] = {track: [] for track in TRACKS}
        for built in part:
            found[built.row["track"]].append(_item(built))
        yield found


def _item(built: BuiltItem) -> Item:
    asked = built.question
    families = tuple(name or POSITIVE for name in asked.families)
    return Item(asked.key, built.row, built.data, tuple(asked.texts), asked.truth, families)


@contextlib.contextmanager
def new_folder(out: Path) -> Iterator[Path]:
    """Give a folder to fill, which becomes ``out`` when all is written, and is removed otherwise.

    Raises:
        UserError: ``out`` is there and not empty, or can't be written.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UserError(f"{out} is not empty: give a new folder for the export.")
    out = out.absolute()
    part = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        part.mkdir(parents=True)
        yield part
        if out.exists():
            out.rmdir()
        part.rename(out)
    except OSError as error:
        raise UserError(f"{error.filename or out} can't be written: {error.strerror}.") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
