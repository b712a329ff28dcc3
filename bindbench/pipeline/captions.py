"""The asset ``captions``: a minimal and a contextual caption for each concept, strictly paired."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from bindbench.captions.contextual import write_contextual
from bindbench.captions.minimal import write_minimal
from bindbench.captions.slots import Template
from bindbench.concepts import Concept
from bindbench.models import registry
from bindbench.pipeline import concept_set
from bindbench.pipeline.base import (
    Context,
    ShardInputs,
    aligned,
    batches,
    strings,
    suite_lexicon,
    table,
)
from bindbench.storage.store import Artifact
from bindbench.suite import Suite
from bindbench.tasks import get_benchmark

NAME = "captions"
CODE_VERSION = "1"
SLOTS = pa.list_(
    pa.struct(
        [
            ("kind", pa.string()),
            ("position", pa.int32()),
            ("start", pa.int32()),
            ("end", pa.int32()),
        ]
    )
)
SCHEMA = pa.schema(
    [
        ("index", pa.int64()),
        ("concept_id", pa.string()),
        ("track", pa.string()),
        ("objects", strings()),
        ("labels", strings()),
        ("text", pa.string()),
        ("slots", SLOTS),
        ("attempts", pa.int32()),
        ("verdict", pa.string()),
        ("reason", pa.string()),
    ]
)


@dataclass(frozen=True)
class WriteCaptions:
    """Writes both captions of each concept of a shard."""

    suite: Suite
    key: str

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return two rows for each concept; a failed contextual caption fails both."""
        lexicon = suite_lexicon(self.suite)
        rows = task.rows(concept_set.NAME)
        task_name = get_benchmark(self.key).task.name
        concepts = [Concept(task_name, tuple(r["objects"]), tuple(r["labels"])) for r in rows]
        settings = self.suite.profile.writer
        writer = registry.load("writer", settings, self.suite.profile.vocabularies)
        written = [
            caption
            for part in batches(concepts, settings.batch_size)
            for caption in write_contextual(
                writer, part, lexicon, self.suite.seed, settings.attempts
            )
        ]
        out: list[dict[str, Any]] = []
        for row, concept, contextual in zip(rows, concepts, written, strict=True):
            passed = contextual.template is not None
            minimal = write_minimal(concept, lexicon)
            reason = contextual.reason if not passed else ""
            common = {
                "index": row["index"],
                "concept_id": row["concept_id"],
                "objects": row["objects"],
                "labels": row["labels"],
                "verdict": "pass" if passed else "fail",
            }
            out.append(
                common
                | _text(minimal.text, minimal)
                | {"track": "minimal", "attempts": 1, "reason": "" if passed else "unpaired"}
            )
            out.append(
                common
                | _text(contextual.text, contextual.template)
                | {"track": "contextual", "attempts": contextual.attempts, "reason": reason}
            )
        return table(out, SCHEMA)


def _text(text: str, template: Template | None) -> dict[str, Any]:
    return {"text": text, "slots": slot_rows(template) if template else []}


def slot_rows(template: Template) -> list[dict[str, Any]]:
    """Return a template's slots as rows of the type ``SLOTS``."""
    return [
        {"kind": s.kind, "position": s.position, "start": s.start, "end": s.end}
        for s in template.slots
    ]


def build(context: Context, key: str) -> Artifact:
    """Build the captions of a benchmark."""
    writer = context.suite.profile.writer
    settings = {
        "code": CODE_VERSION,
        "seed": context.suite.seed,
        "writer": registry.describe("writer", writer),
        "attempts": writer.attempts,
        "nouns": context.lexicon.nouns(get_benchmark(key).task).digest,
        "labels": context.lexicon.labels(get_benchmark(key).task).digest,
    }
    shards = aligned(settings, {concept_set.NAME: context.current(concept_set.NAME, key)})
    return context.build(
        NAME, key, SCHEMA, settings, shards, WriteCaptions(context.suite, key), summarize
    )


def summarize(artifact: Artifact) -> dict[str, Any]:
    """Count concepts by the outcome of their contextual caption."""
    rows = artifact.read(["track", "reason"]).to_pylist()
    reasons = Counter(row["reason"] or "pass" for row in rows if row["track"] == "contextual")
    return {"concepts": len(rows) // 2, "contextual": dict(sorted(reasons.items()))}
