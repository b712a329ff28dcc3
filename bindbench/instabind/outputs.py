"""A model's answers in one setting: one JSON object a line, as the authors publish them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from bindbench.errors import UserError, unknown_name
from bindbench.instabind.conditions import LOCALIZED_LEVELS, is_localized
from bindbench.instabind.located_json import invalid, read_json_lines
from bindbench.instabind.questions import LEVELS, Level, Question


class _Line(BaseModel):
    model_config = ConfigDict(strict=True)

    question_id: str
    prediction: str
    model: str
    setting: str


@dataclass(frozen=True)
class Outputs:
    """The answers of one model in one setting."""

    path: Path
    model: str
    setting: str
    answers: list[tuple[str, str]]  # question id and answer; twice only where compat allows it

    @property
    def levels(self) -> tuple[Level, ...]:
        """The levels that are asked in this setting."""
        return levels_of(self.setting)


def levels_of(setting: str) -> tuple[Level, ...]:
    """Return the levels that are asked in a setting."""
    return LOCALIZED_LEVELS if is_localized(setting) else LEVELS


def read_outputs(path: Path, questions: Mapping[str, Question], compat: bool = False) -> Outputs:
    """Return a file's answers.

    Args:
        path: the file.
        questions: what was asked, by id.
        compat: keep several answers to one question, as the authors' code does.

    Raises:
        UserError: a line is not an answer, answers a question again or one that is not asked, or
            is of another model or setting: names file and line.
    """
    answers: list[tuple[str, str]] = []
    lines: dict[str, int] = {}
    first: _Line | None = None
    for number, row in read_json_lines(path):
        where = f"{path}, line {number}"
        try:
            line = _Line.model_validate(row)
        except ValidationError as error:
            raise invalid(path, error, row, number) from None
        first = first or line
        for field in ("model", "setting"):
            given, due = getattr(line, field), getattr(first, field)
            if given != due:
                raise UserError(
                    f"{where}: the {field} is {given!r}, but {due!r} in the first line; keep one "
                    "file for each."
                )
        key = line.question_id
        if key not in questions:
            raise unknown_name("question_id", key, questions, where)
        if key in lines and not compat:
            raise UserError(f"{where}: the question {key!r} is also answered in line {lines[key]}.")
        level = questions[key].level
        if level not in levels_of(line.setting):
            raise UserError(
                f"{where}: {key!r} is of level {level}, but {line.setting} is only for "
                f"{' and '.join(LOCALIZED_LEVELS)}."
            )
        lines.setdefault(key, number)
        answers.append((key, line.prediction))
    if first is None:
        raise UserError(f"{path} holds no answers.")
    return Outputs(path, first.model, first.setting, answers)
