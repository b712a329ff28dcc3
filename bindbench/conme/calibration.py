"""Were the questions truly right? What a renderer truly drew answers, after the fact."""

import math
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
from bindbench.vocabulary import Lexicon, Relation

Verdict = Literal["right", "wrong", "undecided"]
# A relation is clear from an offset of 0.15 of the side or a ratio of areas of 1.5 (NUMBERS:
# semantics). A judge that counts pixels of an image of 128 may draw the line this much lower or
# higher; where that decides, a sample is left undecided.
LOW, HIGH = (0.142, 1.45), (0.158, 1.55)


def true_sights(truth: Mapping[str, Any], lexicon: Lexicon) -> list[Sight]:
    """Return what a scene's record says is to be seen, with the line drawn low and high.

    Args:
        truth: of ``bindbench.conme.drawn.with_camera``; without the camera, how things stand to
            each other is in doubt.
        lexicon: names the meshes.
    """
    items = [Item(**{**one, "leak": None}) for one in truth["items"]]
    # A color that leaked over a part of a thing is in doubt.
    colors = tuple("" if one.get("leak") else one["color"] for one in truth["items"])
    camera = Camera(**truth["camera"]) if truth["camera"] else None
    nouns = {e.name: e for e in (*lexicon.objects.entries, *lexicon.shapes.entries)}
    things = [seen(item, nouns[item.noun], camera) for item in items] if camera else []
    names = tuple(item.noun for item in items)
    return [Sight(names, colors, _signs(things, *line)) for line in (LOW, HIGH)]


def _signs(
    things: Sequence[Seen | None], offset: float, ratio: float
) -> dict[tuple[int, int, Axis], int]:
    """Return how things stand to each other, by the least offset and ratio that are clear."""
    signs: dict[tuple[int, int, Axis], int] = {}
    for (i, one), (j, other) in combinations(enumerate(things), 2):
        for axis in AXES if one and other else ():
            assert one and other
            if axis == "size":
                by, clear = math.log(one.area / other.area), math.log(ratio)
            else:
                k = 0 if axis == "horizontal" else 1
                by, clear = one.centre[k] - other.centre[k], offset
            signs[i, j, axis] = 0 if abs(by) < clear else (1 if by > 0 else -1)
    return signs


class Truth:
    """What is truly to be asked about an image.

    Args:
        sights: what is truly there; of several, a verdict must follow from each.
        lexicon: the vocabularies.
    """

    def __init__(self, sights: Sequence[Sight], lexicon: Lexicon) -> None:
        self._views = [_View(sight, lexicon) for sight in sights]

    def verdict(self, sample: Sample) -> tuple[Verdict, str]:
        """Return whether a sample's answer is truly right and its wrong answer wrong, or why not.

        Undecided is what the record does not answer: other kinds of questions, colors that leaked,
        and offsets and sizes at the very threshold.
        """
        found = [view.verdict(sample) for view in self._views]
        if len({verdict for verdict, _ in found}) > 1:
            return "undecided", "it lies at the very threshold"
        return found[0]


class _View:
    """Judges samples by one sight."""

    def __init__(self, sight: Sight, lexicon: Lexicon) -> None:
        self._sight, self._lexicon = sight, lexicon
        # "Is A above or under B?" is asked by whoever saw A first.
        both = (sight, sight.reversed())
        self._facts = {fact.question: fact for one in both for fact in Facts(lexicon).of(one)}

    def verdict(self, sample: Sample) -> tuple[Verdict, str]:
        """Return whether a sample is right, or why not."""
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
        asked = [relation for relation in relations if _named(question, [relation.name])]
        if len(places) == 2 and any(sight.sign(places[0], places[1], r.axis) == 0 for r in asked):
            return "neither relation holds"
        if len(places) == 1 and len(asked) == 1:
            return self._not_one(places[0], asked[0])
        return ""

    def _not_one(self, place: int, relation: Relation) -> str:
        """Return why not exactly one thing stands in a relation to another, if that is known."""
        others = [k for k in range(len(self._sight.nouns)) if k != place]
        signs = [self._sight.sign(k, place, relation.axis) for k in others]
        count = signs.count(relation.direction)
        if count > 1 or (not count and None not in signs):
            return f"{count} things are {relation.name} the {self._sight.nouns[place]}"
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
