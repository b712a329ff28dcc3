"""The asset ``conme_images``: the images of a set, wherever from."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bindbench.candidates import candidate_space
from bindbench.captions.slots import Renderer
from bindbench.concepts import content_id
from bindbench.conme.settings import ConmeSet
from bindbench.conme.sources import (
    DatasetSource,
    Entry,
    folder_entries,
    record_of,
    sugarcrepe_entries,
)
from bindbench.errors import UserError
from bindbench.models.base import Image
from bindbench.pipeline import images, negatives
from bindbench.pipeline.base import Context, ShardInputs, batches, suite_lexicon, table
from bindbench.pipeline.conme_cells import set_of, settings_of
from bindbench.pipeline.images import decode_png
from bindbench.pipeline.negatives import template_of
from bindbench.pipeline.validated import concept_of
from bindbench.semantics import FALSE
from bindbench.storage.datasets import Shard
from bindbench.storage.schema import IMAGE
from bindbench.storage.store import Artifact
from bindbench.suite import Suite
from bindbench.tasks import get_benchmark

NAME = "conme_images"
CODE_VERSION = "2"
ITEM = pa.struct([("id", pa.string()), ("caption", pa.string()), ("negative", pa.string())])
SCHEMA = pa.schema(
    [
        ("image_id", pa.string()),
        ("file", pa.string()),
        ("caption", pa.string()),
        ("items", pa.list_(ITEM)),  # of the benchmark that the images come from
        ("image", IMAGE),
        ("truth", pa.string()),  # what was truly drawn, for the calibration alone; "": not known
    ]
)


def read_files(entries: tuple[Entry, ...]) -> pa.Table:
    """Return one row for each file."""
    return table([entry.record() for entry in entries], SCHEMA)


@dataclass(frozen=True)
class Slice:
    """Some images of a dataset."""

    source: DatasetSource
    start: int
    stop: int


def read_slice(task: Slice) -> pa.Table:
    """Return one row for each image of a slice."""
    return table(task.source.records(task.start, task.stop), SCHEMA)


@dataclass(frozen=True)
class Picks:
    """Some accepted images of a benchmark: the shard and the concept of each."""

    negatives: Artifact
    images: Artifact
    picks: tuple[tuple[int, str], ...]


@dataclass(frozen=True)
class ReadValidated:
    """Takes accepted images from a benchmark, with the caption and one whose words are swapped."""

    suite: Suite
    key: str
    track: str

    def __call__(self, task: Picks) -> pa.Table:
        """Return one row for each pick."""
        found = []
        for shard, picks in groupby(task.picks, key=lambda pick: pick[0]):
            accepted, made = (self._rows(a, shard) for a in (task.negatives, task.images))
            found += [self._record(accepted[name], made[name]) for _, name in picks]
        return table(found, SCHEMA)

    def _rows(self, artifact: Artifact, shard: int) -> dict[str, dict[str, Any]]:
        rows = artifact.read_shard(shard).to_pylist()
        return {row["concept_id"]: row for row in rows if row["track"] == self.track}

    def _record(self, row: dict[str, Any], made: dict[str, Any]) -> dict[str, Any]:
        image_id = f"{self.key}-{row['concept_id']}-{self.track}"
        wrong = self._swapped(row)
        items = [(image_id, row["caption"], wrong)] if wrong else []
        data, file = made["image"]["bytes"], made["image"]["path"]
        return record_of(image_id, data, file, row["caption"], items, self._truth(row, made))

    def _truth(self, row: dict[str, Any], made: dict[str, Any]) -> str:
        """Return what was truly drawn, with the camera; "": the generator does not know."""
        from bindbench.conme.drawn import with_camera

        truth = json.loads(made["truth"])
        if truth is None:
            return ""
        concept, lexicon = concept_of(self.key, row), suite_lexicon(self.suite)
        found = with_camera(truth, concept, row["track"], made["seed"], lexicon)
        return json.dumps(found, sort_keys=True)

    def _swapped(self, row: dict[str, Any]) -> str:
        """Return the first caption with swapped words that is false of the image; "": none."""
        concept = concept_of(self.key, row)
        if len(concept.objects) < 2:
            return ""
        space = candidate_space(concept.task.axis, len(concept.objects))
        false = np.frombuffer(row["semantics"], np.int8) == FALSE
        places = np.flatnonzero(space.swap & false)
        if not len(places):
            return ""
        first = places[0]
        objects = tuple(concept.objects[k] for k in space.objects[first])
        labels = tuple(concept.labels[k] for k in space.labels[first])
        renderer = Renderer(template_of(row), concept, suite_lexicon(self.suite))
        return renderer.render(objects, labels)


def build(context: Context, name: str) -> Artifact:
    """Build the images of a set.

    Raises:
        UserError: the source is not there, holds no images, or lacks some.
    """
    chosen = set_of(context.suite, name)
    if chosen.source == "validated":
        return _from_benchmark(context, name, chosen)
    settings = {"code": CODE_VERSION, "source": chosen.source}
    size = settings_of(context.suite).shard_size
    if chosen.source == "dataset":
        return _from_dataset(context, name, chosen, settings, size)
    entries = _entries(chosen)
    shards = [
        Shard(content_id([settings, _identity(part)]), tuple(part))
        for part in batches(entries, size)
    ]
    return context.build(NAME, name, SCHEMA, settings, shards, read_files, _summary)


def _entries(chosen: ConmeSet) -> list[Entry]:
    if chosen.source == "folder":
        return folder_entries(Path(chosen.images), chosen.count)
    return sugarcrepe_entries(
        Path(chosen.annotations), chosen.partition, Path(chosen.images), chosen.count
    )


def _identity(entries: Sequence[Entry]) -> list[Any]:
    """Return what determines some images: their content and words, not their folder."""
    return [
        [e.image_id, e.caption, e.items, hashlib.sha256(Path(e.path).read_bytes()).hexdigest()]
        for e in entries
    ]


def _from_dataset(
    context: Context, name: str, chosen: ConmeSet, settings: dict[str, Any], size: int
) -> Artifact:
    source = DatasetSource(chosen.path, chosen.revision, chosen.split, chosen.column)
    count = len(source.open())
    count = min(count, chosen.count or count)
    if not count:
        raise UserError(f"The dataset {chosen.path} holds no images.")
    slices = [Slice(source, i, min(i + size, count)) for i in range(0, count, size)]
    shards = [Shard(content_id([settings, _content(one)]), one) for one in slices]
    return context.build(NAME, name, SCHEMA, settings, shards, read_slice, _summary)


def _content(part: Slice) -> list[str]:
    return [
        hashlib.sha256(row["image"]["bytes"]).hexdigest()
        for row in part.source.records(part.start, part.stop)
    ]


def _from_benchmark(context: Context, name: str, chosen: ConmeSet) -> Artifact:
    key, suite = chosen.benchmark, context.suite
    task = get_benchmark(key).task
    accepted, made = (context.current(module.NAME, key) for module in (negatives, images))
    picks = [
        (shard, row["concept_id"])
        for shard in range(len(accepted.shards))
        for row in accepted.read_shard(shard, ["concept_id", "track"]).to_pylist()
        if row["track"] == chosen.track
    ][: chosen.count]
    if not picks:
        raise UserError(
            f"Suite {suite.name}: conme.sets.{name}: the benchmark {key} has no accepted "
            f"{chosen.track} image: ask for more concepts."
        )
    settings = {
        "code": CODE_VERSION,
        "source": chosen.source,
        "benchmark": key,
        "track": chosen.track,
        "nouns": context.lexicon.nouns(task).digest,
        "labels": context.lexicon.labels(task).digest,
    }
    shards = []
    for part in batches(picks, settings_of(suite).shard_size):
        read = [
            [a.shards[i].sha256 for a in (accepted, made)] for i in sorted({p[0] for p in part})
        ]
        shards.append(Shard(content_id([settings, part, read]), Picks(accepted, made, tuple(part))))
    function = ReadValidated(suite, key, chosen.track)
    inputs = {a.asset: a.digest for a in (accepted, made)}
    return context.build(
        NAME, name, SCHEMA, settings | {"read": inputs}, shards, function, _summary
    )


def _summary(artifact: Artifact) -> dict[str, Any]:
    rows = artifact.read(["items", "truth"]).to_pylist()
    return {
        "images": len(rows),
        "source_items": sum(len(row["items"]) for row in rows),
        "with_truth": sum(bool(row["truth"]) for row in rows),
    }


def shown(task: ShardInputs) -> dict[str, Image]:
    """Return the pixels of a shard's images by their ids."""
    rows = task.rows(NAME, ["image_id", "image"])
    return {row["image_id"]: decode_png(row["image"]["bytes"]) for row in rows}
