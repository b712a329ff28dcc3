"""What target models are asked: to describe, to choose between two options, to answer in words."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from bindbench.conme import prompts
from bindbench.conme.samples import ORDERS, Sample
from bindbench.models.base import Image, Reply, ReplyRequest
from bindbench.scoring.choice import parse_choice

Wording = Literal["plain", "nano"]

# nano:vlm keeps to the forms that it was trained on; the other prompts are in its words already.
DESCRIBE: dict[Wording, str] = {"plain": prompts.DESCRIBE, "nano": "Describe the image."}


@dataclass(frozen=True)
class Chosen:
    """What a model chose between a sample's options, in both orders."""

    places: tuple[int | None, ...]  # the place chosen in each order; None: it can't be read
    replies: tuple[Reply, ...]


@dataclass(frozen=True)
class Put:
    """A sample in one order of its options."""

    sample: Sample
    order: int

    @property
    def key(self) -> str:
        """Its name in messages."""
        return f"{self.sample.id}/{self.order}"


def describe_requests(
    images: Mapping[str, Image], wording: Wording, most: int
) -> list[ReplyRequest]:
    """Return what is asked for a description of each image, of at most ``most`` tokens."""
    return [
        ReplyRequest(image, DESCRIBE[wording], max_tokens=most, key=key)
        for key, image in images.items()
    ]


def both_orders(samples: Sequence[Sample]) -> list[Put]:
    """Return each sample in both orders, one after the other."""
    return [Put(sample, order) for sample in samples for order in range(ORDERS)]


def choice_request(put: Put, image: Image, wording: Wording, most: int) -> ReplyRequest:
    """Return what is asked in the mode ``generate`` (ConMe, stages 4 and 7).

    Args:
        put: the sample and the order of its options.
        image: its image.
        wording: nano:vlm was trained on lettered options without a word on how to answer.
        most: tokens of what is written.
    """
    prompt = prompts.choice(put.sample.question, put.sample.options(put.order))
    if wording == "nano":
        prompt = prompt.removesuffix(f"\n{prompts.CHOOSE}")
    return ReplyRequest(image, prompt, max_tokens=most, key=put.key, lettered=True)


def read_choice(put: Put, reply: Reply) -> int | None:
    """Return the place that a reply chooses, by letter or by the option's text.

    None for an empty reply, prose, both letters or none.
    """
    return parse_choice(reply.text, put.sample.options(put.order))


def paired(puts: Sequence[Put], replies: Sequence[Reply]) -> list[Chosen]:
    """Return one choice for each sample from the replies to ``both_orders``."""
    read = [read_choice(put, reply) for put, reply in zip(puts, replies, strict=True)]
    return [
        Chosen(tuple(read[i : i + ORDERS]), tuple(replies[i : i + ORDERS]))
        for i in range(0, len(read), ORDERS)
    ]


# Asks a model for many requests, in batches: the pipeline's ``ask_all``.
AskAll = Callable[[Sequence[ReplyRequest]], Sequence[Reply]]


def choose(
    ask: AskAll,
    samples: Sequence[Sample],
    images: Mapping[str, Image],
    wording: Wording,
    most: int,
) -> list[Chosen]:
    """Return a model's choices in the mode ``generate``, in both orders.

    Args:
        ask: the model.
        samples: what is chosen between.
        images: by image id.
        wording: of the options.
        most: tokens of a reply.
    """
    puts = both_orders(samples)
    asked = [choice_request(put, images[put.sample.image_id], wording, most) for put in puts]
    return paired(puts, ask(asked))
