"""What each answer is: right, another instance's value, nobody's, or nothing.

InstaBind-Lite, sections III and V.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import NamedTuple, Self

import numpy as np

from bindbench.instabind.outputs import Outputs
from bindbench.instabind.parsing import (
    Parsed,
    canonical,
    parse_attribute,
    parse_position,
    parse_yes_no,
)
from bindbench.instabind.questions import Member, Question

CORRECT = "correct"
MISBINDING = "misbinding"  # adjacent where the distance is 1
OUT_OF_SET = "out_of_set"
RECOGNITION = "recognition"  # yes/no only: the attribute itself was not recognised
INVALID = "invalid"
CLASSES = (CORRECT, MISBINDING, OUT_OF_SET, RECOGNITION, INVALID)


class Outcome(NamedTuple):
    """One answer."""

    question_id: str
    image_id: str
    group_id: str
    class_name: str
    level: str
    group_size: int
    target: int  # order of the instance that is asked about
    gold: str
    said: str | None  # the value that was read from the answer
    error: str  # one of CLASSES
    source: int  # order of the instance whose value the answer is; 0: of none
    distance: int  # orders between source and target where it is a misbinding, else 0
    missing: bool  # there was no answer at all


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Many outcomes: an array (n,) for each field of ``Outcome``."""

    question_id: np.ndarray
    image_id: np.ndarray
    group_id: np.ndarray
    class_name: np.ndarray
    level: np.ndarray
    group_size: np.ndarray
    target: np.ndarray
    gold: np.ndarray
    said: np.ndarray
    error: np.ndarray
    source: np.ndarray
    distance: np.ndarray
    missing: np.ndarray

    @classmethod
    def of(cls, rows: Iterable[Outcome]) -> Self:
        """Return the table of these rows."""
        columns = list(zip(*rows, strict=True)) or [()] * len(fields(cls))
        kinds = {"group_size": int, "target": int, "source": int, "distance": int, "missing": bool}
        return cls(
            *(
                np.array(column, kinds.get(field.name, object))
                for field, column in zip(fields(cls), columns, strict=True)
            )
        )

    def __len__(self) -> int:
        return len(self.question_id)

    def where(self, keep: np.ndarray) -> Self:
        """Return the rows that a mask (n,) or indices (m,) choose."""
        return type(self)(*(getattr(self, field.name)[keep] for field in fields(self)))

    def by(self, column: str) -> dict[str, Self]:
        """Return the rows of each value of a column, in sorted order of the values."""
        values = getattr(self, column)
        return {str(value): self.where(values == value) for value in sorted(set(values))}


def outcomes(questions: Mapping[str, Question], outputs: Outputs, compat: bool = False) -> Outcomes:
    """Return the outcome of each question that the setting asks.

    A question without an answer counts as invalid. With ``compat`` it is left out, a question that
    was answered twice counts twice, and letters are read as the authors' code reads them.
    """
    rows = [classify(questions[key], answer, compat) for key, answer in outputs.answers]
    if not compat:
        answered = {key for key, _ in outputs.answers}
        rows += [
            classify(question, None)
            for key, question in questions.items()
            if question.level in outputs.levels and key not in answered
        ]
    return Outcomes.of(rows)


def classify(question: Question, answer: str | None, compat: bool = False) -> Outcome:
    """Return what an answer is; None is no answer."""
    context = question.binding_context
    target = question.target
    parsed = Parsed("", None, False) if answer is None else read_answer(question, answer, compat)
    error, source = _judge(question, target, parsed)
    order = source.order_index if source else 0
    return Outcome(
        question.question_id,
        question.image_id,
        context.group_id,
        context.class_name,
        question.level,
        len(context.instances),
        target.order_index,
        question.canonical_answer,
        parsed.value,
        error,
        order,
        abs(order - target.order_index) if error == MISBINDING else 0,
        answer is None,
    )


def read_answer(question: Question, answer: str, compat: bool = False) -> Parsed:
    """Return what an answer says, read as its question's level needs."""
    members = question.binding_context.instances
    if question.answer_type == "yes_no":
        return parse_yes_no(answer)
    if question.answer_type == "position":
        return parse_position(answer, [one.order_label for one in members], compat)
    return parse_attribute(answer, [one.attribute_value for one in members])


def _judge(question: Question, target: Member, parsed: Parsed) -> tuple[str, Member | None]:
    """Return the error class, and the instance whose value the answer is.

    Where several instances have the value, the one nearest to the target stands for them.
    """
    if not parsed.valid:
        return INVALID, None
    if parsed.value is not None and canonical(parsed.value) == canonical(question.canonical_answer):
        return CORRECT, None if question.answer_type == "yes_no" else target
    others = [one for one in question.binding_context.instances if one is not target]
    if question.answer_type == "yes_no":
        if parsed.value == "no":
            return RECOGNITION, None
        source = _nearest(target, others, "attribute_value", question.proposed_attribute_value)
        return (MISBINDING, source) if source else (RECOGNITION, None)
    if parsed.value is None:
        return OUT_OF_SET, None
    field = "order_label" if question.answer_type == "position" else "attribute_value"
    source = _nearest(target, others, field, parsed.value)
    return (MISBINDING, source) if source else (OUT_OF_SET, None)


def _nearest(target: Member, others: list[Member], field: str, value: str | None) -> Member | None:
    owners = [one for one in others if canonical(getattr(one, field)) == canonical(value or "")]
    return min(owners, key=lambda one: abs(one.order_index - target.order_index), default=None)
