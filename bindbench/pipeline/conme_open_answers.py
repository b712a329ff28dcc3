"""The asset ``conme_open_answers``: the targets answer the questions in words (ConMe, stage 5)."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from bindbench.models.base import ReplyRequest
from bindbench.pipeline import conme_images, conme_questions
from bindbench.pipeline.base import Context, ShardInputs, aligned, strings, table
from bindbench.pipeline.conme_cells import settings_of, split, targets_of
from bindbench.pipeline.conme_images import shown
from bindbench.pipeline.conme_questions import sets_of
from bindbench.pipeline.conme_strong_descriptions import row_of
from bindbench.pipeline.conme_target_descriptions import summarize
from bindbench.pipeline.conme_targets import Target, ask_each, describe_targets, holding_targets
from bindbench.storage.store import Artifact
from bindbench.suite import RoleSettings, Suite

NAME = "conme_open_answers"
CODE_VERSION = "1"
SCHEMA = pa.schema(
    [
        ("image_id", pa.string()),
        ("question_index", pa.int32()),  # among the image's question sets
        ("question", pa.string()),
        ("model", pa.string()),
        ("text", pa.string()),
        ("finished", pa.bool_()),
        ("unknown", strings()),  # words of the question that the model has no token for
        ("raw", pa.string()),
    ]
)


@dataclass(frozen=True)
class AnswerInWords:
    """Puts the bare questions of a shard to the targets."""

    suite: Suite
    targets: Mapping[str, RoleSettings]

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return one row for each question and target.

        Raises:
            UserError: a server gave no answer for some questions.
        """
        sets = sets_of(task.rows(conme_questions.NAME, ["image_id", "sets"]))
        asked = [
            (key, index, one.question) for key, own in sets.items() for index, one in enumerate(own)
        ]
        images, most = shown(task), settings_of(self.suite).tokens.answer
        requests = [
            ReplyRequest(images[key], question, max_tokens=most, key=f"{key}/{index}")
            for key, index, question in asked
        ]

        def ask(target: Target) -> list[dict[str, Any]]:
            replies = target.reply(requests)
            return [row_of(reply) | {"model": target.name} for reply in replies]

        found = ask_each(self.suite, self.targets, ask) if requests else {}
        rows = [
            {"image_id": key, "question_index": index, "question": question} | own[at]
            for at, (key, index, question) in enumerate(asked)
            for own in found.values()
        ]
        return table(rows, SCHEMA)


def build(context: Context, where: str) -> Artifact:
    """Build the targets' answers in words."""
    targets = targets_of(context.suite, where)
    settings = {
        "code": CODE_VERSION,
        "targets": describe_targets(targets),
        "tokens": settings_of(context.suite).tokens.answer,
    }
    inputs = {
        conme_images.NAME: context.current(conme_images.NAME, split(where)[0]),
        conme_questions.NAME: context.current(conme_questions.NAME, where),
    }
    return holding_targets(context, targets).build(
        NAME,
        where,
        SCHEMA,
        settings,
        aligned(settings, inputs),
        AnswerInWords(context.suite, targets),
        functools.partial(summarize, targets=targets),
    )
