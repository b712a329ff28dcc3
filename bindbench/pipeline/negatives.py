"""The asset ``negatives``: each accepted image's candidates, as numbers with their semantics."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from bindbench.captions.minimal import write_minimal
from bindbench.captions.slots import Slot, Template
from bindbench.concepts import Concept
from bindbench.pipeline import captions, validated
from bindbench.pipeline.base import (
    Context,
    ShardInputs,
    aligned,
    seed_of,
    strings,
    suite_lexicon,
    table,
)
from bindbench.pipeline.concept_set import has_counterparts
from bindbench.semantics import settle, text_semantics
from bindbench.storage.store import Artifact
from bindbench.suite import Suite
from bindbench.tasks import get_benchmark

NAME = "negatives"
CODE_VERSION = "1"
SCHEMA = pa.schema(
    [
        ("index", pa.int64()),
        ("concept_id", pa.string()),
        ("scene_id", pa.string()),
        ("track", pa.string()),
        ("objects", strings()),
        ("labels", strings()),
        ("order", pa.list_(pa.int32())),
        ("caption", pa.string()),
        ("slots", captions.SLOTS),
        ("n_candidates", pa.int32()),
        ("text_semantics", pa.binary()),
        ("semantics", pa.binary()),
        ("reasons", pa.binary()),
        ("centers", pa.list_(pa.list_(pa.float32()))),
        ("areas", pa.list_(pa.float32())),
    ]
)


@dataclass(frozen=True)
class MakeNegatives:
    """Enumerates and labels the candidates of the accepted images of a shard."""

    suite: Suite
    key: str

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return one row for each accepted image."""
        rows = [row for row in task.rows(validated.NAME) if row["accepted"]]
        return table([self._row(row) for row in rows], SCHEMA)

    def _row(self, row: dict[str, Any]) -> dict[str, Any]:
        lexicon = suite_lexicon(self.suite)
        order = self.order(row)
        concept = reordered(validated.concept_of(self.key, row), order)
        template = template_of(row)
        if order != sorted(order):
            template = write_minimal(concept, lexicon)
        centers, areas = geometry(row, order)
        by_text, text_reasons = text_semantics(concept, lexicon)
        settled, reasons = settle(concept, by_text, text_reasons, centers, areas, lexicon)
        return {
            **{name: row[name] for name in ("index", "concept_id", "scene_id", "track")},
            "objects": concept.objects,
            "labels": concept.labels,
            "order": order,
            "caption": template.text,
            "slots": captions.slot_rows(template),
            "n_candidates": len(settled),
            "text_semantics": by_text.astype(np.int8).tobytes(),
            "semantics": settled.astype(np.int8).tobytes(),
            "reasons": reasons.astype(np.int8).tobytes(),
            "centers": centers.tolist(),
            "areas": areas.tolist(),
        }

    def order(self, row: dict[str, Any]) -> list[int]:
        """Return the clause order of the scored caption, as positions in the concept.

        An image generator tends to draw in the order of its prompt; a scored caption of an
        order of its own keeps that order from giving the answer away.
        """
        n = len(row["objects"])
        axis = get_benchmark(self.key).task.axis
        if (
            not self.suite.profile.shuffle_clauses
            or row["track"] != "minimal"
            or axis != "attribute"
        ):
            return list(range(n))
        # Counterparts share their order, so that each one's caption is a candidate of the other.
        item = row["index"] // 2 if has_counterparts(self.suite, self.key) else row["concept_id"]
        seed = seed_of(self.suite.seed, "clauses", item)
        return np.random.default_rng(seed).permutation(n).tolist()


def reordered(concept: Concept, order: list[int]) -> Concept:
    """Return an attribute concept with its pairs in another order of mention."""
    if order == sorted(order):
        return concept
    return Concept(
        concept.task_name,
        tuple(concept.objects[i] for i in order),
        tuple(concept.labels[i] for i in order),
    )


def template_of(row: dict[str, Any]) -> Template:
    """Return the caption of a row with its slots."""
    text = row["text"] if "text" in row else row["caption"]
    return Template(text, tuple(Slot(**slot) for slot in row["slots"]))


def geometry(row: dict[str, Any], order: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return each object's centre (N, 2) and mask area (N,), as fractions of the image.

    A pair that shows as two instances is the two together.
    """
    names = np.array(row["names"])
    own = [np.flatnonzero(names == row["objects"][i]) for i in order]
    boxes, areas = np.array(row["boxes"], dtype=np.float64), np.array(row["areas"], np.float64)
    around = np.array([[*boxes[k, :2].min(0), *boxes[k, 2:].max(0)] for k in own])
    size = np.array([row["width"], row["height"]], dtype=np.float64)
    centers = (around[:, :2] + around[:, 2:]) / 2 / size
    return centers, np.array([areas[k].sum() for k in own]) / size.prod()


def build(context: Context, key: str) -> Artifact:
    """Build the candidates of a benchmark."""
    task = get_benchmark(key).task
    settings = {
        "code": CODE_VERSION,
        "seed": context.suite.seed,
        "shuffle_clauses": context.suite.profile.shuffle_clauses,
        "counterparts": has_counterparts(context.suite, key),
        "nouns": context.lexicon.nouns(task).digest,
        "labels": context.lexicon.labels(task).digest,
    }
    shards = aligned(settings, {validated.NAME: context.current(validated.NAME, key)})
    return context.build(
        NAME, key, SCHEMA, settings, shards, MakeNegatives(context.suite, key), summarize
    )


def summarize(artifact: Artifact) -> dict[str, Any]:
    """Count items, and candidates by their semantics."""
    counts = np.zeros(3, dtype=np.int64)
    items = {"minimal": 0, "contextual": 0}
    for i in range(len(artifact.shards)):
        for row in artifact.read_shard(i, ["track", "semantics"]).to_pylist():
            counts += np.bincount(np.frombuffer(row["semantics"], np.int8)[1:], minlength=3)
            items[row["track"]] += 1
    return {
        "items": items,
        "candidates": dict(zip(("true", "false", "undecided"), counts.tolist(), strict=True)),
    }
