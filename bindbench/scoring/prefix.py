"""What a generative model computes once for all captions of an image: its cache of the prefix."""

import contextlib
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer


@dataclass(frozen=True)
class Prefix:
    """An image and a prompt, read."""

    cache: Any  # of transformers
    length: int  # tokens
    position: int  # of the first token of a caption; not the length where an image counts for less
    first: Tensor  # float32 (vocabulary,): log-probabilities of the first token of a caption


@dataclass(frozen=True)
class Layers:
    """What a model keeps of the tokens that it has read, as its own cache shows it."""

    plain: bool  # keys and values of every token, or of the last ones: nothing recurrent
    window: int | None  # how many tokens the most forgetful layer looks back; None: all


class PrefixModel:
    """A language model that sees images, as the scoring of captions uses it.

    Args:
        model: called as models of transformers are: ``model(input_ids=..., attention_mask=...,
            position_ids=..., cache=..., use_cache=True, logits_to_keep=...)`` and whatever the
            processor returns; gives ``logits`` and the cache.
        decoder: the part of it that is called with the position ids.
        additive: whether attention adds its mask (eager) instead of selecting by it (sdpa); an
            eager layer that is given a boolean mask adds 0 and 1 to its scores without an error.
    """

    def __init__(self, model: Any, decoder: torch.nn.Module, additive: bool) -> None:
        self._model, self._decoder, self._additive = model, decoder, additive
        names = inspect.signature(model.forward).parameters
        # Renamed in the course of transformers 5.
        self._cache_name = "cache" if "cache" in names else "past_key_values"
        self._layers: Layers | None = None

    @property
    def layers(self) -> Layers:
        """What its cache is made of; known once a prefix was read."""
        assert self._layers is not None
        return self._layers

    @property
    def device(self) -> torch.device:
        """Where its inputs belong; a model that is spread over devices takes them from the CPU."""
        device = self._model.device
        return torch.device("cpu") if device.type == "meta" else device

    @torch.inference_mode()
    def read_prefix(self, inputs: Mapping[str, Tensor]) -> Prefix:
        """Read everything that the processor returned for one image and prompt."""
        if self._layers is None:
            prefix = self._read(inputs, None)
            self._layers = _layers_of(prefix.cache)
            if not self._layers.plain or self._layers.window is None:
                return prefix
        # A cache that forgets what is behind a window can't be cropped; the model builds the same
        # windows from one that keeps all. Recurrent layers need the cache that the model makes.
        return self._read(inputs, DynamicCache() if self._layers.plain else None)

    def _read(self, inputs: Mapping[str, Tensor], cache: Any) -> Prefix:
        seen: list[Tensor | None] = []

        def note(module: Any, args: Any, named: dict[str, Any]) -> None:
            seen.append(named.get("position_ids"))

        hook = self._decoder.register_forward_pre_hook(note, with_kwargs=True)
        try:
            given = {} if cache is None else {self._cache_name: cache}
            out = self._model(**self._placed(inputs), **given, use_cache=True, logits_to_keep=1)
        finally:
            hook.remove()
        length = inputs["input_ids"].shape[1]
        positions = seen[-1] if seen else None
        position = length if positions is None else int(positions.max()) + 1
        first = out.logits[0, -1].float().log_softmax(-1)
        return Prefix(getattr(out, self._cache_name), length, position, first)

    @torch.inference_mode()
    def in_one_pass(self, inputs: Mapping[str, Tensor], count: int) -> float:
        """Return the sum of the log-probabilities of the last ``count`` tokens, without a cache.

        This is what everything faster is compared with: the model as its authors call it.
        """
        out = self._model(**self._placed(inputs), use_cache=False, logits_to_keep=count + 1)
        table = out.logits[0, :-1].float().log_softmax(-1)
        tokens = inputs["input_ids"][0, -count:].to(table.device)
        return float(table.gather(-1, tokens[:, None]).double().sum())

    @torch.inference_mode()
    def read_on(self, cache: Any, tokens: Tensor, positions: Tensor, mask: Tensor | None) -> Tensor:
        """Read tokens after what the cache holds, and add them to it.

        Args:
            cache: of as many rows.
            tokens: int64 (rows, T).
            positions: int64 (rows, T).
            mask: bool (rows, 1, T, cached + T): what each token reads; or int64 (rows, cached +
                T): which tokens are no padding; or None: everything before.

        Returns:
            Logits (rows, T, vocabulary), in the model's dtype.
        """
        if mask is not None and mask.dtype == torch.bool:
            mask = self._prepared(mask)
        out = self._model(
            input_ids=tokens.to(self.device),
            position_ids=positions.to(self.device),
            attention_mask=None if mask is None else mask.to(self.device),
            **{self._cache_name: cache},
            use_cache=True,
        )
        return out.logits

    def _placed(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        dtype = self._model.dtype
        return {
            key: value.to(self.device, dtype if value.is_floating_point() else value.dtype)
            for key, value in inputs.items()
        }

    def _prepared(self, mask: Tensor) -> Tensor:
        if not self._additive:
            return mask
        dtype = self._model.dtype
        return torch.zeros(mask.shape, dtype=dtype).masked_fill(~mask, torch.finfo(dtype).min)


@contextlib.contextmanager
def unchanged(cache: Any) -> Iterator[None]:
    """Take back what is added to a cache of plain layers, also by a call that breaks off."""
    before = [(layer.keys, layer.values) for layer in cache.layers]
    try:
        yield
    finally:
        for layer, (keys, values) in zip(cache.layers, before, strict=True):
            layer.keys, layer.values = keys, values


def _layers_of(cache: Any) -> Layers:
    kinds = [type(layer) for layer in cache.layers]
    windows = [
        layer.sliding_window for layer in cache.layers if type(layer) is DynamicSlidingWindowLayer
    ]
    plain = all(kind in (DynamicLayer, DynamicSlidingWindowLayer) for kind in kinds)
    return Layers(plain, min(windows, default=None))
