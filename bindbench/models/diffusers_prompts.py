"""Texts encoded once each, for the pipelines whose call takes what their ``encode_prompt`` gives.

Encoding a batch's texts apart from drawing it also keeps a halved batch from encoding them again.
"""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

POOLED = (
    "prompt_embeds",
    "negative_prompt_embeds",
    "pooled_prompt_embeds",
    "negative_pooled_prompt_embeds",
)
# What encode_prompt returns, by the names of the call's arguments; "" is not passed on.
LAYOUTS = {
    "StableDiffusionPipeline": ("prompt_embeds", "negative_prompt_embeds"),
    "StableDiffusionXLPipeline": POOLED,
    "StableDiffusion3Pipeline": POOLED,
    "FluxPipeline": ("prompt_embeds", "pooled_prompt_embeds", ""),
}
NEGATIVE = "negative_"


class Prompts:
    """The encoded texts of one shard, and the negative prompt, which all shards share."""

    def __init__(self, pipeline: Any, call: Mapping[str, Any]) -> None:
        self._pipeline, self._call = pipeline, dict(call)
        self._negative_prompt = self._call.pop("negative_prompt", None)
        self._layout = LAYOUTS.get(type(pipeline).__name__, ())
        if self._call.get("true_cfg_scale", 1) > 1:  # a second pass that FLUX encodes by itself
            self._layout = ()
        self._texts: dict[str, dict[str, Tensor]] = {}
        self._negative: dict[str, Tensor] = {}

    def fresh(self) -> "Prompts":
        """Return the same without a shard's texts."""
        other = Prompts(self._pipeline, self._call | {"negative_prompt": self._negative_prompt})
        other._negative = self._negative
        return other

    def arguments(self, texts: Sequence[str]) -> dict[str, Any]:
        """Return the arguments of a call that draws an image of each text, encoded if they can be.

        The texts that are new are encoded in one batch.
        """
        if not self._layout:
            given: dict[str, Any] = self._call | {"prompt": list(texts)}
            if self._negative_prompt:
                given["negative_prompt"] = [self._negative_prompt] * len(texts)
            return given
        new = [text for text in dict.fromkeys(texts) if text not in self._texts]
        if new:
            encoded = self._encode(new, guided=False)
            for i, text in enumerate(new):
                self._texts[text] = {name: rows[i : i + 1].cpu() for name, rows in encoded.items()}
        rows = [self._texts[text] for text in texts]
        found = {name: torch.cat([row[name] for row in rows]) for name in rows[0]}
        if self._is_guided():
            if not self._negative:
                # It stands beside an empty text, so that it does not depend on the batch.
                for name, row in self._encode([""], guided=True).items():
                    if name.startswith(NEGATIVE):
                        self._negative[name] = row.cpu()
            for name, row in self._negative.items():
                found[name] = row.expand(len(texts), *row.shape[1:])
        device = self._pipeline._execution_device
        return self._call | {name: value.to(device) for name, value in found.items()}

    def cut(self, texts: Sequence[str]) -> list[str]:
        """Return the texts that are longer than what any of the text encoders reads."""
        parts = [getattr(self._pipeline, f"tokenizer{end}", None) for end in ("", "_2", "_3")]
        known = [(part, self._most_tokens(part)) for part in parts if part is not None]
        whole = {
            text
            for tokens, most in known
            for text in texts
            if len(tokens(text)["input_ids"]) <= most
        }
        return [text for text in dict.fromkeys(texts) if known and text not in whole]

    def _most_tokens(self, tokens: Any) -> int:
        longest = inspect.signature(self._pipeline.__call__).parameters.get("max_sequence_length")
        if longest is None or type(tokens).__name__.startswith("CLIP"):
            return tokens.model_max_length
        return self._call.get("max_sequence_length", longest.default)

    def _is_guided(self) -> bool:
        """Whether each step is also run for the negative prompt, as the pipelines decide it."""
        if f"{NEGATIVE}prompt_embeds" not in self._layout:
            return False
        unet = getattr(self._pipeline, "unet", None)
        embedded = unet is not None and unet.config.time_cond_proj_dim is not None
        return self._call["guidance_scale"] > 1 and not embedded

    @torch.no_grad()
    def _encode(self, texts: list[str], guided: bool) -> dict[str, Tensor]:
        """Return what the pipeline's call takes, each (texts, ...), with negatives if guided."""
        given: dict[str, Any] = {
            "prompt": texts,
            "prompt_2": None,
            "prompt_3": None,
            "device": self._pipeline._execution_device,
            "num_images_per_prompt": 1,
            "do_classifier_free_guidance": guided,
        } | self._call
        if guided and self._negative_prompt:
            given["negative_prompt"] = [self._negative_prompt] * len(texts)
        known = inspect.signature(self._pipeline.encode_prompt).parameters
        found = self._pipeline.encode_prompt(**{k: v for k, v in given.items() if k in known})
        named = zip(self._layout, found, strict=True)
        return {name: value for name, value in named if name and value is not None}
