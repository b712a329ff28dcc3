"""The asset ``conme_open_answers``: the targets answer the questions in words (ConMe, stage 5)."""

import functools
from dataclasses import dataclass

import pyarrow as pa

from bindbench.models.base import ReplyRequest
from bindbench.pipeline import conme_images, conme_questions
from bindbench.pipeline.base import Context, ShardInputs, strings, table
from bindbench.pipeline.conme_cells import settings_of, split, targets_of
from bindbench.pipeline.conme_images import shown
from bindbench.pipeline.conme_questions import sets_of
from bindbench.pipeline.conme_strong_descriptions import row_of
from bindbench.pipeline.conme_target_descriptions import summarize
from bindbench.pipeline.conme_targets import Interleave, Stage, load_target
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
    """Puts the bare questions of a shard to a target."""

    suite: Suite
    name: str
    settings: RoleSettings

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return one row for each question.

        Raises:
            Unfinished: a server gave no answer for some questions.
        """
        sets = sets_of(task.rows(conme_questions.NAME, ["image_id", "sets"]))
        asked = [
            (key, index, one.question) for key, own in sets.items() for index, one in enumerate(own)
        ]
        if not asked:
            return table([], SCHEMA)
        images, most = shown(task), settings_of(self.suite).tokens.answer
        requests = [
            ReplyRequest(images[key], question, max_tokens=most, key=f"{key}/{index}")
            for key, index, question in asked
        ]
        replies = load_target(self.suite, self.name, self.settings).reply(requests)
        rows = [
            {"image_id": key, "question_index": index, "question": question, "model": self.name}
            | row_of(reply)
            for (key, index, question), reply in zip(asked, replies, strict=True)
        ]
        return table(rows, SCHEMA)


def build(context: Context, where: str) -> Artifact:
    """Build the targets' answers in words."""
    settings = {"code": CODE_VERSION, "tokens": settings_of(context.suite).tokens.answer}
    inputs = {
        conme_images.NAME: context.current(conme_images.NAME, split(where)[0]),
        conme_questions.NAME: context.current(conme_questions.NAME, where),
    }
    stage = Stage(NAME, where, settings, inputs, targets_of(context.suite, where))
    parts = stage.ask(context, SCHEMA, functools.partial(AnswerInWords, context.suite))
    summary = functools.partial(summarize, targets=stage.targets)
    return stage.join(context, SCHEMA, parts, Interleave(tuple(parts), SCHEMA), summary)
