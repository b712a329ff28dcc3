"""Were the questions truly right? What a renderer truly drew answers, after the fact."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, Literal

import numpy as np

from bindbench.analysis.resampling import Estimate, proportion
from bindbench.conme.samples import Sample, plain
from bindbench.conme.sight import AXES, Axis, Facts, Sight
from bindbench.rendering.camera import Camera
from bindbench.rendering.meshes import mesh_of
from bindbench.rendering.scenes import Item, area_of, box_of
from bindbench.vocabulary import Lexicon

Verdict = Literal["right", "wrong", "undecided"]
# The record of what was drawn does not hold the camera; scenes are seen from 6 to 24 degrees and
# through 22 to 30. Between the two values an offset or ratio is left undecided; the judges draw the
# line between them (docs/numbers.md: 0.15 of the side, 1.5 of the area).
CAMERA = Camera(0.9, float(np.radians(12)), 26.0)
CLEAR_OFFSET, NO_OFFSET = 0.17, 0.13
CLEAR_AREA, NO_AREA = 1.65, 1.35


def true_sight(truth: Mapping[str, Any], lexicon: Lexicon) -> Sight:
    """Return what a scene's record says is to be seen.

    Args:
        truth: of ``bindbench.rendering.scenes.Scene.truth``.
        lexicon: names the meshes.
    """
    items = [Item(**{**one, "leak": None}) for one in truth["items"]]
    nouns = {e.name: e for e in (*lexicon.objects.entries, *lexicon.shapes.entries)}
    meshes = [mesh_of(nouns[item.noun]) for item in items]
    boxes = [box_of(item, mesh, CAMERA) for item, mesh in zip(items, meshes, strict=True)]
    areas = [area_of(item, mesh, CAMERA) for item, mesh in zip(items, meshes, strict=True)]
    signs: dict[tuple[int, int, Axis], int] = {}
    for i, j in combinations(range(len(items)), 2):
        for axis in AXES:
            sign = _size(areas[i] / areas[j]) if axis == "size" else _offset(boxes, i, j, axis)
            if sign is not None:
                signs[i, j, axis] = sign
    # A color that leaked over a part of a thing is in doubt.
    colors = tuple("" if one.get("leak") else one["color"] for one in truth["items"])
    return Sight(tuple(item.noun for item in items), colors, signs)


def _offset(boxes: Sequence[tuple[float, ...]], i: int, j: int, axis: Axis) -> int | None:
    k = 0 if axis == "horizontal" else 1
    by = (boxes[i][k] + boxes[i][k + 2] - boxes[j][k] - boxes[j][k + 2]) / 2
    if abs(by) >= CLEAR_OFFSET:
        return 1 if by > 0 else -1
    return 0 if abs(by) <= NO_OFFSET else None


def _size(ratio: float) -> int | None:
    larger = max(ratio, 1 / ratio)
    if larger >= CLEAR_AREA:
        return 1 if ratio > 1 else -1
    return 0 if larger <= NO_AREA else None


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
        and offsets and sizes near the judges' thresholds.
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
