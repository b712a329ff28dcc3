"""The asset ``concept_set``: the scenes that a benchmark asks about."""

import functools
import json
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from bindbench.concepts import Sampled, content_id, sample_concepts
from bindbench.pipeline.base import Context, strings, table
from bindbench.storage.datasets import Shard
from bindbench.storage.store import Artifact
from bindbench.suite import Suite
from bindbench.tasks import get_benchmark
from bindbench.vocabulary_files import load_lexicon

NAME = "concept_set"
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


@dataclass(frozen=True)
class SampleConcepts:
    """Samples the concepts of one shard, given as (start, stop)."""

    suite: Suite
    key: str

    def __call__(self, task: tuple[int, int]) -> pa.Table:
        """Return the concepts ``start`` to ``stop`` of the benchmark's sequence."""
        start, stop = task
        return table([_row(s) for s in _sequence(self.suite, self.key)[start:stop]], SCHEMA)


def _row(sampled: Sampled) -> dict[str, Any]:
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


def build(context: Context, key: str) -> Artifact:
    """Build the concepts of a benchmark; a longer sequence keeps the shards of a shorter one."""
    suite, task = context.suite, get_benchmark(key).task
    settings = {
        "code": CODE_VERSION,
        "benchmark": key,
        "seed": suite.seed,
        "counterparts": has_counterparts(suite, key),
        "replicates": suite.replicates,
        "nouns": context.lexicon.nouns(task).digest,
        "labels": context.lexicon.labels(task).digest,
    }
    count, size = suite.concepts[key], suite.profile.shard_size
    ranges = [(start, min(start + size, count)) for start in range(0, count, size)]
    shards = [Shard(content_id([settings, r]), r) for r in ranges]
    return context.build(NAME, key, SCHEMA, settings, shards, SampleConcepts(suite, key))
