"""Asking a judge whether the labels of images are right."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bindbench.concepts import Concept
from bindbench.errors import Unfinished
from bindbench.models import registry
from bindbench.models.base import Answer, Detection, Image, Judge, Question
from bindbench.pipeline.asking import ask_all
from bindbench.pipeline.base import suite_lexicon
from bindbench.suite import RoleSettings, Suite
from bindbench.validation.labels import label_questions, label_verdict


@dataclass(frozen=True)
class Case:
    """An image whose labels are in question."""

    key: str  # names it in a message
    concept: Concept
    image: Image
    detections: Sequence[Detection]  # one for each object of the concept


def judged(
    cases: Sequence[Case], suite: Suite, settings: RoleSettings, min_score: float
) -> list[dict[str, Any]]:
    """Return the verdict on each image's labels, with the answers behind it.

    Args:
        cases: of one shard.
        suite: whose vocabularies they use.
        settings: of the judge.
        min_score: least score of a right answer.

    Returns:
        ``label`` and ``reason`` as of ``label_verdict``, ``answers``, ``answer_scores`` (of the
        chosen options) and ``answer_raw`` (what a server really said, else null).

    Raises:
        Unfinished: a server gave no answer for some images.
    """
    judge: Judge = registry.load("judge", settings, suite.profile.vocabularies)
    lexicon = suite_lexicon(suite)

    def judge_all(batch: Sequence[Case]) -> list[dict[str, Any]]:
        questions = [label_questions(case.concept, lexicon) for case in batch]
        found = ask(
            judge,
            [case.key for case in batch],
            [case.image for case in batch],
            [case.detections for case in batch],
            questions,
        )
        verdicts = [
            label_verdict(case.concept, asked, answers, min_score)
            for case, asked, answers in zip(batch, questions, found, strict=True)
        ]
        return [
            {"label": label, "reason": reason} | _columns(answers)
            for (label, reason), answers in zip(verdicts, found, strict=True)
        ]

    return ask_all(cases, settings.batch_size, judge_all, lambda case: case.key)


def ask(
    judge: Judge,
    keys: Sequence[str],
    images: Sequence[Image],
    detections: Sequence[Sequence[Detection]],
    questions: Sequence[Sequence[Question]],
) -> list[list[Answer]]:
    """Return a judge's answers about one batch of images.

    Raises:
        Unfinished: a server gave no answer for some images, which it names by their keys.
    """
    try:
        return judge.answer(images, detections, questions)
    except Unfinished as error:  # a judge knows images by their place in the batch
        named = {keys[int(place)]: why for place, why in error.items.items()}
        raise Unfinished(error.model, named, len(keys), error.hopeless) from error


def _columns(answers: Sequence[Answer]) -> dict[str, Any]:
    return {
        "answers": [answer.option for answer in answers],
        "answer_scores": [max(answer.scores) for answer in answers],
        "answer_raw": [answer.raw for answer in answers],
    }
