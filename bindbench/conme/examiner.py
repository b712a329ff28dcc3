"""The strong model of the conversation: it describes, asks, and asks harder questions.

A protocol with two implementations: ``PromptedExaminer`` here, around any answerer, and the agent
of the embedded suite (``bindbench.conme.agent``).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bindbench.conme import prompts
from bindbench.conme.replies import SCHEMA, parse_sets
from bindbench.conme.samples import QuestionSet, Sample
from bindbench.conme.settings import ConmeSettings
from bindbench.errors import Unfinished
from bindbench.models.base import Answerer, Image, Reply, ReplyRequest

YES_NO = ("yes", "no")


@dataclass(frozen=True)
class Described:
    """An image with what the models said of it, before the first round."""

    key: str
    image: Image = field(repr=False)
    own: str  # the strong model's description
    others: Mapping[str, str]  # the targets', by name


@dataclass(frozen=True)
class Answered:
    """An image with the questions of the first round and the targets' answers in words."""

    key: str
    image: Image = field(repr=False)
    sets: tuple[QuestionSet, ...]
    answers: Mapping[str, Sequence[str]]  # of each target, by name: one for each question


@dataclass(frozen=True)
class Asked:
    """What the strong model asks about an image, and what led to it."""

    sets: tuple[QuestionSet, ...]
    replies: tuple[Reply, ...]  # of every attempt
    faults: Mapping[str, int]  # what was left out, over all attempts
    mended: str = ""  # how the reply that counts was made readable
    reason: str = ""  # why there are no questions


@dataclass(frozen=True)
class Checked:
    """What the strong model says of a sample; None: its reply can't be read."""

    answer: bool | None  # the answer is right
    negative: bool | None  # the wrong answer is wrong
    clear: bool | None  # the question is clear, with one right answer
    replies: tuple[Reply, ...]


class Examiner(Protocol):
    """The strong model. Each method gets one batch and returns one result for each entry.

    Raises:
        Unfinished: a server gave no answer for some; what was answered is kept.
    """

    def describe(self, keys: Sequence[str], images: Sequence[Image]) -> list[Reply]:
        """Return a description of each image."""
        ...

    def ask(self, cases: Sequence[Described]) -> list[Asked]:
        """Return the questions of the first round."""
        ...

    def harder(self, cases: Sequence[Answered]) -> list[Asked]:
        """Return the questions of the second round."""
        ...

    def check(self, samples: Sequence[Sample], images: Sequence[Image]) -> list[Checked]:
        """Return what it says of samples that it wrote itself."""
        ...


def within(
    sets: Sequence[QuestionSet], settings: ConmeSettings
) -> tuple[tuple[QuestionSet, ...], dict[str, int]]:
    """Return the sets up to the numbers that were asked for, and how much was left out."""
    faults: Counter[str] = Counter()
    kept = []
    for one in sets[: settings.questions]:
        faults["more negatives than asked for"] += max(len(one.negatives) - settings.negatives, 0)
        kept.append(QuestionSet(one.question, one.answer, one.negatives[: settings.negatives]))
    faults["more questions than asked for"] += max(len(sets) - settings.questions, 0)
    return tuple(kept), {name: count for name, count in faults.items() if count}


@dataclass(frozen=True)
class _Task:
    """One prompt about one image."""

    key: str
    image: Image
    prompt: str


class PromptedExaminer:
    """Asks a model that answers in words.

    Args:
        answerer: the model.
        settings: how many questions, negatives, attempts and tokens.
        describe: the prompt of a description, see ``bindbench.conme.asking``.
    """

    def __init__(self, answerer: Answerer, settings: ConmeSettings, describe: str) -> None:
        self._model, self._settings, self._describe = answerer, settings, describe

    def describe(self, keys: Sequence[str], images: Sequence[Image]) -> list[Reply]:
        """Return a description of each image."""
        most = self._settings.tokens.description
        return self._model.reply(
            [
                ReplyRequest(image, self._describe, max_tokens=most, key=key)
                for key, image in zip(keys, images, strict=True)
            ]
        )

    def ask(self, cases: Sequence[Described]) -> list[Asked]:
        """Return the questions of the first round."""
        count, negatives = self._settings.questions, self._settings.negatives
        return self._asked(
            [
                _Task(c.key, c.image, prompts.first_questions(c.own, c.others, count, negatives))
                for c in cases
            ]
        )

    def harder(self, cases: Sequence[Answered]) -> list[Asked]:
        """Return the questions of the second round."""
        count, negatives = self._settings.questions, self._settings.negatives
        return self._asked(
            [
                _Task(c.key, c.image, prompts.harder_questions(c.sets, c.answers, count, negatives))
                for c in cases
            ]
        )

    def check(self, samples: Sequence[Sample], images: Sequence[Image]) -> list[Checked]:
        """Ask whether each answer is right, the wrong one wrong, and the question clear."""
        requests = [
            ReplyRequest(
                image,
                form.format(question=s.question, answer=s.answer, negative=s.negative),
                options=YES_NO,
                key=f"{s.id}/{name}",
            )
            for s, image in zip(samples, images, strict=True)
            for name, form in prompts.CHECK.items()
        ]
        replies, step = self._model.reply(requests), len(prompts.CHECK)
        parts = [tuple(replies[i : i + step]) for i in range(0, len(replies), step)]
        return [Checked(_said(one[0]), _said(one[1]), _said(one[2]), one) for one in parts]

    def _asked(self, tasks: Sequence[_Task]) -> list[Asked]:
        """Ask until replies can be read, a bounded number of times."""
        found: dict[str, Asked] = {}
        waiting, missing = list(tasks), dict[str, str]()
        hopeless, name = False, ""
        for attempt in range(self._settings.attempts):
            if not waiting:
                break
            try:
                replies = self._model.reply([self._request(t, attempt, found) for t in waiting])
            except Unfinished as error:
                # Those that were answered are in the model's own keeping: another run reads them.
                missing |= error.items
                hopeless, name = error.hopeless, error.model
                break
            for task, reply in zip(waiting, replies, strict=True):
                found[task.key] = self._read(found.get(task.key), reply)
            waiting = [task for task in waiting if not found[task.key].sets]
        if missing:
            raise Unfinished(name, missing, len(tasks), hopeless)
        return [found[task.key] for task in tasks]

    def _request(self, task: _Task, attempt: int, found: Mapping[str, Asked]) -> ReplyRequest:
        before = found.get(task.key)
        prompt = prompts.mended(task.prompt, _faults(before.replies[-1])) if before else task.prompt
        return ReplyRequest(
            task.image,
            prompt,
            max_tokens=self._settings.tokens.questions,
            key=task.key,
            schema=SCHEMA,
            attempt=attempt,
        )

    def _read(self, before: Asked | None, reply: Reply) -> Asked:
        """Add a reply to what came before it."""
        read = parse_sets(reply.text)
        sets, more = within(read.sets, self._settings)
        faults = Counter(before.faults if before else {})
        faults.update(more if sets else {})
        faults.update(_faults(reply) if not sets else read.faults)
        return Asked(
            sets,
            (*(before.replies if before else ()), reply),
            dict(faults),
            read.mended if sets else "",
            "" if sets else ", ".join(_faults(reply)),
        )


def _faults(reply: Reply) -> dict[str, int]:
    """Return what is wrong with a reply that holds no questions."""
    if reply.refused:
        return {"refused": 1}
    faults = dict(parse_sets(reply.text).faults)
    return faults if reply.finished else {"cut off before a whole question": 1} | faults


def _said(reply: Reply) -> bool | None:
    return {"yes": True, "no": False}.get(reply.text)
