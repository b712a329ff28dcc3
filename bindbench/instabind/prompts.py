"""What a model is asked, by setting, and in whose words (InstaBind-Lite, sections VI A and VIII).

``plain`` is for models that were trained on all kinds of text; ``nano`` keeps to the words and the
forms that nano:vlm was trained on, which are those of the questions themselves, without a word on
how to answer.
"""

from dataclasses import dataclass
from typing import Literal

from bindbench.instabind.conditions import INSTANCE_FIRST, Condition
from bindbench.instabind.parsing import YES_NO, canonical
from bindbench.instabind.questions import Question, what_is

Wording = Literal["plain", "nano"]

# What a localized view calls the target.
PLACES: dict[Wording, dict[str, str]] = {
    "plain": {
        "crop_oracle": "{noun} shown in this image",
        "context_crop": "{noun} closest to the center of this image",
        "box_guided": "{noun} inside the box that is drawn in this image",
        "dim_non_target": "{noun} in the part of this image that is not darkened",
    },
    "nano": dict.fromkeys(
        ("crop_oracle", "context_crop", "box_guided", "dim_non_target"), "{noun}"
    ),
}
HOW = {
    "attribute": "Answer with the {attribute} only.",
    "position": "Answer with the letter of the right option only.",
    "yes_no": "Answer with yes or no only.",
}
LIST_FIRST: dict[Wording, str] = {
    "plain": "First list every {noun} in this image from left to right, each with its {attribute}. "
    "Then answer this question: {question}\nEnd with a line of the form: "
    "Final answer: <short answer>",
    "nano": "List the {attribute}s from left to right. {question}",
}


@dataclass(frozen=True)
class Prompt:
    """What is asked."""

    text: str
    options: tuple[str, ...]  # a choice is made among these; (): the answer is free


def prompt(question: Question, where: Condition, wording: Wording) -> Prompt:
    """Return what is asked about a question's group in a setting.

    Args:
        question: of a level that the setting asks.
        where: the setting.
        wording: whose words.
    """
    noun, attribute = question.class_name, question.attribute_key.replace("_", " ")
    text = question.question
    if where.localized:
        place = PLACES[wording][where.base].format(noun=noun)
        text = f"What {what_is(question.attribute_key, place)}?"
    elif where.choice or wording == "nano":
        text = text.partition("\n")[0]  # the options are given, or no word of them was ever read
    if where.choice:
        return Prompt(text, options(question))
    if where.base == INSTANCE_FIRST:
        form = LIST_FIRST[wording]
        return Prompt(form.format(noun=noun, attribute=attribute, question=text), ())
    if wording == "nano":
        return Prompt(text, ())
    how = HOW[question.answer_type].format(attribute=attribute)
    return Prompt(f"{text}\n{how}" if question.answer_options else f"{text} {how}", ())


def options(question: Question) -> tuple[str, ...]:
    """Return what a question can be answered with: the group's values, places, or yes and no."""
    members = question.binding_context.instances
    if question.answer_type == "yes_no":
        return YES_NO
    if question.answer_type == "position":
        return tuple(one.order_label for one in members)
    return tuple(dict.fromkeys(canonical(one.attribute_value) for one in members))
