"""A language model whose probabilities are set by hand, with the interface of transformers'."""

import math
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import DynamicCache

from bindbench.models.base import Image
from bindbench.scoring.caption_tokens import CaptionTokens
from bindbench.scoring.likelihood import Likelihood
from bindbench.scoring.likelihood_scorer import LikelihoodScorer
from bindbench.scoring.prefix import PrefixModel
from bindbench.scoring.self_test import SelfTest

WORDS = ("<image>", "say:", "a", "red", "blue", "cup", "?")
BLIND, DARK, BRIGHT = 0, 1, 2
Table = Mapping[tuple[str, str], float]  # (word, next word) -> probability


class StandIn(torch.nn.Module):
    """Gives the next word by the last one, from the table of what it is shown.

    What the tables leave out shares the rest of the probability equally. What is shown stands in
    the key of the first token, as an image stands in a model's cache. ``most`` tokens fit.
    """

    device = torch.device("cpu")
    dtype = torch.float32

    def __init__(self, tables: Sequence[Table], most: int = 10**6) -> None:
        super().__init__()
        self.log_p = torch.stack([_filled(table) for table in tables])
        self.decoder = torch.nn.Identity()
        self.most = most
        self.calls: list[tuple[int, ...]] = []

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        cache: Any = None,
        use_cache: bool = True,
        logits_to_keep: int = 0,
        shown: Tensor | None = None,
    ) -> Any:
        self.calls.append(tuple(input_ids.shape))
        if input_ids.numel() > self.most:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 1 GiB.")
        self.decoder(input_ids)
        keys = torch.zeros(*input_ids.shape, 1)[:, None]
        if shown is not None:
            keys[:, :, 0] = shown
        if use_cache:
            cache = DynamicCache() if cache is None else cache
            keys, _ = cache.update(keys, keys, 0)
        state = keys.amax((1, 2, 3)).long()
        logits = self.log_p[state[:, None], input_ids][:, -logits_to_keep:]
        return SimpleNamespace(logits=logits, cache=cache)


def _filled(table: Table) -> Tensor:
    out = torch.empty(len(WORDS), len(WORDS))
    for i, word in enumerate(WORDS):
        known = {WORDS.index(b): p for (a, b), p in table.items() if a == word}
        rest = (1 - sum(known.values())) / (len(WORDS) - len(known))
        out[i] = torch.tensor([math.log(known.get(j, rest)) for j in range(len(WORDS))])
    return out


class StandInReader:
    """Splits at spaces; an image is dark or bright."""

    def captions(self, texts: Sequence[str]) -> CaptionTokens:
        rows = [[WORDS.index(w if w in WORDS else "?") for w in text.split()] for text in texts]
        return CaptionTokens([0, 1], 0, rows)

    def with_image(self, image: Image, captions: CaptionTokens) -> dict[str, Tensor]:
        state = BRIGHT if image.mean() > 127 else DARK
        return {"input_ids": torch.tensor([[0, 1]]), "shown": torch.tensor([[state]])}

    def without_image(self, captions: CaptionTokens) -> dict[str, Tensor]:
        return {"input_ids": torch.tensor([[1]])}

    def extended(self, inputs: Mapping[str, Tensor], caption: Sequence[int]) -> dict[str, Tensor]:
        ids = torch.cat([inputs["input_ids"], torch.tensor([list(caption)])], 1)
        return {**inputs, "input_ids": ids}


def prefix_model(model: StandIn) -> PrefixModel:
    return PrefixModel(model, model.decoder, additive=False)


def scorer(model: StandIn, image_free: bool = True) -> LikelihoodScorer:
    whole, reader = prefix_model(model), StandInReader()
    test = SelfTest("stand-in", reader, lambda: prefix_model(model))
    return LikelihoodScorer(
        "stand-in", "float32", Likelihood(whole, "stand-in"), reader, test, image_free
    )


def image(state: int) -> Image:
    return np.full((4, 4, 3), 200 if state == BRIGHT else 50, np.uint8)
