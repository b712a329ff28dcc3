"""What a model of each role takes and gives.

A role is a protocol: any object with the method will do. Images travel as RGB arrays of
shape (height, width, 3), dtype uint8; boxes as (left, top, right, bottom) in pixels.
Every method gets one batch, and batches never cross a shard.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from bindbench.concepts import Concept
from bindbench.tasks import Track

Image = np.ndarray
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class ImageRequest:
    """One image to make. A text-to-image model reads the caption; the ray tracer the concept."""

    concept: Concept
    caption: str
    track: Track
    seed: int


@dataclass(frozen=True)
class GeneratedImage:
    """An image and what the generator truly drew, which no validator may read."""

    image: Image
    truth: dict[str, Any] | None = None  # None: the generator does not know (text-to-image models)


class Generator(Protocol):
    """Makes images."""

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        """Return one image for each request; each depends on its own request alone."""
        ...


@dataclass(frozen=True)
class Detection:
    """One instance found in an image."""

    name: str  # the noun that it was found as
    score: float  # in [0, 1]
    box: Box
    mask: np.ndarray  # bool (height, width): the pixels of the instance


class Detector(Protocol):
    """Finds the instances of given nouns."""

    def detect(
        self, images: Sequence[Image], nouns: Sequence[Sequence[str]]
    ) -> list[list[Detection]]:
        """Return, for each image, the instances found of its nouns (singular names)."""
        ...


@dataclass(frozen=True)
class Question:
    """A question about an image whose answer is one of the given options.

    ``subject`` (and ``other``, for relations) are indices into the detections that are passed
    along; a model that answers from the text alone may ignore them.
    """

    text: str
    options: tuple[str, ...]
    subject: int
    other: int | None = None


@dataclass(frozen=True)
class Answer:
    """The chosen option, with a score for each option in the question's order."""

    option: str
    scores: tuple[float, ...]


class Judge(Protocol):
    """Answers closed questions about images."""

    def answer(
        self,
        images: Sequence[Image],
        detections: Sequence[Sequence[Detection]],
        questions: Sequence[Sequence[Question]],
    ) -> list[list[Answer]]:
        """Return the answers to each image's questions; the option is always one of those given."""
        ...


@dataclass(frozen=True)
class ScoreRequest:
    """An image and the candidate captions to score against it.

    ``key`` identifies the item (concept and track); ``truth`` holds the semantics of each
    candidate (see ``bindbench.semantics``) and is for the ``check:`` models only.
    """

    key: str
    image: Image
    texts: Sequence[str]
    truth: np.ndarray = field(repr=False)  # int8 (candidates,)


class Scorer(Protocol):
    """Scores how well texts describe an image; higher is better."""

    @property
    def dtype(self) -> str:
        """Of the arithmetic: float64, float32, float16 or bfloat16; decides what a tie is."""
        ...

    @property
    def method(self) -> str:
        """How the scores were computed; recorded with them."""
        ...

    def score(self, requests: Sequence[ScoreRequest]) -> list[np.ndarray]:
        """Return one float64 array for each request, one score for each text."""
        ...


class Writer(Protocol):
    """Writes contextual captions."""

    def write(self, concepts: Sequence[Concept], seeds: Sequence[int]) -> list[str]:
        """Return one caption for each concept; each depends on its own concept and seed alone."""
        ...
