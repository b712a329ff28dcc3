"""Stand-ins for the model of every role, which take next to no time: what is left is the pipeline.

The generator paints each object's label into the pixels as a number, the judge reads it there. So
every image passes every check, and the scorer is right about half of the items.
"""

import zlib
from collections.abc import Sequence

import numpy as np

from bindbench.captions.minimal import BACKGROUND, write_minimal
from bindbench.concepts import Concept
from bindbench.models.base import (
    Answer,
    Detection,
    GeneratedImage,
    Image,
    ImageRequest,
    Question,
    ScoreRequest,
    Scores,
    Written,
)
from bindbench.models.families import FAMILIES
from bindbench.models.family import Family, ModelName, NoOptions
from bindbench.vocabulary import Lexicon

SIDE, PATCH, STEP = 24, 4, 7  # pixels: of an image, of an object, from one object to the next


class NullWriter:
    """Writes the minimal caption with another background."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon

    def write(self, concepts: Sequence[Concept], seeds: Sequence[int]) -> list[Written]:
        texts = [write_minimal(concept, self._lexicon).text for concept in concepts]
        return [Written(text.replace(BACKGROUND, " in a sunny room.")) for text in texts]


class NullGenerator:
    """Paints a patch for each object, whose red is the number of its color."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._codes = {name: i for i, name in enumerate(lexicon.colors.names)}

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        return [GeneratedImage(self._image(request.concept)) for request in requests]

    def _image(self, concept: Concept) -> Image:
        image = np.full((SIDE, SIDE, 3), 255, np.uint8)
        for i, label in enumerate(concept.labels):
            image[_patch(i)] = (self._codes[label], 0, 0)
        return image


class NullDetector:
    """Finds every object at its patch."""

    def detect(
        self, images: Sequence[Image], nouns: Sequence[Sequence[str]]
    ) -> list[list[Detection]]:
        return [[_detection(i, name) for i, name in enumerate(names)] for names in nouns]


class NullJudge:
    """Reads the number of the color from the middle of the object's box."""

    def answer(
        self,
        images: Sequence[Image],
        detections: Sequence[Sequence[Detection]],
        questions: Sequence[Sequence[Question]],
    ) -> list[list[Answer]]:
        return [
            [_answer(image, found[question.subject], question) for question in asked]
            for image, found, asked in zip(images, detections, questions, strict=True)
        ]


class NullScorer:
    """Gives random scores that depend on the item alone; half of the positives are on top."""

    dtype = "float64"
    method = "check"

    def score(self, requests: Sequence[ScoreRequest]) -> list[Scores]:
        return [Scores(self._values(request)) for request in requests]

    def _values(self, request: ScoreRequest) -> np.ndarray:
        seed = zlib.crc32(request.key.encode())
        values = np.random.default_rng(seed).random(len(request.texts))
        values[0] += seed % 2
        return values


def _patch(i: int) -> tuple[slice, slice]:
    left = 2 + STEP * i
    return slice(10, 10 + PATCH), slice(left, left + PATCH)


def _detection(i: int, name: str) -> Detection:
    rows, columns = _patch(i)
    mask = np.zeros((SIDE, SIDE), bool)
    mask[rows, columns] = True
    return Detection(name, 1.0, (columns.start, rows.start, columns.stop, rows.stop), mask)


def _answer(image: Image, found: Detection, question: Question) -> Answer:
    left, top, _, _ = (int(edge) for edge in found.box)
    code = int(image[top, left, 0])
    return Answer(
        question.options[code], tuple(float(i == code) for i in range(len(question.options)))
    )


def register() -> None:
    """Make the stand-ins known as ``null:null``, in this process."""
    made = {
        "writer": lambda lexicon: NullWriter(lexicon),
        "generator": lambda lexicon: NullGenerator(lexicon),
        "detector": lambda lexicon: NullDetector(),
        "judge": lambda lexicon: NullJudge(),
        "scorer": lambda lexicon: NullScorer(),
    }
    for role, make in made.items():

        def load(name: ModelName, options: NoOptions, lexicon: Lexicon, make=make) -> object:
            return make(lexicon)

        FAMILIES[role, "null"] = Family(role, "null", ("null",), NoOptions, load)
