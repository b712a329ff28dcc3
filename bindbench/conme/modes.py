"""The ways to find out which of two options a model holds right (ConMe, section 5.1).

- ``generate``: options with letters; a short greedy reply is read by letter or by text.
- ``letter``: the same prompt; the likelier letter (the authors' "perplexity" inference).
- ``text``: the likelier text of an option after the bare question, as equation (1) is written; once
  as the sum and once as the mean over its tokens.
- ``vqa``: the option to which "Is it ...?" is the likelier answered with yes (VQAScore).
- ``blind``: one of these where every image is gray, so that the words alone are left.

The first two depend on the order of the options, the others show one option at a time.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from bindbench.analysis.accuracy import tolerance
from bindbench.conme import prompts
from bindbench.conme.asking import AskAll, Wording, both_orders, choice_request, choose
from bindbench.conme.choices import Ballots
from bindbench.conme.samples import ORDERS, Sample
from bindbench.conme.settings import MODES, Evaluation, Mode
from bindbench.models.answer_options import AnsweringOptions, ApiAnsweringOptions
from bindbench.models.base import Image, Reply, ReplyRequest

# What a mode's answers are read as: of the mode ``text`` sum and mean are two benchmarks.
Reading = Literal["generate", "letter", "text", "text_mean", "vqa", "blind"]
READINGS: dict[Evaluation, tuple[Reading, ...]] = {
    "generate": ("generate",),
    "letter": ("letter",),
    "text": ("text", "text_mean"),
    "vqa": ("vqa",),
    "blind": ("blind",),
}
GRAY = 127
LETTERS = ("A", "B")
YES_NO = ("yes", "no")


@dataclass(frozen=True)
class Vote:
    """What a model chose of one sample, read in one way.

    Attributes:
        places: the place chosen in each order; None: it can't be read, or the scores tie.
        scores: in each order, the score of each place; () where none was given.
        texts: the replies behind it.
        raws: what each took of a server.
    """

    places: tuple[int | None, ...]
    scores: tuple[tuple[float, ...], ...] = ()
    texts: tuple[str, ...] = ()
    raws: tuple[str | None, ...] = ()


Votes = dict[Reading, list[Vote]]


@dataclass(frozen=True)
class Case:
    """What is put to a model.

    Attributes:
        samples: what it chooses between.
        images: by image id.
        most: tokens of a written reply.
        dtype: of the model's arithmetic, which decides what a tie is.
        wording: of lettered options.
    """

    samples: Sequence[Sample]
    images: Mapping[str, Image]
    most: int
    dtype: str = "float32"
    wording: Wording = "plain"


def modes_of(model: str, options: AnsweringOptions) -> tuple[Mode, ...]:
    """Return the modes that a model can be asked in.

    A server gives the probabilities of the first token at best, so that no text can be scored;
    the ``check:`` models only write.
    """
    if model.startswith("check:"):
        return ("generate",)
    if isinstance(options, ApiAnsweringOptions):
        return ("generate", "letter", "vqa") if options.token_probabilities else ("generate",)
    return MODES


def vote(mode: Mode, ask: AskAll, case: Case) -> Votes:
    """Return a model's choices between all samples in a mode, by reading.

    Args:
        mode: how it is asked.
        ask: the model.
        case: what it is asked.

    Raises:
        Unfinished: a server gave no answer for some samples; what was answered is kept.
    """
    return _MODES[mode](ask, case)


def blind_vote(by: Mode, ask: AskAll, case: Case) -> Votes:
    """Return what a model chooses in a mode where every image is gray.

    Above one half, the questions' words give answers away.

    Raises:
        Unfinished: as ``vote`` does.
    """
    gray = {key: np.full_like(image, GRAY) for key, image in case.images.items()}
    return {"blind": vote(by, ask, replace(case, images=gray))[READINGS[by][0]]}


def ballots(samples: Sequence[Sample], votes: Sequence[Vote]) -> Ballots:
    """Return the choices of samples as ballots."""
    return Ballots.of(samples, [vote.places for vote in votes])


def _generate(ask: AskAll, case: Case) -> Votes:
    chosen = choose(ask, case.samples, case.images, case.wording, case.most)
    return {
        "generate": [
            Vote(
                one.places,
                texts=tuple(reply.text for reply in one.replies),
                raws=tuple(reply.raw for reply in one.replies),
            )
            for one in chosen
        ]
    }


def _letter(ask: AskAll, case: Case) -> Votes:
    written = (
        choice_request(put, case.images[put.sample.image_id], case.wording, case.most)
        for put in both_orders(case.samples)
    )
    replies = ask([replace(request, options=LETTERS, bare=True) for request in written])
    pairs = [replies[i : i + ORDERS] for i in range(0, len(replies), ORDERS)]
    return {"letter": [_of_letters(pair, case.dtype) for pair in pairs]}


def _of_letters(replies: Sequence[Reply], dtype: str) -> Vote:
    given = [reply.sums for reply in replies]
    places = tuple(None if own is None else _place(own, own, dtype) for own in given)
    scores = tuple(_missing() if own is None else own for own in given)
    return Vote(places, scores, tuple(r.text for r in replies), tuple(r.raw for r in replies))


def _text(ask: AskAll, case: Case) -> Votes:
    """Score all options of a question at once, as they share image and question."""
    groups: dict[tuple[str, str], dict[str, None]] = {}
    for sample in case.samples:
        own = groups.setdefault((sample.image_id, sample.question), {})
        own |= {sample.answer: None, sample.negative: None}
    asked = [
        ReplyRequest(case.images[image], question, tuple(texts), key=f"{image}/{i}", bare=True)
        for i, ((image, question), texts) in enumerate(groups.items())
    ]
    replies = dict(zip(groups, ask(asked), strict=True))

    def read(reading: Reading, sample: Sample) -> Vote:
        key = sample.image_id, sample.question
        values = _sums(replies[key], mean=reading == "text_mean")
        scores = {t: (v, abs(v)) for t, v in zip(groups[key], values, strict=True)}
        return _shown(sample, scores, case.dtype)

    return {r: [read(r, sample) for sample in case.samples] for r in READINGS["text"]}


def _sums(reply: Reply, mean: bool) -> list[float]:
    """Return the options' log-likelihoods, of all tokens or of the mean token."""
    if reply.sums is None or reply.tokens is None:
        raise ValueError("a model without likelihoods was asked for those of a text")
    if not mean:
        return list(reply.sums)
    return [total / max(count, 1) for total, count in zip(reply.sums, reply.tokens, strict=True)]


def _vqa(ask: AskAll, case: Case) -> Votes:
    groups = dict.fromkeys(
        (s.image_id, s.question, text) for s in case.samples for text in (s.answer, s.negative)
    )
    asked = [
        ReplyRequest(
            case.images[image],
            prompts.vqa_score(question, text),
            YES_NO,
            case.most,
            key=f"{image}/{i}",
            bare=True,
        )
        for i, (image, question, text) in enumerate(groups)
    ]
    found = dict(zip(groups, ask(asked), strict=True))

    def read(sample: Sample) -> Vote:
        keys = [(sample.image_id, sample.question, t) for t in (sample.answer, sample.negative)]
        replies = [found[key] for key in keys]
        texts, raws = tuple(r.text for r in replies), tuple(r.raw for r in replies)
        odds = {key[2]: _log_odds(reply) for key, reply in zip(keys, replies, strict=True)}
        shown = _shown(sample, odds, case.dtype)
        return Vote(shown.places, shown.scores, texts, raws)

    return {"vqa": [read(sample) for sample in case.samples]}


def _log_odds(reply: Reply) -> tuple[float, float]:
    """Return log P(yes) - log P(no), and the size that rounding is relative to."""
    if reply.sums is None:
        return float("nan"), 0.0
    yes, no = reply.sums
    return yes - no, max(abs(yes), abs(no))


def _shown(sample: Sample, scores: Mapping[str, tuple[float, float]], dtype: str) -> Vote:
    """Return the vote that follows from scores that don't depend on the order.

    Args:
        sample: what is chosen between.
        scores: by option: its score, and the size that rounding is relative to.
        dtype: of the model's arithmetic.
    """
    found = [[scores[text] for text in sample.options(order)] for order in range(ORDERS)]
    values = tuple(tuple(value for value, _ in own) for own in found)
    sizes = [[size for _, size in own] for own in found]
    places = tuple(_place(v, s, dtype) for v, s in zip(values, sizes, strict=True))
    return Vote(places, values)


def _place(values: Sequence[float], sizes: Sequence[float], dtype: str) -> int | None:
    """Return the place of the higher of two scores; None if they tie or one is missing."""
    first, second = values
    if not np.isfinite(values).all():
        return None
    if abs(first - second) <= tolerance(dtype) * max(map(abs, sizes)):
        return None
    return int(second > first)


def _missing() -> tuple[float, float]:
    return float("nan"), float("nan")


_MODES: dict[Mode, Callable[[AskAll, Any], Votes]] = {
    "generate": _generate,
    "letter": _letter,
    "text": _text,
    "vqa": _vqa,
}
