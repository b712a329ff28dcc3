"""One model's answers in one setting, evaluated."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from bindbench.errors import UserError
from bindbench.instabind.adjacency import EXCLUDED_LEVEL, adjacency
from bindbench.instabind.answer_bias import letters, yes_no
from bindbench.instabind.gaps import gaps
from bindbench.instabind.metrics import by, confusion, metrics
from bindbench.instabind.outcomes import Outcomes, outcomes
from bindbench.instabind.outputs import LOCALIZED, read_outputs
from bindbench.instabind.questions import read_questions


def evaluate(
    questions_path: Path,
    outputs_path: Path,
    full_path: Path | None = None,
    *,
    details: bool = False,
    compat: bool = False,
) -> tuple[dict[str, Any], int]:
    """Return what ``bindbench instabind evaluate`` prints, and how many answers are missing.

    Args:
        questions_path: questions, one JSON object a line.
        outputs_path: one model's answers in one setting.
        full_path: the same model's answers on the full image; adds "gaps".
        details: adds what is known by class, group size, position, and the tests.
        compat: reproduce the bugs of the authors' evaluation.

    Raises:
        UserError: a file cannot be read, or what it says is wrong.
    """
    questions = read_questions(questions_path)
    outputs = read_outputs(outputs_path, questions, compat)
    table = outcomes(questions, outputs, compat)
    found: dict[str, Any] = {
        "model": outputs.model,
        "setting": outputs.setting,
        "overall": metrics(table).record(),
        "levels": {level: one.record() for level, one in by(table, "level").items()},
    }
    if details:
        found["details"] = _details(table)
    if full_path:
        full = read_outputs(full_path, questions, compat)
        if full.setting in LOCALIZED:
            raise UserError(
                f"{full_path} is of setting {full.setting}, which shows one instance: compare with "
                "one that asks all levels, such as full_image."
            )
        differences = gaps(outcomes(questions, full, compat), table, compat)
        found["gaps"] = {name: gap.record() for name, gap in differences.items()}
    return found, int(table.missing.sum())


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
