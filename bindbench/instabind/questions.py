"""The four levels of questions, generated from annotations, in the authors' JSON schema.

InstaBind-Lite, section IV D. L1: position to attribute. L2: attribute to position, lettered. L3:
the attribute of a neighbor of an instance that is named by its attribute. L4: is it so? One true
and one false claim for each instance.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from bindbench.errors import UserError
from bindbench.instabind.annotations import Annotations, Group, Instance, Neighbors, Picture
from bindbench.instabind.located_json import invalid, read_json_lines
from bindbench.instabind.parsing import LETTERS, canonical
from bindbench.text_files import write_text

Level = Literal["L1", "L2", "L3", "L4"]
LEVELS: tuple[Level, ...] = ("L1", "L2", "L3", "L4")
WORN = "upper_clothing_color"
_TYPES = {
    "L1": ("position_to_attribute", "attribute"),
    "L2": ("attribute_to_position", "position"),
    "L3": ("relation_interference", "attribute"),
    "L4": ("instance_verification", "yes_no"),
}


class Part(BaseModel):
    """A part of the schema, with exact types."""

    model_config = ConfigDict(strict=True, frozen=True, extra="allow")


class Member(Part):
    """An instance of the question's group."""

    instance_id: str
    order_index: int = Field(ge=1)
    order_label: str
    attribute_value: str
    neighbors: Neighbors


class Context(Part):
    """What is needed to tell whose value a wrong answer is."""

    group_id: str
    class_name: str
    spatial_axis: str
    group_size: int
    target_instance_id: str
    target_order_index: int
    target_order_label: str
    queried_attribute_key: str
    instances: list[Member] = Field(min_length=2)


class Option(Part):
    """A lettered answer of an L2 question."""

    label: str
    text: str
    is_correct: bool


class Question(Part):
    """One question, its answer, and its group."""

    question_id: str = Field(min_length=1)
    image_id: str
    image_path: str
    group_id: str
    class_name: str
    level: Level
    question_type: str
    question: str
    answer_type: Literal["attribute", "position", "yes_no"]
    canonical_answer: str
    attribute_key: str
    target_instance_id: str
    binding_context: Context
    answer_options: list[Option] | None = None  # L2
    anchor_instance_id: str | None = None  # L3: the instance that is named
    anchor_attribute_value: str | None = None
    relation: Literal["left", "right"] | None = None  # L3: on which side of the anchor
    proposed_attribute_value: str | None = None  # L4
    proposed_attribute_source_instance_id: str | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        kind = _TYPES[self.level][1]
        if self.answer_type != kind:
            raise ValueError(f"answer_type of a question of {self.level} must be {kind}")
        if self.level == "L4" and self.proposed_attribute_value is None:
            raise ValueError("a question of L4 needs its proposed_attribute_value")
        members = self.binding_context.instances
        if all(one.instance_id != self.target_instance_id for one in members):
            raise ValueError(
                f"the target {self.target_instance_id!r} is not among the instances of "
                "binding_context"
            )
        return self

    @property
    def target(self) -> Member:
        """The instance that is asked about."""
        return next(
            one
            for one in self.binding_context.instances
            if one.instance_id == self.target_instance_id
        )

    def record(self) -> dict[str, object]:
        """Return the question in the authors' schema: a level has only its own fields."""
        return self.model_dump(exclude_unset=True)


def questions(annotations: Annotations) -> Iterator[Question]:
    """Yield the questions: by image, group, level and instance."""
    for picture in annotations.images:
        for group in picture.same_class_groups:
            yield from group_questions(picture, group)


def group_questions(picture: Picture, group: Group) -> Iterator[Question]:
    """Yield one group's questions.

    An attribute names an instance (L2, L3) only where no other instance of the group has it; a
    claim is false (L4) only where its value is not the target's. Values are compared as answers
    are read, so that "gray" and "grey" are one.
    """
    names = [canonical(value) for value in group.values()]
    unique = [names.count(name) == 1 for name in names]
    every = list(enumerate(group.instances))
    for _, target in every:
        yield _position_to_attribute(picture, group, target)
    for i, target in every:
        if unique[i]:
            yield _attribute_to_position(picture, group, target)
    for i, anchor in every:
        for side, j in (("left", i - 1), ("right", i + 1)):
            if unique[i] and 0 <= j < len(every):
                yield _beside(picture, group, anchor, side, group.instances[j])
    for i, target in every:
        yield _claim(picture, group, target, target)
        nearby = [j for j in (i - 1, i + 1) if 0 <= j < len(every)]
        others = nearby + [j for j, _ in every if j not in (*nearby, i)]
        false = next((j for j in others if names[j] != names[i]), None)
        if false is not None:
            yield _claim(picture, group, target, group.instances[false])


def _value(group: Group, one: Instance) -> str:
    return one.attributes[group.attribute_focus]


def what_is(attribute: str, noun: str) -> str:
    """Return "color is the car" or "color is the upper clothing of the person"."""
    if attribute == WORN:
        return f"color is the upper clothing of the {noun}"
    return f"{attribute.replace('_', ' ')} is the {noun}"


def _named(group: Group, one: Instance) -> str:
    """Return the class, with the value that names the instance: "red car"."""
    if group.attribute_focus == WORN:
        return f"{group.class_name} wearing {_value(group, one)} upper clothing"
    return f"{_value(group, one)} {group.class_name}"


def _position_to_attribute(picture: Picture, group: Group, target: Instance) -> Question:
    noun = f"{target.order_label} {group.class_name}"
    text = f"What {what_is(group.attribute_focus, noun)}?"
    end = f"{target.instance_id}_{group.attribute_focus}"
    return _question(picture, group, target, "L1", end, text, _value(group, target))


def _attribute_to_position(picture: Picture, group: Group, target: Instance) -> Question:
    options = [
        Option(label=letter, text=one.order_label, is_correct=one is target)
        for letter, one in zip(LETTERS, group.instances, strict=False)
    ]
    lines = [f"{option.label}. {option.text}" for option in options]
    text = "\n".join([f"Where is the {_named(group, target)}?", *lines])
    end = f"{target.instance_id}_{group.attribute_focus}_{_value(group, target)}"
    return _question(
        picture, group, target, "L2", end, text, target.order_label, answer_options=options
    )


def _beside(
    picture: Picture, group: Group, anchor: Instance, side: str, target: Instance
) -> Question:
    noun = f"{group.class_name} immediately to the {side} of the {_named(group, anchor)}"
    return _question(
        picture,
        group,
        target,
        "L3",
        f"{anchor.instance_id}_{side}_{target.instance_id}",
        f"What {what_is(group.attribute_focus, noun)}?",
        _value(group, target),
        anchor_instance_id=anchor.instance_id,
        anchor_attribute_value=_value(group, anchor),
        relation=side,
    )


def _claim(picture: Picture, group: Group, target: Instance, source: Instance) -> Question:
    value, answer = _value(group, source), "yes" if source is target else "no"
    owner = "upper clothing of the " if group.attribute_focus == WORN else ""
    return _question(
        picture,
        group,
        target,
        "L4",
        f"{target.instance_id}_{group.attribute_focus}_{value}_{answer}",
        f"Is the {owner}{target.order_label} {group.class_name} {value}?",
        answer,
        proposed_attribute_value=value,
        proposed_attribute_source_instance_id=source.instance_id,
    )


def _question(
    picture: Picture,
    group: Group,
    target: Instance,
    level: Level,
    end: str,
    text: str,
    answer: str,
    **own: object,
) -> Question:
    kind, answer_type = _TYPES[level]
    fields = {
        "question_id": f"{picture.image_id}_{group.group_id}_{level.lower()}_{end}",
        "image_id": picture.image_id,
        "image_path": picture.image_path,
        "group_id": group.group_id,
        "class_name": group.class_name,
        "level": level,
        "question_type": kind,
        "question": text,
        "answer_type": answer_type,
        "canonical_answer": answer,
        "attribute_key": group.attribute_focus,
        "target_instance_id": target.instance_id,
        "binding_context": _context(group, target),
    }
    return Question.model_validate(fields | own)


def _context(group: Group, target: Instance) -> Context:
    return Context(
        group_id=group.group_id,
        class_name=group.class_name,
        spatial_axis=group.spatial_axis,
        group_size=len(group.instances),
        target_instance_id=target.instance_id,
        target_order_index=target.order_index,
        target_order_label=target.order_label,
        queried_attribute_key=group.attribute_focus,
        instances=[
            Member(
                instance_id=one.instance_id,
                order_index=one.order_index,
                order_label=one.order_label,
                attribute_value=_value(group, one),
                neighbors=one.neighbors,
            )
            for one in group.instances
        ],
    )


def write_questions(path: Path, rows: Iterable[Question]) -> None:
    """Write questions, one JSON object a line.

    Raises:
        UserError: the file cannot be written.
    """
    text = "".join(json.dumps(row.record(), ensure_ascii=False) + "\n" for row in rows)
    write_text(path, text)


def read_questions(path: Path) -> dict[str, Question]:
    """Return a file's questions by id, in its order.

    Raises:
        UserError: a line is not a question, or has the id of another: names file and line.
    """
    found: dict[str, Question] = {}
    lines: dict[str, int] = {}
    for line, row in read_json_lines(path):
        try:
            question = Question.model_validate(row)
        except ValidationError as error:
            raise invalid(path, error, row, line) from None
        key = question.question_id
        if key in found:
            raise UserError(
                f"{path}, line {line}: the question {key!r} is also in line {lines[key]}."
            )
        found[key], lines[key] = question, line
    if not found:
        raise UserError(f"{path} holds no questions.")
    return found
