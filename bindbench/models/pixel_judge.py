"""The embedded judge: answers closed questions by measuring pixels, boxes and masks.

What a question asks is read from its options: colors are read off by the network, nouns too;
relations are measured from the boxes and masks of the two detections. Where the geometry is not
clear the answer is ``UNCLEAR`` if the question allows it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bindbench.errors import UserError
from bindbench.models.base import Answer, Detection, Image, Question
from bindbench.models.boxes import overlaps
from bindbench.models.pixel_detector import WEIGHTS
from bindbench.models.pixel_instances import Instance, find_instances
from bindbench.models.pixel_network import Trained, load
from bindbench.validation.labels import UNCLEAR
from bindbench.vocabulary import Lexicon, Relation

SAME_OVERLAP = 0.3  # intersection over union from which a detection and an instance are one


@dataclass(frozen=True)
class Geometry:
    """How far things must differ for a relation to be clear.

    The offset and the ratio of areas are those by which images settle what a text leaves open.
    """

    offset: float = 0.15  # of the centres along the axis, as a share of the image's longer side
    area_ratio: float = 1.5  # of the mask areas
    extent_ratio: float = 1.1  # of the longer sides of the boxes


class PixelJudge:
    """Answers questions about colors, nouns and relations.

    Args:
        lexicon: says along which axis a relation lies and in which direction.
        weights: the folder with ``model.safetensors`` and ``config.json``, or what it holds.
        geometry: how far things must differ for a relation to be clear.
    """

    def __init__(
        self,
        lexicon: Lexicon,
        weights: Path | Trained = WEIGHTS,
        geometry: Geometry | None = None,
    ):
        self.trained = weights if isinstance(weights, Trained) else load(weights)
        self.relations = dict(lexicon.positions.by_name) | dict(lexicon.sizes.by_name)
        self.geometry = geometry or Geometry()

    def answer(
        self,
        images: Sequence[Image],
        detections: Sequence[Sequence[Detection]],
        questions: Sequence[Sequence[Question]],
    ) -> list[list[Answer]]:
        """Return the answers to each image's questions.

        Raises:
            UserError: a question whose options are none of the network's nouns or colors, and no
                relations of the lexicon.
        """
        kinds = [{self._kind(question) for question in asked} for asked in questions]
        looks = [i for i, asked in enumerate(kinds) if asked - {"relation"}]
        found = find_instances(self.trained.network, [images[i] for i in looks])
        seen = dict(zip(looks, found, strict=True))
        return [
            self.answer_from(images[i], detections[i], seen.get(i, []), questions[i])
            for i in range(len(images))
        ]

    def answer_from(
        self,
        image: Image,
        detections: Sequence[Detection],
        instances: Sequence[Instance],
        questions: Sequence[Question],
    ) -> list[Answer]:
        """Answer the questions about one image from the instances that the network found in it."""
        return [self._answer(image, detections, instances, question) for question in questions]

    def _kind(self, question: Question) -> str:
        options = set(question.options) - {UNCLEAR}
        if options and question.other is not None and options <= set(self.relations):
            return "relation"
        known = {"colors": self.trained.colors, "nouns": self.trained.nouns}
        for kind, names in known.items():
            if options & set(names):
                return kind
        raise UserError(
            f"The embedded judge can't answer {question.text!r}: none of its options "
            f"({', '.join(question.options[:4])}, ...) is a color or noun of its training or a "
            "relation of the suite's vocabularies."
        )

    def _answer(
        self,
        image: Image,
        detections: Sequence[Detection],
        instances: Sequence[Instance],
        question: Question,
    ) -> Answer:
        kind = self._kind(question)
        if kind == "relation":
            assert question.other is not None
            pair = detections[question.subject], detections[question.other]
            return self._relation(image, pair, question.options)
        names = self.trained.colors if kind == "colors" else self.trained.nouns
        instance = same_instance(detections[question.subject], instances)
        if instance is None:
            return choose(question.options, [0.0] * len(question.options))
        shares = instance.colors if kind == "colors" else instance.nouns
        scores = [float(shares[names.index(o)]) if o in names else 0.0 for o in question.options]
        return choose(question.options, scores)

    def _relation(
        self, image: Image, pair: tuple[Detection, Detection], options: Sequence[str]
    ) -> Answer:
        axes = {self.relations[option].axis for option in options if option != UNCLEAR}
        signs = {axis: direction(image, pair, axis, self.geometry) for axis in axes}
        scores = [self._holds(option, signs) for option in options]
        if UNCLEAR in options and not any(scores):
            scores[options.index(UNCLEAR)] = 1.0
        return choose(options, scores)

    def _holds(self, option: str, signs: dict[str, int]) -> float:
        if option == UNCLEAR:
            return 0.0
        relation: Relation = self.relations[option]
        return float(signs[relation.axis] == relation.direction)


def choose(options: Sequence[str], scores: Sequence[float]) -> Answer:
    """Answer with the option of the highest score; the first of equal ones."""
    return Answer(options[int(np.argmax(scores))], tuple(scores))


def same_instance(detection: Detection, instances: Sequence[Instance]) -> Instance | None:
    """Return the instance that a detection shows, by the overlap of their boxes."""
    if not instances:
        return None
    overlap = overlaps(np.array(detection.box), np.array([i.box for i in instances]))
    best = int(overlap.argmax())
    return instances[best] if overlap[best] > SAME_OVERLAP else None


def direction(
    image: Image, pair: tuple[Detection, Detection], axis: str, geometry: Geometry
) -> int:
    """Say on which side the first detection lies: 1 further along the axis, -1 less, 0 unclear.

    Further along means right, up (images count rows downwards) or larger.
    """
    if axis == "size":
        return _larger(pair, geometry)
    k = 0 if axis == "horizontal" else 1
    first, second = ((d.box[k] + d.box[k + 2]) / 2 for d in pair)
    offset = (first - second) / max(image.shape[:2])
    if axis == "vertical":
        offset = -offset
    return 0 if abs(offset) < geometry.offset else (1 if offset > 0 else -1)


def _larger(pair: tuple[Detection, Detection], geometry: Geometry) -> int:
    """Compare sizes: the areas and the longer sides must both say the same, and clearly."""
    areas = [max(int(d.mask.sum()), 1) for d in pair]
    extents = [max(d.box[2] - d.box[0], d.box[3] - d.box[1], 1.0) for d in pair]
    by_area = _sign(areas[0] / areas[1], geometry.area_ratio)
    by_extent = _sign(extents[0] / extents[1], geometry.extent_ratio)
    return by_area if by_area == by_extent else 0


def _sign(ratio: float, clear: float) -> int:
    return 1 if ratio >= clear else (-1 if ratio <= 1 / clear else 0)
