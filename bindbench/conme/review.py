"""Samples for people to verify: review tasks out, what they found in (ConMe, section 4.2)."""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bindbench.conme.samples import Sample
from bindbench.errors import UserError
from bindbench.people.tasks import Choice, Form, Judgement, Task, by_task

# Each is answered with yes or no; a sample is in order if all are.
QUESTIONS = {
    "answer": "Is the answer right?",
    "negative": "Is the wrong answer wrong?",
    "clear": "Is the question clear?",
}
FORM = Form(
    choices=tuple(Choice(name, title, ("yes", "no")) for name, title in QUESTIONS.items()),
    texts=("question", "right_answer", "wrong_answer"),
    image=True,
    comment=True,
)
PictureOf = Callable[[str], bytes]


def tasks(samples: Sequence[Sample], picture: PictureOf) -> list[Task]:
    """Return a review task for each sample.

    Args:
        samples: what people look at.
        picture: returns the PNG of an image id.
    """
    return [
        Task(
            sample.id,
            {
                "question": sample.question,
                "right_answer": sample.answer,
                "wrong_answer": sample.negative,
            },
            "data:image/png;base64," + base64.b64encode(picture(sample.image_id)).decode(),
        )
        for sample in samples
    ]


@dataclass(frozen=True)
class Found:
    """What people found."""

    drawn: np.ndarray  # int64 (n,): the places of the samples that were judged
    right: np.ndarray  # bool (n,): whether everything is in order
    faults: dict[str, int]  # how many samples have a "no" to each question


def judged(samples: Sequence[Sample], judgements: Sequence[Judgement]) -> Found:
    """Return what people found of the samples that they judged.

    Of several annotators the majority counts, question by question; a draw is a "no".

    Args:
        samples: all of the final set.
        judgements: of some of them.

    Raises:
        UserError: nobody has judged any.
    """
    places = {sample.id: i for i, sample in enumerate(samples)}
    said = {
        places[key]: {
            name: sum(one.answers[name] == "yes" for one in own) * 2 > len(own)
            for name in QUESTIONS
        }
        for key, own in by_task(judgements).items()
    }
    if not said:
        raise UserError("Nobody has judged a sample yet: label some tasks, and export them again.")
    drawn = sorted(said)
    return Found(
        np.array(drawn),
        np.array([all(said[i].values()) for i in drawn], bool),
        {name: sum(not said[i][name] for i in drawn) for name in QUESTIONS},
    )
