"""The asset ``conme_questions``: what the strong model asks first (ConMe, stage 3)."""

import functools
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from types import ModuleType
from typing import Any

import pyarrow as pa

from bindbench.conme.examiner import Asked, Described
from bindbench.conme.samples import QuestionSet, Round
from bindbench.pipeline import (
    conme_images,
    conme_strong_descriptions,
    conme_target_descriptions,
)
from bindbench.pipeline.asking import ask_all
from bindbench.pipeline.base import Context, ShardInputs, aligned, strings, table
from bindbench.pipeline.conme_cells import panel_of, settings_of, split
from bindbench.pipeline.conme_images import shown
from bindbench.pipeline.conme_strong import (
    describe_strong,
    holding_strong,
    load_strong,
    usage_of_strong,
)
from bindbench.storage.store import Artifact
from bindbench.suite import RoleSettings, Suite

NAME = "conme_questions"
CODE_VERSION = "1"
SCHEMA = pa.schema(
    [
        ("image_id", pa.string()),
        ("round", pa.int8()),
        ("status", pa.string()),  # asked or rejected
        ("reason", pa.string()),  # why it was rejected
        ("sets", pa.string()),  # JSON: question, answer and negatives of each
        ("attempts", pa.int32()),
        ("replies", strings()),  # the text of every attempt
        ("finished", pa.list_(pa.bool_())),
        ("faults", pa.string()),  # JSON: how much was left out of the replies, by reason
        ("mended", pa.string()),  # how the reply that counts was made readable
        ("raws", strings()),
    ]
)


@dataclass(frozen=True)
class AskFirst:
    """Lets the strong model ask about the images of a shard."""

    suite: Suite
    strong: RoleSettings

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return one row for each image.

        Raises:
            Unfinished: a server gave no answer for some images.
        """
        rows = task.rows(conme_strong_descriptions.NAME, ["image_id", "text"])
        own = {row["image_id"]: row["text"] for row in rows}
        others: dict[str, dict[str, str]] = {}
        for row in task.rows(conme_target_descriptions.NAME, ["image_id", "model", "text"]):
            others.setdefault(row["image_id"], {})[row["model"]] = row["text"]
        images = shown(task)
        cases = [Described(key, images[key], text, others[key]) for key, text in own.items()]
        examiner = load_strong(self.suite, self.strong)
        found = ask_all(cases, self.strong.batch_size, examiner.ask, lambda case: case.key)
        asked = zip(cases, found, strict=True)
        return table([row_of(case.key, 1, one) for case, one in asked], SCHEMA)


def row_of(key: str, round: Round, asked: Asked) -> dict[str, Any]:
    """Return the columns of what was asked about an image."""
    return {
        "image_id": key,
        "round": round,
        "status": "asked" if asked.sets else "rejected",
        "reason": asked.reason,
        "sets": json.dumps([asdict(one) for one in asked.sets]),
        "attempts": len(asked.replies),
        "replies": [reply.text for reply in asked.replies],
        "finished": [reply.finished for reply in asked.replies],
        "faults": json.dumps(dict(sorted(asked.faults.items()))),
        "mended": asked.mended,
        "raws": [reply.raw for reply in asked.replies],
    }


def build_round(
    context: Context,
    where: str,
    stage: tuple[str, str],
    read: Sequence[ModuleType],
    function: Callable[[Suite, RoleSettings], Callable[[ShardInputs], pa.Table]],
) -> Artifact:
    """Build the questions of one round.

    Args:
        context: of the suite.
        where: the set and the panel.
        stage: its asset and the version of its code.
        read: the stages of what was said before.
        function: makes what asks for the questions of a shard.
    """
    name, panel = split(where)
    strong = panel_of(context.suite, panel).strong
    section = settings_of(context.suite)
    asset, code = stage
    settings = {
        "code": code,
        "strong": describe_strong(context.suite, strong),
        "questions": section.questions,
        "negatives": section.negatives,
        "attempts": section.attempts,
        "tokens": section.tokens.questions,
    }
    inputs = {conme_images.NAME: context.current(conme_images.NAME, name)} | {
        module.NAME: context.current(module.NAME, where) for module in read
    }
    return holding_strong(context, strong).build(
        asset,
        where,
        SCHEMA,
        settings,
        aligned(settings, inputs),
        function(context.suite, strong),
        functools.partial(summarize, strong=strong),
    )


def build(context: Context, where: str) -> Artifact:
    """Build the questions of the first round."""
    read = (conme_strong_descriptions, conme_target_descriptions)
    return build_round(context, where, (NAME, CODE_VERSION), read, AskFirst)


def summarize(artifact: Artifact, strong: RoleSettings) -> dict[str, Any]:
    """Count questions, what was rejected and why, and what was left out of replies."""
    rows = artifact.read(["reason", "sets", "attempts", "faults", "mended", "raws"]).to_pylist()
    faults: Counter[str] = Counter()
    for row in rows:
        faults.update(json.loads(row["faults"]))
    sets = [one for row in rows for one in json.loads(row["sets"])]
    found = {
        "images": len(rows),
        "questions": len(sets),
        "negatives": sum(len(one["negatives"]) for one in sets),
        "rejected": dict(sorted(Counter(r["reason"] for r in rows if r["reason"]).items())),
        "asked_again": sum(max(row["attempts"] - 1, 0) for row in rows),
        "mended": dict(sorted(Counter(r["mended"] for r in rows if r["mended"]).items())),
        "faults": dict(sorted(faults.items())),
    }
    return found | usage_of_strong(strong, (raw for row in rows for raw in row["raws"]))


def read_sets(text: str) -> tuple[QuestionSet, ...]:
    """Return the question sets that a row holds as JSON."""
    return tuple(
        QuestionSet(one["question"], one["answer"], tuple(one["negatives"]))
        for one in json.loads(text)
    )


def sets_of(rows: Sequence[dict[str, Any]]) -> dict[str, tuple[QuestionSet, ...]]:
    """Return the question sets of rows by image, in their order."""
    return {row["image_id"]: read_sets(row["sets"]) for row in rows}


def sets_in(artifact: Artifact) -> dict[str, tuple[QuestionSet, ...]]:
    """Return an artifact's question sets by image, in their order."""
    return sets_of(artifact.read(["image_id", "sets"]).to_pylist())
