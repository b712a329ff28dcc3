"""Texts drawn from a language model in batches, each by a random generator of its own."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

TOP = 256  # likeliest tokens that are sorted first; the nucleus is nearly always among them


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn."""

    temperature: float
    top_p: float
    most: int  # tokens of a text


def draw(logits: Tensor, number: float, sampling: Sampling) -> int:
    """Draw a token from the nucleus: the fewest likeliest tokens whose probability is ``top_p``.

    Args:
        logits: (vocabulary,), of any dtype.
        number: a uniform random number in [0, 1), which decides alone.
        sampling: temperature and top_p.
    """
    shares = (logits.float() / sampling.temperature).softmax(-1)
    values, tokens = shares.topk(min(TOP, len(shares)))
    if float(values.sum()) < sampling.top_p:
        values, tokens = shares.sort(descending=True, stable=True)
    sums = values.cpu().double().cumsum(0)  # not every device knows float64
    size = int((sums < sampling.top_p).sum()) + 1
    sums = sums[:size]
    place = int((sums <= number * sums[-1]).sum())
    return int(tokens[min(place, len(sums) - 1)])


class Sampler:
    """Draws texts from one model.

    A text depends on its own prompt and seed. What else is in its batch can move the last bits of
    its logits, as padding and the shapes of matrices do, and hardly ever a token.

    Args:
        model: of transformers, with a language model's head.
        sampling: how tokens are drawn.
        ends: whether a token ends a text.
        padding: the token that stands before shorter prompts.
    """

    def __init__(
        self, model: Any, sampling: Sampling, ends: Callable[[int], bool], padding: int
    ) -> None:
        self._model, self._sampling, self._ends, self._padding = model, sampling, ends, padding
        names = inspect.signature(model.forward).parameters
        # Renamed in the course of transformers 5.
        self._cache_name = "cache" if "cache" in names else "past_key_values"
        self._positions = "position_ids" in names

    @torch.inference_mode()
    def texts(
        self, prompts: Sequence[Sequence[int]], seeds: Sequence[int]
    ) -> list[tuple[list[int], bool]]:
        """Return the tokens that follow each prompt, and whether the last of them ends it."""
        generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        found: list[list[int]] = [[] for _ in prompts]
        ended = [False] * len(prompts)
        tokens, mask = self._padded(prompts)
        cache: Any = None
        for _ in range(self._sampling.most):
            logits, cache = self._read(tokens, mask, cache)
            step = torch.full((len(prompts), 1), self._padding)
            for i, generator in enumerate(generators):
                if ended[i]:
                    continue
                number = torch.rand((), generator=generator, dtype=torch.float64)
                token = draw(logits[i], float(number), self._sampling)
                found[i].append(token)
                ended[i] = self._ends(token)
                step[i] = token
            if all(ended):
                break
            tokens, mask = step, torch.cat([mask, torch.ones_like(step)], 1)
        return list(zip(found, ended, strict=True))

    def _padded(self, prompts: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """Return tokens and mask, int64 (prompts, longest), padded on the left."""
        longest = max(map(len, prompts))
        gaps = [longest - len(prompt) for prompt in prompts]
        rows = [[self._padding] * g + list(p) for g, p in zip(gaps, prompts, strict=True)]
        masks = [[0] * gap + [1] * (longest - gap) for gap in gaps]
        return torch.tensor(rows), torch.tensor(masks)

    def _read(self, tokens: Tensor, mask: Tensor, cache: Any) -> tuple[Tensor, Any]:
        """Read tokens behind the cache; return the logits (rows, vocabulary) of the next ones."""
        device = self._model.device
        device = torch.device("cpu") if device.type == "meta" else device
        given: dict[str, Any] = {} if cache is None else {self._cache_name: cache}
        if self._positions:
            places = (mask.cumsum(1) - 1).clamp(min=0)
            given["position_ids"] = places[:, -tokens.shape[1] :].to(device)
        out = self._model(
            input_ids=tokens.to(device),
            attention_mask=mask.to(device),
            use_cache=True,
            logits_to_keep=1,
            **given,
        )
        return out.logits[:, -1], getattr(out, self._cache_name)


def end_tokens(model: Any, tokenizer: Any) -> frozenset[int]:
    """Return the tokens that end a text: those of the checkpoint, such as the end of a turn."""
    given = getattr(model.generation_config, "eos_token_id", None)
    listed = given if isinstance(given, list) else [given]
    return frozenset(token for token in (*listed, tokenizer.eos_token_id) if token is not None)
