"""The strong model of the embedded suite: it sees a render through detector and judge.

It is composed, not trained: what detector and judge are sure of is listed as questions
(``bindbench.conme.sight``), and what the targets said decides which are asked. The first round asks
what their descriptions got wrong or left out; the second asks about the things whose questions they
answered wrongly, and about pairs of things, where several details have to be put together. What a
target said wrongly is offered as a wrong answer.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any

from bindbench.conme.examiner import Answered, Asked, Checked, Described, within
from bindbench.conme.samples import QuestionSet, Sample, plain
from bindbench.conme.settings import ConmeSettings
from bindbench.conme.sight import AXES, JOINT, Axis, Fact, Facts, Sight
from bindbench.models.base import Detection, Detector, Image, Judge, Question, Reply
from bindbench.validation.labels import UNCLEAR
from bindbench.vocabulary import Lexicon

SEEN = 0.5  # least score of a detection


class RenderExaminer:
    """Describes and asks by what a detector and a judge are sure of.

    Args:
        detector: finds the vocabularies' things.
        judge: says their colors and how they stand to each other.
        lexicon: the vocabularies.
        settings: how many questions and wrong answers.
        sure: least score of an answer of the judge that it builds on.
    """

    def __init__(
        self,
        detector: Detector,
        judge: Judge,
        lexicon: Lexicon,
        settings: ConmeSettings,
        sure: float,
    ) -> None:
        self._detector, self._judge, self._lexicon = detector, judge, lexicon
        self._settings, self._sure = settings, sure
        self._facts = Facts(lexicon)
        self._nouns = tuple(dict.fromkeys([*lexicon.objects.names, *lexicon.shapes.names]))

    def describe(self, keys: Sequence[str], images: Sequence[Image]) -> list[Reply]:
        """Return what it sees in each image, as plain sentences."""
        return [Reply(self._told(sight)) for sight in self.sights(images)]

    def ask(self, cases: Sequence[Described]) -> list[Asked]:
        """Ask what the targets' descriptions got wrong or left out."""
        sights = self.sights([case.image for case in cases])
        return [
            self._asked(self._first(case, sight), sight, _words(case.others.values()))
            for case, sight in zip(cases, sights, strict=True)
        ]

    def harder(self, cases: Sequence[Answered]) -> list[Asked]:
        """Ask about what the targets answered wrongly, and about pairs of things."""
        sights = self.sights([case.image for case in cases])
        return [
            self._asked(
                self._second(case, sight),
                sight,
                _words(text for given in case.answers.values() for text in given),
            )
            for case, sight in zip(cases, sights, strict=True)
        ]

    def check(self, samples: Sequence[Sample], images: Sequence[Image]) -> list[Checked]:
        """Look again: is the question one that it would ask, with this answer?"""
        return [
            self._checked(sample, {fact.question: fact for fact in self._facts.of(sight)})
            for sample, sight in zip(samples, self.sights(images), strict=True)
        ]

    def sights(self, images: Sequence[Image]) -> list[Sight]:
        """Return what it sees in each image."""
        found = self._detector.detect(images, [self._nouns] * len(images))
        seen = [[one for one in things if one.score >= SEEN] for things in found]
        questions = [self._questions(things) for things in seen]
        asked = [[question for _, question in own] for own in questions]
        answers = self._judge.answer(images, seen, asked)
        sights = []
        for things, own, given in zip(seen, questions, answers, strict=True):
            colors = [""] * len(things)
            signs: dict[tuple[int, int, Axis], int] = {}
            for (what, question), answer in zip(own, given, strict=True):
                sure = bool(answer.option) and max(answer.scores) >= self._sure
                if sure and isinstance(what, int):
                    colors[what] = answer.option
                elif sure and not isinstance(what, int):
                    signs[what] = 0 if answer.option == UNCLEAR else _sign(question, answer.option)
            sights.append(Sight(tuple(one.name for one in things), tuple(colors), signs))
        return sights

    def _questions(
        self, things: Sequence[Detection]
    ) -> list[tuple[int | tuple[int, int, Axis], Question]]:
        """Ask the judge for every color, and for the order of every two things on each axis."""
        colors = self._lexicon.colors.names
        found: list[tuple[int | tuple[int, int, Axis], Question]] = [
            (i, Question(f"What is the color of the {one.name}?", colors, i))
            for i, one in enumerate(things)
        ]
        for i in range(len(things)):
            for j in range(i + 1, len(things)):
                for axis in AXES:
                    options = self._options(axis)
                    first, second = things[i].name, things[j].name
                    text = f"Is the {first} {options[0]} or {options[1]} the {second}?"
                    found.append(((i, j, axis), Question(text, (*options, UNCLEAR), i, j)))
        return found

    def _options(self, axis: Axis) -> tuple[str, str]:
        """Return the relations of an axis: that of direction 1, then its inverse."""
        entries = (*self._lexicon.positions.entries, *self._lexicon.sizes.entries)
        along = next(e for e in entries if e.axis == axis and e.direction == 1)
        return along.name, along.inverse

    def _told(self, sight: Sight) -> str:
        things = [f"{c} {n}".strip() for n, c in zip(sight.nouns, sight.colors, strict=True)]
        joint = [fact for fact in self._facts.of(sight) if fact.kind == "relation"]
        told = [f"There are {len(things)} objects: {', '.join(things)}."] if things else []
        told += [f"{fact.question} {fact.answer}." for fact in joint]
        return " ".join(told)

    def _first(self, case: Described, sight: Sight) -> list[Fact]:
        texts = [plain(text) for text in case.others.values()]
        facts = [fact for fact in self._facts.of(sight) if fact.kind != "pair"]
        return _ranked(facts, [-sum(self._lack(t, f, sight) for t in texts) for f in facts])

    def _lack(self, text: str, fact: Fact, sight: Sight) -> int:
        """Return how much a description lacks of a fact: 2 a wrong color, 1 left out, 0 nothing.

        A color counts where it stands right before the thing's name; of anything else, the things
        and the answer must be named.
        """
        if fact.kind in ("color", "thing"):
            noun, color = sight.nouns[fact.about[0]], sight.colors[fact.about[0]]
            if _names(text, f"{color} {noun}"):
                return 0
            others = (name for name in self._lexicon.colors.names if name != color)
            return 2 if any(_names(text, f"{name} {noun}") for name in others) else 1
        told = [sight.nouns[i] for i in fact.about]
        told += [] if fact.kind == "count" else [fact.answer]
        return int(not all(_names(text, word) for word in told))

    def _second(self, case: Answered, sight: Sight) -> list[Fact]:
        before = {one.question for one in case.sets}
        known = {fact.question: fact for fact in self._facts.of(sight)}
        wrong: Counter[int] = Counter()
        for at, one in enumerate(case.sets):
            fact = known.get(one.question)
            for given in case.answers.values():
                if fact and not _names(given[at], one.answer):
                    wrong.update(fact.about)
        facts = [fact for fact in known.values() if fact.question not in before]
        missed = [sum(wrong[i] for i in fact.about) / len(fact.about) for fact in facts]
        return _ranked(
            facts, [(fact.kind not in JOINT, -m) for fact, m in zip(facts, missed, strict=True)]
        )

    def _asked(self, facts: Sequence[Fact], sight: Sight, said: Counter[str]) -> Asked:
        """Write the questions down.

        Of the wrong answers come first what targets said of the very thing, then what they said.
        """

        def unsaid(fact: Fact, word: str) -> tuple[int, int]:
            nouns = [sight.nouns[i] for i in fact.about]
            return -sum(said[f"{word} {noun}"] for noun in nouns), -said[word]

        found = [
            QuestionSet(
                fact.question,
                fact.answer,
                tuple(sorted(fact.wrong, key=lambda word, fact=fact: unsaid(fact, word))),
            )
            for fact in facts
        ]
        sets, _ = within(found, self._settings)  # all that could be asked was listed
        text = json.dumps({"questions": [asdict(one) for one in sets]})
        reason = "" if sets else "nothing in sight that it is sure of"
        return Asked(sets, (Reply(text),), {}, reason=reason)

    def _checked(self, sample: Sample, facts: dict[str, Fact]) -> Checked:
        fact = facts.get(sample.question)
        if fact is None:
            return Checked(None, None, False, ())
        return Checked(fact.answer == sample.answer, sample.negative in fact.wrong, True, ())


def _sign(question: Question, option: str) -> int:
    return 1 if option == question.options[0] else -1


def _words(texts: Iterable[str]) -> Counter[str]:
    """Count the words of texts, and every two in a row: some names are of two words."""
    found: Counter[str] = Counter()
    for text in texts:
        words = re.findall(r"[a-z0-9'-]+", text.casefold())
        found.update(words)
        found.update(" ".join(pair) for pair in pairwise(words))
    return found


def _names(text: str, answer: str) -> bool:
    """Whether a text names an answer, as whole words; nano:vlm writes no determiners."""
    return re.search(rf"\b{re.escape(_bare(answer))}\b", _bare(text)) is not None


def _bare(text: str) -> str:
    return re.sub(r"\b(?:the|an?|some) ", "", plain(text))


def _ranked(facts: Sequence[Fact], keys: Sequence[Any]) -> list[Fact]:
    """Return facts by their keys; of equal keys one of each kind, then the next of each."""
    seen: Counter[Any] = Counter()
    places = []
    for at, (fact, key) in enumerate(zip(facts, keys, strict=True)):
        places.append((key, seen[key, fact.kind], at))
        seen[key, fact.kind] += 1
    return [facts[at] for *_, at in sorted(places)]
