"""The asset ``instabind_questions``: the questions of all levels on a set of annotated images."""

import json
from collections import Counter
from typing import Any

import pyarrow as pa

from bindbench.instabind.annotations import Picture
from bindbench.instabind.questions import Question, group_questions
from bindbench.pipeline import instabind_annotations
from bindbench.pipeline.base import Context, ShardInputs, aligned, table
from bindbench.storage.store import Artifact

NAME = "instabind_questions"
CODE_VERSION = "1"
SCHEMA = pa.schema(
    [
        ("question_id", pa.string()),
        ("image_id", pa.string()),
        ("group_id", pa.string()),
        ("level", pa.string()),
        ("question", pa.string()),  # JSON, in the authors' schema
    ]
)


def ask(task: ShardInputs) -> pa.Table:
    """Return one row for each question."""
    rows = task.rows(instabind_annotations.NAME, ["picture"])
    pictures = [Picture.model_validate_json(row["picture"]) for row in rows]
    return table(
        [
            _row(question)
            for picture in pictures
            for group in picture.same_class_groups
            for question in group_questions(picture, group)
        ],
        SCHEMA,
    )


def _row(question: Question) -> dict[str, Any]:
    return {
        "question_id": question.question_id,
        "image_id": question.image_id,
        "group_id": question.group_id,
        "level": question.level,
        "question": json.dumps(question.record(), ensure_ascii=False),
    }


def build(context: Context, name: str) -> Artifact:
    """Build the questions of a set."""
    settings = {"code": CODE_VERSION}
    annotations = context.current(instabind_annotations.NAME, name)
    shards = aligned(settings, {instabind_annotations.NAME: annotations})
    return context.build(NAME, name, SCHEMA, settings, shards, ask, _summary)


def _summary(artifact: Artifact) -> dict[str, Any]:
    levels = artifact.read(["level"])["level"].to_pylist()
    return {"questions": artifact.rows, "levels": dict(sorted(Counter(levels).items()))}


def questions_in(artifact: Artifact) -> dict[str, Question]:
    """Return an artifact's questions by id, in their order."""
    rows = artifact.read(["question"])["question"].to_pylist()
    found = (Question.model_validate_json(row) for row in rows)
    return {question.question_id: question for question in found}
