"""A store with the artifacts that a fine-tuning reads, made without rendering: colored noise."""

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from PIL import Image as PILImage

from bindbench.captions.minimal import write_minimal
from bindbench.concepts import Concept, sample_concepts
from bindbench.engine.local import LocalEngine
from bindbench.pipeline import captions, images, negatives, paired_set
from bindbench.pipeline.base import Context, suite_lexicon, table
from bindbench.semantics import text_semantics
from bindbench.storage.datasets import Shard
from bindbench.storage.store import Store
from bindbench.suite import Suite, load_suite
from bindbench.tasks import get_benchmark


@dataclass(frozen=True)
class Rows:
    """Makes the one shard of an artifact from rows that are there."""

    schema: pa.Schema

    def __call__(self, task: tuple) -> pa.Table:
        return table([dict(row) for row in task], self.schema)


def write_suite(folder: Path, counts: dict[str, int]) -> Path:
    file = folder / "tuned.yaml"
    lines = "".join(f"  {key}: {count}\n" for key, count in counts.items())
    scorers = "overrides:\n  scorers:\n  - model: check:random\n"
    file.write_text(f"name: tuned\nbenchmarks: [{', '.join(counts)}]\nconcepts:\n{lines}{scorers}")
    return file


def fill(folder: Path, counts: dict[str, int]) -> Context:
    """Return the context of a suite whose benchmarks are there, so many concepts of each."""
    suite = load_suite(str(write_suite(folder, counts)))
    context = Context(suite, Store(str(folder / "store"), suite.name), LocalEngine(1))
    for key, count in counts.items():
        _fill(context, suite, key, count)
    return context


def _fill(context: Context, suite: Suite, key: str, count: int) -> None:
    lexicon, benchmark = suite_lexicon(suite), get_benchmark(key)
    tables: dict[str, list[dict]] = {name: [] for name in ("negatives", "images", "paired_set")}
    for sampled in sample_concepts(benchmark, lexicon, count, 0):
        concept = sampled.concept
        base = {"index": sampled.index, "concept_id": concept.id, "scene_id": sampled.scene_id}
        words = {"objects": concept.objects, "labels": concept.labels}
        tables["paired_set"].append(base | words)
        for number, track in enumerate(("minimal", "contextual")):
            row = base | {"track": track}
            tables["negatives"].append(row | words | _candidates(concept, lexicon))
            seed = [sampled.index, number]
            tables["images"].append(row | {"image": {"bytes": _noise(seed), "path": None}})
    schemas = {
        "negatives": negatives.SCHEMA,
        "paired_set": paired_set.SCHEMA,
        "images": images.SCHEMA,
    }
    for name, schema in schemas.items():
        whole = [{f: row.get(f) for f in schema.names} for row in tables[name]]
        shard = Shard(f"{name}-{key}-{count}", tuple(whole))
        context.build(name, key, schema, {"count": count}, [shard], Rows(schema))


def _candidates(concept: Concept, lexicon) -> dict:
    template = write_minimal(concept, lexicon)
    semantics, reasons = text_semantics(concept, lexicon)
    n = concept.n
    return {
        "order": list(range(n)),
        "caption": template.text,
        "slots": captions.slot_rows(template),
        "n_candidates": len(semantics),
        "text_semantics": semantics.tobytes(),
        "semantics": semantics.tobytes(),
        "reasons": reasons.tobytes(),
        "centers": [[0.5, 0.5]] * n,
        "areas": [0.1] * n,
    }


def _noise(seed: list[int]) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (32, 32, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    PILImage.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()
