"""The asset ``captions``: a minimal and a contextual caption for each concept, strictly paired."""

import functools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from bindbench.captions.contextual import Attempt, ContextualCaption, write_contextual
from bindbench.captions.minimal import write_minimal
from bindbench.captions.slots import Template
from bindbench.concepts import Concept
from bindbench.models import registry
from bindbench.models.base import Writer, Written
from bindbench.pipeline import concept_set
from bindbench.pipeline.asking import ask_all, usage_summary
from bindbench.pipeline.base import (
    Context,
    ShardInputs,
    aligned,
    strings,
    suite_lexicon,
    table,
)
from bindbench.storage.store import Artifact
from bindbench.suite import RoleSettings, Suite
from bindbench.tasks import get_benchmark
from bindbench.vocabulary import Lexicon

NAME = "captions"
CODE_VERSION = "2"
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
TRIES = pa.list_(
    pa.struct(
        [
            ("text", pa.string()),  # what the writer wrote; null: the row's text, to the letter
            ("cut", strings()),  # what cleaning took off it
            ("reason", pa.string()),  # why it was refused, "" if it was not
            ("raw", pa.string()),  # of a server: what its answer took, as JSON
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
        ("tries", TRIES),  # of the contextual caption
    ]
)


@dataclass(frozen=True)
class WriteCaptions:
    """Writes both captions of each concept of a shard."""

    suite: Suite
    key: str

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return two rows for each concept; a failed contextual caption fails both.

        Raises:
            Unfinished: a server gave no caption for some concepts. The others were still asked
                for, so that another run finds their answers.
        """
        lexicon = suite_lexicon(self.suite)
        rows = task.rows(concept_set.NAME)
        task_name = get_benchmark(self.key).task.name
        concepts = [Concept(task_name, tuple(r["objects"]), tuple(r["labels"])) for r in rows]
        written = self._contextual(concepts, lexicon)
        out: list[dict[str, Any]] = []
        for row, concept, contextual in zip(rows, concepts, written, strict=True):
            passed = contextual.template is not None
            minimal = write_minimal(concept, lexicon)
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
                | {"tries": []}
            )
            out.append(
                common
                | _text(contextual.text, contextual.template)
                | {"track": "contextual", "attempts": contextual.attempts}
                | {"reason": contextual.reason}
                | {"tries": [_try_row(found, contextual.text) for found in contextual.tries]}
            )
        return table(out, SCHEMA)

    def _contextual(self, concepts: Sequence[Concept], lexicon: Lexicon) -> list[ContextualCaption]:
        settings = self.suite.profile.writer
        writer = registry.load("writer", settings, self.suite.profile.vocabularies)
        batched = _InBatches(writer, settings.batch_size)
        return write_contextual(batched, concepts, lexicon, self.suite.seed, settings.attempts)


@dataclass(frozen=True)
class _InBatches:
    """A writer that writes the captions of a shard batch by batch."""

    writer: Writer
    size: int

    def write(self, concepts: Sequence[Concept], seeds: Sequence[int]) -> list[Written]:
        def ask(part: Sequence[tuple[Concept, int]]) -> list[Written]:
            return self.writer.write([c for c, _ in part], [seed for _, seed in part])

        pairs = list(zip(concepts, seeds, strict=True))
        return ask_all(pairs, self.size, ask, lambda pair: pair[0].id)


def _try_row(found: Attempt, text: str) -> dict[str, Any]:
    written = found.written
    return {
        "text": None if written.text == text else written.text,
        "cut": found.cut,
        "reason": found.reason,
        "raw": written.raw,
    }


def _text(text: str, template: Template | None) -> dict[str, Any]:
    return {"text": text, "slots": slot_rows(template) if template else []}


def slot_rows(template: Template) -> list[dict[str, Any]]:
    """Return a template's slots as rows of the type ``SLOTS``."""
    return [
        {"kind": s.kind, "position": s.position, "start": s.start, "end": s.end}
        for s in template.slots
    ]


def settings_of(context: Context, key: str) -> dict[str, Any]:
    """Return what decides a benchmark's captions, beside its concepts."""
    writer = context.suite.profile.writer
    return {
        "code": CODE_VERSION,
        "seed": context.suite.seed,
        "writer": registry.describe("writer", writer),
        "attempts": writer.attempts,
        "nouns": context.lexicon.nouns(get_benchmark(key).task).digest,
        "labels": context.lexicon.labels(get_benchmark(key).task).digest,
    }


def build(context: Context, key: str) -> Artifact:
    """Build the captions of a benchmark."""
    writer, settings = context.suite.profile.writer, settings_of(context, key)
    shards = aligned(settings, {concept_set.NAME: context.current(concept_set.NAME, key)})
    context = context.holding("writer", writer)
    summary = functools.partial(summarize, writer=writer)
    return context.build(
        NAME, key, SCHEMA, settings, shards, WriteCaptions(context.suite, key), summary
    )


def summarize(artifact: Artifact, writer: RoleSettings) -> dict[str, Any]:
    """Count concepts and attempts by their outcome, and what was cut; of a server also its usage.

    ``contextual`` counts concepts by their last attempt, ``tries`` all attempts.
    """
    rows = artifact.read(["track", "reason", "tries"]).to_pylist()
    rows = [row for row in rows if row["track"] == "contextual"]
    tries = [found for row in rows for found in row["tries"]]
    return {
        "concepts": len(rows),
        "contextual": _counts(row["reason"] or "pass" for row in rows),
        "tries": _counts(found["reason"] or "pass" for found in tries),
        "cut": _counts(kind for found in tries for kind in found["cut"]),
        **usage_summary("writer", writer, (found["raw"] for found in tries)),
    }


def _counts(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))
