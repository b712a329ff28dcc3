"""Were the questions truly right? What a renderer truly drew answers, after the fact."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, Literal

import numpy as np

from bindbench.analysis.resampling import Estimate, proportion
from bindbench.conme.drawn import Seen, seen
from bindbench.conme.samples import Sample, plain
from bindbench.conme.sight import AXES, Axis, Facts, Sight
from bindbench.rendering.camera import Camera
from bindbench.rendering.scenes import Item
from bindbench.vocabulary import Lexicon

Verdict = Literal["right", "wrong", "undecided"]
# A relation is clear from an offset of 0.15 of the side or a ratio of areas of 1.5 (NUMBERS:
# semantics). So near to these, the rounding to pixels decides, and a sample is left undecided.
CLEAR_OFFSET, NO_OFFSET = 0.158, 0.142  # a pixel of 128
CLEAR_AREA, NO_AREA = 1.55, 1.45


def true_sight(truth: Mapping[str, Any], lexicon: Lexicon) -> Sight:
    """Return what a scene's record says is to be seen.

    Args:
        truth: of ``bindbench.conme.drawn.with_camera``; without the camera, how things stand to
            each other is in doubt.
        lexicon: names the meshes.
    """
    items = [Item(**{**one, "leak": None}) for one in truth["items"]]
    # A color that leaked over a part of a thing is in doubt.
    colors = tuple("" if one.get("leak") else one["color"] for one in truth["items"])
    return Sight(tuple(item.noun for item in items), colors, _signs(truth, items, lexicon))


def _signs(
    truth: Mapping[str, Any], items: Sequence[Item], lexicon: Lexicon
) -> dict[tuple[int, int, Axis], int]:
    if truth["camera"] is None:
        return {}
    camera = Camera(**truth["camera"])
    nouns = {e.name: e for e in (*lexicon.objects.entries, *lexicon.shapes.entries)}
    things = [seen(item, nouns[item.noun], camera) for item in items]
    signs: dict[tuple[int, int, Axis], int] = {}
    for (i, one), (j, other) in combinations(enumerate(things), 2):
        for axis in AXES:
            sign = _sign(one, other, axis) if one and other else None
            if sign is not None:
                signs[i, j, axis] = sign
    return signs


def _sign(one: Seen, other: Seen, axis: Axis) -> int | None:
    """Return 1 or -1 where one clearly lies further along an axis, 0 where neither does."""
    if axis == "size":
        ratio = one.area / other.area
        size, clear, none = max(ratio, 1 / ratio), CLEAR_AREA, NO_AREA
        sign = 1 if ratio > 1 else -1
    else:
        k = 0 if axis == "horizontal" else 1
        by = one.centre[k] - other.centre[k]
        size, clear, none, sign = abs(by), CLEAR_OFFSET, NO_OFFSET, 1 if by > 0 else -1
    return sign if size >= clear else (0 if size <= none else None)


class Truth:
    """What is truly to be asked about an image.

    Args:
        sight: what is truly there.
        lexicon: the vocabularies.
    """

    def __init__(self, sight: Sight, lexicon: Lexicon) -> None:
        self._sight, self._lexicon = sight, lexicon
        self._facts = {fact.question: fact for fact in Facts(lexicon).of(sight)}

    def verdict(self, sample: Sample) -> tuple[Verdict, str]:
        """Return whether a sample's answer is truly right and its wrong answer wrong, or why not.

        Undecided is what the record does not answer: other kinds of questions, colors that leaked,
        and offsets and sizes at the very threshold.
        """
        fact = self._facts.get(sample.question)
        if fact is None:
            reason = self._mistaken(sample.question)
            return ("wrong", reason) if reason else ("undecided", "the truth does not say")
        if plain(fact.answer) != plain(sample.answer):
            return "wrong", f"the answer is {fact.answer}"
        if plain(sample.negative) not in map(plain, fact.wrong):
            return "undecided", "the wrong answer may be right as well"
        return "right", ""

    def _mistaken(self, question: str) -> str:
        """Return what a question takes for granted and is not so; "": nothing that is known."""
        sight, words = self._sight, self._lexicon
        nouns = _named(question, [*words.objects.names, *words.shapes.names])
        for noun in nouns:
            if sight.only(noun) is None:
                return f"there are {sight.nouns.count(noun)} of {noun}"
        for color in _named(question, words.colors.names) if all(sight.colors) else ():
            if color not in sight.colors:
                return f"nothing is {color}"
        places = [sight.nouns.index(noun) for noun in nouns]
        relations = (*words.positions.entries, *words.sizes.entries)
        axes: set[Axis] = {r.axis for r in relations if _named(question, [r.name])}
        if len(places) == 2 and any(sight.sign(places[0], places[1], a) == 0 for a in axes):
            return "neither relation holds"
        return ""


def _named(question: str, names: Iterable[str]) -> list[str]:
    """Return the names that a question holds as words, but those within longer ones."""
    text, found = plain(question), []
    for name in sorted(names, key=lambda name: (-len(name), name)):
        text, count = re.subn(rf"\b{re.escape(name)}\b", "_", text)
        found += [name] if count else []
    return found


def error_rate(verdicts: Sequence[Verdict], images: Sequence[str]) -> Estimate | None:
    """Return the share of wrong samples among those that are decided; None: none is.

    Args:
        verdicts: of the samples.
        images: of each sample: the interval is clustered by image.
    """
    decided = np.array([verdict != "undecided" for verdict in verdicts], bool)
    if not decided.any():
        return None
    wrong = np.array([verdict == "wrong" for verdict in verdicts])
    return proportion(wrong[decided], np.array(images, object)[decided])
