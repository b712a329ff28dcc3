"""The asset ``instabind_answers``: one model's answers to a set's questions, in one setting."""

import functools
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from PIL import Image as PILImage

from bindbench.errors import UserError, unknown_name
from bindbench.instabind.annotations import Picture
from bindbench.instabind.asking import Desk, asked_in, pixels_of
from bindbench.instabind.conditions import condition
from bindbench.instabind.outputs import Outputs
from bindbench.instabind.questions import Question
from bindbench.models import registry
from bindbench.models.base import Answerer
from bindbench.models.family import ModelName
from bindbench.pipeline import instabind_annotations, instabind_questions
from bindbench.pipeline.asking import ask_all, usage_summary
from bindbench.pipeline.base import Context, ShardInputs, aligned, strings, table
from bindbench.pipeline.instabind_groups import settings_of
from bindbench.storage.store import Artifact
from bindbench.suite import RoleSettings, Suite

NAME = "instabind_answers"
CODE_VERSION = "1"
SCHEMA = pa.schema(
    [
        ("question_id", pa.string()),
        ("image_id", pa.string()),
        ("level", pa.string()),
        ("prompt", pa.string()),
        ("prediction", pa.string()),
        ("finished", pa.bool_()),  # False: cut off at the most tokens
        ("options", strings()),  # of a choice, else null
        ("scores", pa.list_(pa.float64())),  # shares of the options
        ("unknown", strings()),  # words of the prompt that the model has no token for
        ("raw", pa.string()),
    ]
)
MOST_WORDS = 20  # that a summary names


@dataclass(frozen=True)
class AnswerQuestions:
    """Asks a model the questions of a shard's images, batch by batch."""

    suite: Suite
    setting: str
    settings: RoleSettings

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return one row for each question that the setting asks.

        Raises:
            Unfinished: a server gave no answer for some questions. The others were still asked, so
                that another run finds their answers.
            UserError: an image or a target can't be shown.
        """
        model: Answerer = registry.load("answerer", self.settings, self.suite.profile.vocabularies)
        _, _, options = registry.named("answerer", self.settings)
        rows = task.rows(instabind_annotations.NAME, ["image_id", "picture", "image"])
        desk = Desk(
            {row["image_id"]: Picture.model_validate_json(row["picture"]) for row in rows},
            _Images({row["image_id"]: row["image"]["bytes"] for row in rows}),
            condition(self.setting),
            options,
        )
        texts = task.rows(instabind_questions.NAME, ["question"])
        questions = [Question.model_validate_json(row["question"]) for row in texts]

        def reply(batch: Sequence[Question]) -> list[dict[str, Any]]:
            requests = [desk.request(question) for question in batch]
            replies = model.reply(requests)
            return [
                {
                    "question_id": question.question_id,
                    "image_id": question.image_id,
                    "level": question.level,
                    "prompt": request.prompt,
                    "prediction": found.text,
                    "finished": found.finished,
                    "options": request.options or None,
                    "scores": found.scores,
                    "unknown": found.unknown,
                    "raw": found.raw,
                }
                for question, request, found in zip(batch, requests, replies, strict=True)
            ]

        asked = asked_in(questions, self.setting)
        size = self.settings.batch_size
        return table(ask_all(asked, size, reply, lambda one: one.question_id), SCHEMA)


@dataclass(frozen=True)
class _Images:
    """Reads the images of a shard."""

    data: dict[str, bytes]

    def __call__(self, picture: Picture) -> np.ndarray:
        where = f"image {picture.image_id}"
        try:
            with PILImage.open(io.BytesIO(self.data[picture.image_id])) as image:
                return pixels_of(image, picture, where)
        except (OSError, SyntaxError, ValueError) as error:
            raise UserError(f"{where} can't be decoded ({error}): make it again.") from error


def cell(name: str, setting: str) -> str:
    """Return a set and a setting as one dimension of a partition."""
    return f"{name}--{setting}"


def partition(name: str, setting: str, slug: str) -> str:
    """Return the partition of a set, a setting and a model's slug."""
    return f"{cell(name, setting)}--{slug}"


def cells_of(suite: Suite) -> list[str]:
    """Return the sets and settings that a suite asks in, in its order."""
    section = suite.instabind
    return [cell(n, s) for n in section.sets for s in section.settings] if section else []


def model_named(suite: Suite, slug: str) -> RoleSettings:
    """Return the settings of the suite's answerer with this slug."""
    models = {ModelName.parse(one.model).slug: one for one in settings_of(suite).models}
    if slug not in models:
        raise unknown_name("model", slug, models, f"the answerers of suite {suite.name}")
    return models[slug]


def build_named(context: Context, place: str, slug: str) -> Artifact:
    """Build the answers of a set and setting by the suite's answerer with this slug."""
    name, _, setting = place.partition("--")
    return build(context, name, setting, model_named(context.suite, slug))


def build(context: Context, name: str, setting: str, model: RoleSettings) -> Artifact:
    """Build one model's answers to a set's questions in a setting."""
    settings = {
        "code": CODE_VERSION,
        "setting": condition(setting).name,
        "answerer": registry.describe("answerer", model),
    }
    inputs = {
        module.NAME: context.current(module.NAME, name)
        for module in (instabind_questions, instabind_annotations)
    }
    shards = aligned(settings, inputs)
    where = partition(name, setting, ModelName.parse(model.model).slug)
    function = AnswerQuestions(context.suite, setting, model)
    summary = functools.partial(_summary, model=model)
    context = context.holding("answerer", model)
    return context.build(NAME, where, SCHEMA, settings, shards, function, summary)


def _summary(artifact: Artifact, model: RoleSettings) -> dict[str, Any]:
    """Count the answers, those cut off, and the words that the model does not know."""
    rows = artifact.read(["finished", "unknown", "raw"]).to_pylist()
    words = Counter(word for row in rows for word in row["unknown"])
    most = sorted(words.items(), key=lambda one: (-one[1], one[0]))[:MOST_WORDS]
    found = {
        "questions": artifact.rows,
        "cut_off": sum(not row["finished"] for row in rows),
        "with_unknown_words": sum(bool(row["unknown"]) for row in rows),
        "unknown_words": dict(most),
    }
    return found | usage_summary("answerer", model, (row["raw"] for row in rows))


def outputs_in(artifact: Artifact, model: str) -> Outputs:
    """Return an artifact's answers, as those of a file are."""
    rows = artifact.read(["question_id", "prediction"]).to_pylist()
    answers = [(row["question_id"], row["prediction"]) for row in rows]
    return Outputs(Path(str(artifact.path)), model, artifact.settings["setting"], answers)
