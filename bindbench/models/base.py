"""What a model of each role takes and gives.

A role is a protocol: any object with the method will do. Images travel as RGB arrays of
shape (height, width, 3), dtype uint8; boxes as (left, top, right, bottom) in pixels.
Every method gets one batch, and batches never cross a shard.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from bindbench.concepts import Concept
from bindbench.tasks import Track

Image = np.ndarray
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class ImageRequest:
    """One image to make. A text-to-image model reads the caption; the ray tracer the concept.

    ``row`` says that the things stand in a row, from left to right in the concept's order, and
    gives their sizes relative to each other; () where they may stand anywhere.
    """

    concept: Concept
    caption: str
    track: Track
    seed: int
    row: tuple[float, ...] = ()


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

    option: str  # "": the model gave no answer that can be read, and all scores are 0
    scores: tuple[float, ...]
    raw: str | None = None  # JSON: what an API model really answered


class Judge(Protocol):
    """Answers closed questions about images."""

    def answer(
        self,
        images: Sequence[Image],
        detections: Sequence[Sequence[Detection]],
        questions: Sequence[Sequence[Question]],
    ) -> list[list[Answer]]:
        """Return the answers to each image's questions; no option is one that was not given."""
        ...


@dataclass(frozen=True)
class ScoreRequest:
    """An image and the candidate captions to score against it.

    ``key`` identifies the item (concept and track); ``truth`` holds the semantics of each
    candidate (see ``bindbench.semantics``) and is for the ``check:`` models, and for questions
    with options, which must not offer two right answers; ``families`` names each candidate's
    family, "" for the positive, for models that are asked about one family at a time.
    """

    key: str
    image: Image
    texts: Sequence[str]
    truth: np.ndarray = field(repr=False)  # int8 (candidates,)
    families: Sequence[str] = field(default=(), repr=False)  # () where they are not known


@dataclass(frozen=True)
class Scores:
    """One item's scores, one for each text, in the order of the texts.

    A model that gives log-likelihoods sums them over the tokens of the text, in nats.
    """

    values: np.ndarray  # float64 (texts,): higher is better; what accuracy is computed from
    tokens: np.ndarray | None = None  # int32 (texts,): how many tokens a log-likelihood sums over
    image_free: np.ndarray | None = None  # float64 (texts,): the same score without the image
    raw: str | None = None  # JSON: what an API model really answered
    # bool (texts,): which texts the model was offered, the first among them; None: all. The others
    # have no score (their value is ignored), and don't count in the item's chance.
    asked: np.ndarray | None = None
    # float64 (texts,): the same where only the false swaps were offered, NaN for the other texts;
    # for choices, which depend on what else there is. None: the values hold for the swaps as well.
    swap: np.ndarray | None = None

    @property
    def mean(self) -> np.ndarray | None:
        """The log-likelihood of a token, float64 (texts,)."""
        return None if self.tokens is None else self.values / np.maximum(self.tokens, 1)

    @property
    def subtracted(self) -> np.ndarray | None:
        """What the image adds to the score, float64 (texts,)."""
        return None if self.image_free is None else self.values - self.image_free


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

    def score(self, requests: Sequence[ScoreRequest]) -> list[Scores]:
        """Return the scores of each request's texts.

        Raises:
            UserError: the model gave no number, or memory ran out even for one item at a time.
        """
        ...


@dataclass(frozen=True)
class Written:
    """What a writer wrote for one concept."""

    text: str  # as the model gave it, to be cleaned
    fault: Literal["", "unfinished", "refusal"] = ""  # unfinished: cut off at the most tokens
    raw: str | None = None  # JSON: what an API model's answer took


class Writer(Protocol):
    """Writes contextual captions."""

    def write(self, concepts: Sequence[Concept], seeds: Sequence[int]) -> list[Written]:
        """Return one caption for each concept; each depends on its own concept and seed alone."""
        ...


@dataclass(frozen=True)
class AskedGroup:
    """What a question is about, for the ``check:`` models alone: like objects, left to right."""

    level: str  # L1 to L4, see ``bindbench.instabind.questions``
    values: tuple[str, ...]  # of the attribute that is asked about
    places: tuple[str, ...]  # what their places in the order are called
    target: int  # the index of the object that is asked about
    claimed: str | None = None  # L4: the value that is claimed of it


@dataclass(frozen=True)
class ReplyRequest:
    """An image and what to ask about it."""

    image: Image
    prompt: str
    options: tuple[str, ...] = ()  # the reply is the likeliest of these; (): any short text
    max_tokens: int = 32  # of a text
    key: str = ""  # names the question in messages
    truth: AskedGroup | None = field(default=None, repr=False)
    schema: Mapping[str, Any] | None = None  # of a text in JSON, for servers that can keep to one
    attempt: int = 0  # tells apart requests that are equal, where a reply could not be used
    lettered: bool = False  # the reply is to name one of the prompt's lettered options
    # The prompt is put as it is, and the options are scored as what follows; else they are offered.
    bare: bool = False


@dataclass(frozen=True)
class Reply:
    """What a model answered in words."""

    text: str
    finished: bool = True  # False: cut off at the most tokens
    scores: tuple[float, ...] | None = None  # shares of the options
    # Log-likelihoods of bare options in nats, and how many tokens each sums over. None: a server
    # that names the likeliest tokens alone did not name any that begins an option.
    sums: tuple[float, ...] | None = None
    tokens: tuple[int, ...] | None = None
    unknown: tuple[str, ...] = ()  # words of the prompt that the model has no token for
    raw: str | None = None  # JSON: what an API model's answer took
    refused: bool = False  # by a server's filter of content


class Answerer(Protocol):
    """Answers questions about images in free text, or by the likeliest of given options."""

    def reply(self, requests: Sequence[ReplyRequest]) -> list[Reply]:
        """Return one reply for each request; the same request gets the same reply.

        Raises:
            Unfinished: a server gave none for some requests; what was answered is kept.
            UserError: memory runs out for a single request, or the model can't be asked.
        """
        ...
