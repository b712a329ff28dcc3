"""A generative model that answers in words, or by the likeliest of given options."""

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from bindbench.concepts import content_id
from bindbench.models.answer_options import Decoding
from bindbench.models.base import Question, Reply, ReplyRequest
from bindbench.models.halving import Halving
from bindbench.models.hf_generative import GenerativeModel
from bindbench.models.hf_judge import HfJudge
from bindbench.models.hf_loading import TOO_LARGE, Checkpoint
from bindbench.models.hf_names import HfSource
from bindbench.models.hf_options import HfOptions
from bindbench.models.hf_sampling import end_tokens

READERS = 512  # questions whose prompt is kept written
Inputs = Mapping[str, Tensor]


GREEDY = Decoding()


def load_answerer(
    source: HfSource,
    options: HfOptions,
    question: str,
    decoding: Decoding = GREEDY,
    choosing: Decoding = GREEDY,
) -> "HfAnswerer":
    """Return a model as an answerer; ``question`` is the prompt of a choice.

    Raises:
        UserError: the checkpoint lacks a part or is damaged, or it does not fit.
    """
    model = GenerativeModel(Checkpoint(source, options))
    return HfAnswerer(model, source.name, question, decoding, choosing)


class HfAnswerer:
    """Answers by one model.

    A reply depends on its own request. What else is in its batch can move the last bits of the
    logits, as padding and the shapes of matrices do, and hardly ever a token.

    Args:
        model: the model.
        name: its name, for messages.
        question: the prompt of a choice; ``{question}`` and ``{options}`` stand for each one's.
        decoding: of texts.
        choosing: of replies to lettered options.
    """

    def __init__(
        self,
        model: GenerativeModel,
        name: str,
        question: str,
        decoding: Decoding = GREEDY,
        choosing: Decoding = GREEDY,
    ) -> None:
        self._decoding, self._choosing = decoding, choosing
        self._model, self._judge = model.model, HfJudge(model, question)
        self._tokenizer = model.tokenizer
        self._padding = self._tokenizer.pad_token_id or 0
        self._ends = end_tokens(self._model, self._tokenizer)
        self._reader = functools.lru_cache(READERS)(model.reader_of)
        self._halving = Halving(name, TOO_LARGE)

    def reply(self, requests: Sequence[ReplyRequest]) -> list[Reply]:
        """Return one reply for each request.

        Raises:
            UserError: memory runs out for a single request, or the prompt can't be written.
        """
        free = [i for i, request in enumerate(requests) if not request.options]
        found = {i: self._choose(request) for i, request in enumerate(requests) if request.options}
        written = self._halving.map(self._write, [requests[i] for i in free], len(free) or 1)
        found |= dict(zip(free, written, strict=True))
        return [found[i] for i in range(len(requests))]

    def _choose(self, request: ReplyRequest) -> Reply:
        if request.bare:
            return self._bare(request)
        asked = Question(request.prompt, request.options, subject=0)
        ((answer,),) = self._judge.answer([request.image], [()], [[asked]])
        unknown = self._unknown(self._judge.prompt(asked))
        return Reply(answer.option, scores=answer.scores, unknown=unknown)

    def _bare(self, request: ReplyRequest) -> Reply:
        found = self._judge.likelihoods(request.image, request.prompt, request.options)
        sums, tokens = (tuple(values.tolist()) for values in found)
        best = request.options[int(found[0].argmax())]
        unknown = self._unknown(request.prompt)
        return Reply(best, sums=sums, tokens=tokens, unknown=unknown)

    def _write(self, requests: Sequence[ReplyRequest]) -> list[Reply]:
        """Write the replies, together where the processor's tensors can stand in one batch."""
        inputs = [self._read(request) for request in requests]
        ways = [self._way(request) for request in requests]
        found: dict[int, Reply] = {}
        for rows in _alike(inputs, [_company(i, way) for i, way in enumerate(ways)]):
            batch = left_padded([inputs[i] for i in rows], self._padding)
            with _seeded(requests[rows[0]], ways[rows[0]]):
                tokens = self._generate(batch, ways[rows[0]])
            for i, own in zip(rows, tokens, strict=True):
                found[i] = self._reply(own, requests[i])
        return [found[i] for i in range(len(requests))]

    def _way(self, request: ReplyRequest) -> Decoding:
        """Return how a request is decoded, with the most tokens of it."""
        way = self._choosing if request.lettered else self._decoding
        return way.model_copy(update={"max_tokens": way.max_tokens or request.max_tokens})

    def _read(self, request: ReplyRequest) -> Inputs:
        return self._reader(request.prompt).whole(request.image)

    @torch.inference_mode()
    def _generate(self, inputs: Inputs, way: Decoding) -> list[list[int]]:
        """Return the tokens that follow each row, up to the most, with what ends them."""
        model = self._model
        device = torch.device("cpu") if model.device.type == "meta" else model.device
        placed = {
            key: value.to(device, model.dtype if value.is_floating_point() else value.dtype)
            for key, value in inputs.items()
        }
        drawn = {"temperature": way.temperature, "top_p": way.top_p, "top_k": 0}
        # As the options say, whatever the checkpoint's own settings are.
        out = model.generate(
            **placed,
            max_new_tokens=way.max_tokens,
            do_sample=way.temperature > 0,
            **(drawn if way.temperature else {}),
            num_beams=way.beams,
            repetition_penalty=way.repetition_penalty,
            **({"length_penalty": way.length_penalty} if way.beams > 1 else {}),
            pad_token_id=self._padding,
            eos_token_id=sorted(self._ends) or None,
        )
        return out[:, inputs["input_ids"].shape[1] :].tolist()

    def _reply(self, tokens: list[int], request: ReplyRequest) -> Reply:
        stop = next((i for i, token in enumerate(tokens) if token in self._ends), None)
        text = self._tokenizer.decode(tokens[:stop], skip_special_tokens=True)
        return Reply(text.strip(), stop is not None, unknown=self._unknown(request.prompt))

    def _unknown(self, prompt: str) -> tuple[str, ...]:
        """Return the words of a prompt that the tokenizer has no token for."""
        unknown = self._tokenizer.unk_token_id
        if unknown is None or not self._tokenizer.is_fast:
            return ()
        read = self._tokenizer(prompt, add_special_tokens=False, return_offsets_mapping=True)
        spans = zip(read["input_ids"], read["offset_mapping"], strict=True)
        words = (prompt[start:end] for token, (start, end) in spans if token == unknown)
        return tuple(dict.fromkeys(words))


def _company(i: int, way: Decoding) -> tuple[int | None, int | None]:
    """Return what rows of one batch have in common: the most tokens, where they are greedy.

    Penalties see the padding and draws the other rows, so that all else is written alone.
    """
    return way.max_tokens, None if way.greedy else i


@contextmanager
def _seeded(request: ReplyRequest, way: Decoding) -> Iterator[None]:
    """Let draws depend on the request alone, and leave torch's own state as it was."""
    if not way.temperature:
        yield
        return
    with torch.random.fork_rng():
        torch.manual_seed(int(content_id([request.key, request.prompt, request.attempt]), 16))
        yield


def _alike(inputs: Sequence[Inputs], company: Sequence[Any]) -> Iterable[list[int]]:
    """Return the rows that can be read in one batch, by what their tensors are made of."""
    groups: dict[Any, list[int]] = {}
    for i, own in enumerate(inputs):
        shape = own["input_ids"].shape
        others = {k: tuple(v.shape[1:]) for k, v in own.items() if v.shape != shape}
        groups.setdefault((company[i], tuple(sorted(others.items()))), []).append(i)
    return groups.values()


def left_padded(rows: Sequence[Inputs], padding: int) -> dict[str, Tensor]:
    """Return the inputs of one batch, so that what is written follows each prompt at once.

    Args:
        rows: what a processor returned for one prompt each, with batch size 1; what does not stand
            for a token is joined along its first dimension.
        padding: the token before shorter prompts.
    """
    longest = max(row["input_ids"].shape[1] for row in rows)
    out = {}
    for key in rows[0]:
        parts = []
        for row in rows:
            value, shape = row[key], row["input_ids"].shape
            if value.shape == shape:
                fill = padding if key == "input_ids" else 0  # of masks and types of tokens
                gap = torch.full((1, longest - shape[1]), fill, dtype=value.dtype)
                value = torch.cat([gap, value], 1)
            parts.append(value)
        out[key] = torch.cat(parts)
    return out
