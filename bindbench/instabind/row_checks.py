"""Does an image show its row? Questions for a judge, and verdicts from detections and answers.

They know no model. Each thing is shown to the judge alone, cut out of the image, so that a judge
that takes one thing's attribute for another's can't pass a wrong row; sizes alone are compared in
the whole image.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bindbench.instabind.audit import order_labels
from bindbench.instabind.limits import Limits, against, left_to_right
from bindbench.instabind.rows import MATERIALS, SIZES, SOLID, Row
from bindbench.models.base import Answer, Detection, Image, Question
from bindbench.validation.labels import LABEL, UNCLEAR, UNSURE
from bindbench.vocabulary import Lexicon

PADDING = 0.15  # of a box's sides, as in the crops that models are shown
MARGIN = 0.35  # of the longer side, around that: the last pixels repeated
LARGER, SMALLER = "larger than", "smaller than"


@dataclass(frozen=True)
class Look:
    """A picture for the judge, with what is in it and what is asked."""

    image: Image
    detections: tuple[Detection, ...]
    questions: tuple[Question, ...]
    right: tuple[str, ...]  # the answer that each question should have
    about: tuple[str, ...]  # names each in a message


def presence(
    row: Row, detections: Sequence[Detection], size: tuple[int, int], limits: Limits
) -> tuple[str, list[Detection]]:
    """Check that the row's things are there, as many as asked for, in a clear order.

    Args:
        row: what the image should show.
        detections: what a detector found when asked for the row's things; other things don't count.
        size: of the image, width and height in pixels.
        limits: of any group.

    Returns:
        The verdict, ``pass``, ``missing``, ``count`` (too many) or one of the reasons of
        ``bindbench.instabind.limits``, and the row's things from left to right.
    """
    found = [one for one in detections if one.name in row.objects]
    boxes = [one.box for one in found]
    ordered = [found[k] for k in left_to_right(boxes)]
    if len(found) != len(row.values):
        return ("missing" if len(found) < len(row.values) else "count"), ordered
    return against(boxes, *size, limits) or "pass", ordered


def looks(row: Row, image: Image, things: Sequence[Detection], lexicon: Lexicon) -> list[Look]:
    """Return what to ask a judge about things that stand in a row's order."""
    if row.kind == "size":
        return [_sizes(row, image, things)]
    text, options = _question(row, lexicon)
    places = order_labels(len(things))
    return [
        _alone(image, thing, Question(text, options, 0), value, place)
        for thing, value, place in zip(things, row.values, places, strict=True)
    ]


def _question(row: Row, lexicon: Lexicon) -> tuple[str, tuple[str, ...]]:
    if row.kind == "shape":
        return f"What is the shape of the {SOLID}?", lexicon.shapes.names
    if row.kind == "material":
        return f"What is the {row.class_name} made of?", MATERIALS
    return f"What is the color of the {row.class_name}?", lexicon.colors.names


def _alone(image: Image, thing: Detection, question: Question, right: str, place: str) -> Look:
    """Return a look at one thing, cut out."""
    left, top, right_, bottom = thing.box
    x, y = PADDING * (right_ - left), PADDING * (bottom - top)
    height, width = image.shape[:2]
    a, b = max(0, int(left - x)), max(0, int(top - y))
    c, d = min(width, int(np.ceil(right_ + x))), min(height, int(np.ceil(bottom + y)))
    m = round(MARGIN * max(c - a, d - b))
    box = (left - a + m, top - b + m, right_ - a + m, bottom - b + m)
    part = np.pad(image[b:d, a:c], ((m, m), (m, m), (0, 0)), mode="edge")
    inside = Detection(thing.name, thing.score, box, np.pad(thing.mask[b:d, a:c], m))
    return Look(part, (inside,), (question,), (right,), (place,))


def _sizes(row: Row, image: Image, things: Sequence[Detection]) -> Look:
    """Return a look at the whole: each thing against the next larger one."""
    places = order_labels(len(things))
    order = sorted(range(len(things)), key=lambda k: list(SIZES).index(row.values[k]))
    pairs = list(pairwise(order))
    questions = tuple(
        Question(
            f"Is the {places[a]} {row.class_name} {LARGER} or {SMALLER} the {places[b]} "
            f"{row.class_name}?",
            (LARGER, SMALLER, UNCLEAR),
            a,
            b,
        )
        for a, b in pairs
    )
    about = tuple(f"{places[a]}, {places[b]}" for a, b in pairs)
    return Look(image, tuple(things), questions, (SMALLER,) * len(pairs), about)


def label(look: Look, answers: Sequence[Answer], least: float) -> tuple[str, str]:
    """Return the verdict on a look, ``pass``, ``label`` or ``unsure``, and its reason.

    Args:
        look: what was asked.
        answers: one for each question.
        least: score of a right answer, in the judge's own unit.
    """
    unsure = ""
    for question, right, about, answer in zip(
        look.questions, look.right, look.about, answers, strict=True
    ):
        if not answer.option:
            unsure = unsure or f"{about}: no answer"
        elif answer.option != right:
            return LABEL, f"{about}: {answer.option}, not {right}"
        elif (score := answer.scores[question.options.index(right)]) < least:
            unsure = unsure or f"{about}: {right} by {score:.2f} only"
    return (UNSURE, unsure) if unsure else ("pass", "")
