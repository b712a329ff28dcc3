"""One model's answers in one setting, evaluated."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from bindbench.errors import UserError
from bindbench.instabind.adjacency import EXCLUDED_LEVEL, adjacency
from bindbench.instabind.annotations import Annotations, read_annotations
from bindbench.instabind.answer_bias import letters, yes_no
from bindbench.instabind.conditions import is_localized
from bindbench.instabind.gaps import gaps
from bindbench.instabind.metrics import by, confusion, metrics
from bindbench.instabind.outcomes import Outcomes, outcomes
from bindbench.instabind.outputs import read_outputs
from bindbench.instabind.questions import Question, read_questions
from bindbench.instabind.space import datasets, space


def evaluate(
    questions_path: Path,
    outputs_path: Path,
    full_path: Path | None = None,
    annotations_path: Path | None = None,
    *,
    details: bool = False,
    compat: bool = False,
) -> tuple[dict[str, Any], int]:
    """Return what ``bindbench instabind evaluate`` prints, and how many answers are missing.

    Args:
        questions_path: questions, one JSON object a line.
        outputs_path: one model's answers in one setting.
        full_path: the same model's answers on the full image; adds "gaps".
        annotations_path: what the questions were made from; adds what depends on boxes and sources
            to the details.
        details: adds what is known by class, group size, position, and the tests.
        compat: reproduce the bugs of the authors' evaluation.

    Raises:
        UserError: a file cannot be read, or what it says is wrong.
    """
    questions = read_questions(questions_path)
    annotations = read_annotations(annotations_path).annotations if annotations_path else None
    if annotations:
        check_same(annotations, questions, annotations_path)
    outputs = read_outputs(outputs_path, questions, compat)
    table = outcomes(questions, outputs, compat)
    full = None
    if full_path:
        compared = read_outputs(full_path, questions, compat)
        if is_localized(compared.setting):
            raise UserError(
                f"{full_path} is of setting {compared.setting}, which shows one instance: compare "
                "with one that asks all levels, such as full_image."
            )
        full = outcomes(questions, compared, compat)
    found: dict[str, Any] = {"model": outputs.model, "setting": outputs.setting}
    found |= evaluated(table, full, annotations, details=details, compat=compat)
    return found, int(table.missing.sum())


def evaluated(
    table: Outcomes,
    full: Outcomes | None = None,
    annotations: Annotations | None = None,
    *,
    details: bool = False,
    compat: bool = False,
) -> dict[str, Any]:
    """Return all numbers of one model's answers in one setting, as JSON data.

    Args:
        table: what became of them.
        full: the same on the full image; adds "gaps".
        annotations: adds to the details what depends on boxes and sources.
        details: adds what is known by class, group size, position, and the tests.
        compat: reproduce the bugs of the authors' evaluation.
    """
    found: dict[str, Any] = {
        "overall": metrics(table).record(),
        "levels": {level: one.record() for level, one in by(table, "level").items()},
    }
    if details:
        found["details"] = _details(table)
        if annotations:
            found["details"] |= _by_annotations(table, annotations)
    if full:
        differences = gaps(full, table, compat)
        found["gaps"] = {name: gap.record() for name, gap in differences.items()}
    return found


def check_same(
    annotations: Annotations, questions: Mapping[str, Question], path: Path | None
) -> None:
    """Raise a UserError if annotations lack a group that a question asks about."""
    known = {
        (picture.image_id, group.group_id)
        for picture in annotations.images
        for group in picture.same_class_groups
    }
    for question in questions.values():
        if (question.image_id, question.group_id) not in known:
            raise UserError(
                f"{path} has no group {question.group_id!r} of image {question.image_id!r}, which "
                f"{question.question_id} asks about: give what the questions were made from."
            )


def _by_annotations(table: Outcomes, annotations: Annotations) -> dict[str, Any]:
    names = datasets(annotations)
    origin = np.array([names[image] for image in table.image_id], object)
    found = space(table, annotations)
    return {
        "sources": {
            name: metrics(table.where(origin == name)).record() for name in sorted(set(origin))
        },
        "space": asdict(found) if found else None,
    }


def _details(table: Outcomes) -> dict[str, Any]:
    tested = {"overall": table, **table.by("level")}
    lean, preference = yes_no(table), letters(table)
    return {
        "missing": int(table.missing.sum()),
        "classes": {name: one.record() for name, one in by(table, "class_name").items()},
        "group_sizes": {name: one.record() for name, one in by(table, "group_size").items()},
        "positions": {
            size: {name: one.record() for name, one in by(part, "target").items()}
            for size, part in table.by("group_size").items()
        },
        "adjacency": {
            name: asdict(adjacency(part)) for name, part in tested.items() if name != EXCLUDED_LEVEL
        },
        "yes_no": asdict(lean) if lean else None,
        "letters": asdict(preference) if preference else None,
        "confusion": confusion(table),
    }
