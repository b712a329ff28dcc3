"""Asking a judge whether the labels of images are right."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bindbench.concepts import Concept
from bindbench.errors import Unfinished
from bindbench.models import registry
from bindbench.models.base import Answer, Detection, Image, Judge
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

    def ask(batch: Sequence[Case]) -> list[dict[str, Any]]:
        questions = [label_questions(case.concept, lexicon) for case in batch]
        try:
            found = judge.answer(
                [case.image for case in batch], [case.detections for case in batch], questions
            )
        except Unfinished as error:  # a judge knows images by their place in the batch
            named = {batch[int(place)].key: why for place, why in error.items.items()}
            raise Unfinished(error.model, named, len(batch), error.hopeless) from error
        verdicts = [
            label_verdict(case.concept, asked, answers, min_score)
            for case, asked, answers in zip(batch, questions, found, strict=True)
        ]
        return [
            {"label": label, "reason": reason} | _columns(answers)
            for (label, reason), answers in zip(verdicts, found, strict=True)
        ]

    return ask_all(cases, settings.batch_size, ask, lambda case: case.key)


def _columns(answers: Sequence[Answer]) -> dict[str, Any]:
    return {
        "answers": [answer.option for answer in answers],
        "answer_scores": [max(answer.scores) for answer in answers],
        "answer_raw": [answer.raw for answer in answers],
    }
