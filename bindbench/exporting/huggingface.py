"""A folder for ``datasets.load_dataset``: a config for each benchmark, a split for each track.

Every row holds an image and all its candidates with their semantics, so that swap, Confusion,
strict and paper accuracy can be computed from it. Shard by shard: nothing is held in memory twice.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from bindbench.errors import UserError
from bindbench.evaluation import BuiltBenchmark
from bindbench.exporting.card import card
from bindbench.exporting.croissant import croissant
from bindbench.exporting.data_files import DataFile
from bindbench.exporting.items import Exported, Item, families_of, new_folder, shards
from bindbench.pipeline.base import strings, table
from bindbench.storage.schema import IMAGE, encode
from bindbench.tasks import TRACKS
from bindbench.text_files import write_text

SCHEMA = pa.schema(
    [
        ("id", pa.string()),  # concept and track
        ("concept_id", pa.string()),
        ("scene_id", pa.string()),  # the same for replicates: intervals are clustered by it
        ("image", IMAGE),
        ("caption", pa.string()),  # candidate 0
        ("objects", strings()),
        ("labels", strings()),
        # One entry for each candidate, the right caption first.
        ("candidates", strings()),
        ("semantics", strings()),  # true, false or undecided
        ("reasons", strings()),
        ("families", strings()),
    ]
)


def export(suite: Exported, out: Path) -> list[DataFile]:
    """Write the dataset, its card and its Croissant metadata; return the data files.

    Raises:
        UserError: the folder is not empty, or nothing was accepted.
    """
    with new_folder(out) as folder:
        return write_dataset(suite, folder)


def write_dataset(suite: Exported, folder: Path) -> list[DataFile]:
    """Write the dataset into a folder that is there."""
    files = [file for one in suite.benchmarks for file in _write_benchmark(one, folder)]
    if not files:
        raise UserError(f"No image of the suite {suite.suite.name} was accepted: nothing to write.")
    write_text(folder / "README.md", card(suite, files))
    write_text(folder / "croissant.json", croissant(suite, files))
    return files


def _write_benchmark(benchmark: BuiltBenchmark, folder: Path) -> Iterator[DataFile]:
    home = folder / "data" / benchmark.key
    home.mkdir(parents=True)
    for number, part in enumerate(shards(benchmark)):
        for track in TRACKS:
            if own := part[track]:
                rows = [_row(item) for item in own]
                data = encode(table(rows, SCHEMA), SCHEMA)
                path = home / f"{track}-{number:05d}.parquet"
                path.write_bytes(data)
                yield DataFile(
                    benchmark.key,
                    track,
                    path.relative_to(folder).as_posix(),
                    len(rows),
                    len(data),
                    hashlib.sha256(data).hexdigest(),
                    tuple(f for f in families_of(benchmark.key) if any(i.wrong(f) for i in own)),
                )


def _row(item: Item) -> dict[str, object]:
    names = ("concept_id", "scene_id", "caption", "objects", "labels")
    return {
        "id": item.key,
        **{name: item.row[name] for name in names},
        "image": {"bytes": item.image, "path": None},
        **item.columns(),
    }
