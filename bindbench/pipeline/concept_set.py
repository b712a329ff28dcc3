"""The asset ``concept_set``: the scenes that a benchmark asks about."""

import functools
import json
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from bindbench.concepts import Sampled, content_id, sample_concepts
from bindbench.pipeline.base import Context, batches, strings, table
from bindbench.storage.datasets import Shard
from bindbench.storage.store import Artifact
from bindbench.suite import Suite
from bindbench.tasks import get_benchmark
from bindbench.vocabulary_files import load_lexicon

NAME = "concept_set"
TOP_UP = "top_up"  # the asset that says which concepts are added to match the prior
CODE_VERSION = "1"
SCHEMA = pa.schema(
    [
        ("index", pa.int64()),
        ("concept_id", pa.string()),
        ("scene_id", pa.string()),
        ("objects", strings()),
        ("labels", strings()),
        ("replicate", pa.int32()),
        ("counterpart", pa.string()),
    ]
)


Row = dict[str, Any]


@dataclass(frozen=True)
class SampleConcepts:
    """Samples the concepts of one shard, given as (start, stop), or takes the rows given."""

    suite: Suite
    key: str

    def __call__(self, task: tuple[int, int] | list[Row]) -> pa.Table:
        """Return the concepts ``start`` to ``stop`` of the benchmark's sequence, or the rows."""
        if isinstance(task, list):
            return table(task, SCHEMA)
        start, stop = task
        return table([row_of(s) for s in _sequence(self.suite, self.key)[start:stop]], SCHEMA)


def row_of(sampled: Sampled) -> Row:
    """Return a concept as a row of ``SCHEMA``."""
    return {
        "index": sampled.index,
        "concept_id": sampled.concept.id,
        "scene_id": sampled.scene_id,
        "objects": sampled.concept.objects,
        "labels": sampled.concept.labels,
        "replicate": sampled.replicate,
        "counterpart": sampled.counterpart,
    }


@functools.lru_cache(maxsize=2)
def _cached(
    key: str, count: int, seed: int, counterparts: bool, replicates: bool, sources: str
) -> list[Sampled]:
    lexicon = load_lexicon(json.loads(sources))
    return sample_concepts(
        get_benchmark(key), lexicon, count, seed, counterparts=counterparts, replicates=replicates
    )


def has_counterparts(suite: Suite, key: str) -> bool:
    """Whether each concept is followed by its counterpart; a single object has none."""
    return suite.counterparts and get_benchmark(key).n > 1


def _sequence(suite: Suite, key: str) -> list[Sampled]:
    """Return all concepts of a benchmark, sampled once in a process."""
    sources = suite.profile.vocabularies.model_dump_json()
    flags = (has_counterparts(suite, key), suite.replicates)
    return _cached(key, suite.concepts[key], suite.seed, *flags, sources)


def settings_of(context: Context, key: str) -> dict[str, Any]:
    """Return what decides a benchmark's concepts, beside their number."""
    suite, task = context.suite, get_benchmark(key).task
    return {
        "code": CODE_VERSION,
        "benchmark": key,
        "seed": suite.seed,
        "counterparts": has_counterparts(suite, key),
        "replicates": suite.replicates,
        "nouns": context.lexicon.nouns(task).digest,
        "labels": context.lexicon.labels(task).digest,
    }


def build(context: Context, key: str) -> Artifact:
    """Build the concepts of a benchmark; a longer sequence keeps the shards of a shorter one."""
    if context.suite.match_prior is None:
        return build_plain(context, key)
    top_up = context.current(TOP_UP, key)
    rounds: dict[int, list[Row]] = {}
    for row in top_up.read().to_pylist():
        rounds.setdefault(row.pop("round"), []).append(row)
    settings = settings_of(context, key)
    shards = _plain_shards(context, key, settings)
    for rows in rounds.values():
        shards += _added_shards(context, settings, rows)
    return _build(context, key, settings | {TOP_UP: top_up.digest}, shards)


def build_plain(context: Context, key: str) -> Artifact:
    """Build the concepts of a benchmark before any are added to match the prior."""
    settings = settings_of(context, key)
    return _build(context, key, settings, _plain_shards(context, key, settings))


def build_added(context: Context, key: str, number: int, rows: list[Row]) -> Artifact:
    """Build the concepts of one round of top-up alone, in the shards that all rounds will have."""
    settings = settings_of(context, key)
    return _build(
        context, key, settings | {"round": number}, _added_shards(context, settings, rows)
    )


def _build(context: Context, key: str, settings: dict[str, Any], shards: list[Shard]) -> Artifact:
    return context.build(NAME, key, SCHEMA, settings, shards, SampleConcepts(context.suite, key))


def _plain_shards(context: Context, key: str, settings: dict[str, Any]) -> list[Shard]:
    count, size = context.suite.concepts[key], context.suite.profile.shard_size
    ranges = [(start, min(start + size, count)) for start in range(0, count, size)]
    return [Shard(content_id([settings, r]), r) for r in ranges]


def _added_shards(context: Context, settings: dict[str, Any], rows: list[Row]) -> list[Shard]:
    """Return the shards of a round, which hold no row of another round."""
    parts = batches(rows, context.suite.profile.shard_size)
    return [Shard(content_id([settings, list(part)]), list(part)) for part in parts]
