"""Generative models of transformers: anything that loads as AutoModelForImageTextToText."""

import copy
from typing import Any

import torch
from transformers import AutoModelForImageTextToText

from bindbench.models.hf_loading import Checkpoint
from bindbench.models.hf_names import HfSource
from bindbench.models.hf_options import HfOptions
from bindbench.models.hf_prompt import PromptReader
from bindbench.scoring.likelihood import Likelihood
from bindbench.scoring.likelihood_scorer import LikelihoodScorer
from bindbench.scoring.prefix import PrefixModel
from bindbench.scoring.self_test import SelfTest

FEWEST_LAYERS = 4  # of the part of a model that is tested in float32


def load_generative(source: HfSource, options: HfOptions) -> LikelihoodScorer:
    """Return the scorer of a model.

    Raises:
        UserError: the checkpoint lacks a part or is damaged, or it does not fit.
    """
    return GenerativeModel(Checkpoint(source, options)).scorer()


class GenerativeModel:
    """A model with what writes its inputs, and the part of it that is tested in float32."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint, options = checkpoint, checkpoint.options
        self._config = checkpoint.config()
        self._processor = checkpoint.processor()
        self.tokenizer = self._processor.tokenizer
        self.reader = self.reader_of(options.prompt)
        self.model = self._load(self._config, options.dtype, options.device, options.quantisation)

    def scorer(self) -> LikelihoodScorer:
        """Return the scorer."""
        name, options = self._checkpoint.source.name, self._checkpoint.options
        return LikelihoodScorer(
            name,
            options.dtype,
            self.likelihood(),
            self.reader,
            self.self_test(),
            options.image_free,
        )

    def likelihood(self) -> Likelihood:
        """Return what computes log-likelihoods."""
        return Likelihood(_prefix_model(self.model), self._checkpoint.source.name)

    def self_test(self) -> SelfTest:
        """Return the test that each way of scoring has to pass."""
        return SelfTest(self._checkpoint.source.name, self.reader, self.in_float32)

    def reader_of(self, prompt: str) -> PromptReader:
        """Return what writes the inputs for another prompt."""
        return PromptReader(self._checkpoint.source.name, self._processor, prompt)

    def in_float32(self) -> PrefixModel:
        """Return the model in float32: itself, or its first layers read from the checkpoint again.

        Layers of a kind are alike, so that a model which is too large to be held in float32, or is
        quantised, is tested by as many as show all kinds.
        """
        options = self._checkpoint.options
        if options.dtype == "float32" and not options.quantisation and options.device != "auto":
            return _prefix_model(self.model)
        device = options.device
        if device == "auto":
            device = "cuda:0" if torch.cuda.is_available() else "cpu"
        return _prefix_model(self._load(first_layers(self._config), "float32", device, ""))

    def _load(self, config: Any, dtype: str, device: str, quantisation: str) -> Any:
        return self._checkpoint.model(
            AutoModelForImageTextToText,
            getattr(torch, dtype),
            config=config,
            attn_implementation=attention_of(config, self._checkpoint.options.attention),
            **self._checkpoint.placement(dtype, device, quantisation),
        )


def first_layers(config: Any) -> Any:
    """Return the configuration of a model's first layers: all kinds of them, and at least four."""
    part = copy.deepcopy(config)
    text = part.get_text_config()
    depth = text.num_hidden_layers
    kinds = getattr(text, "layer_types", None) or [""] * depth
    keep = next(n for n in range(1, depth + 1) if set(kinds[:n]) == set(kinds))
    keep = min(depth, max(keep, FEWEST_LAYERS))
    for field, value in list(vars(text).items()):
        if isinstance(value, list) and len(value) == depth:
            setattr(text, field, value[:keep])
    text.num_hidden_layers = keep
    return part


def _prefix_model(model: Any) -> PrefixModel:
    eager = model.config.get_text_config()._attn_implementation == "eager"
    return PrefixModel(model, model.get_decoder(), eager)


def attention_of(config: Any, wanted: str) -> str:
    """Return an implementation; sdpa leaves out the soft cap that Gemma 2 was trained with."""
    if wanted != "auto":
        return wanted
    capped = getattr(config.get_text_config(), "attn_logit_softcapping", None)
    return "eager" if capped else "sdpa"
