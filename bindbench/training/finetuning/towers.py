"""The model under training: its two towers, its loss, and gradients of batches of any size."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor, nn

from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.models.base import Image
from bindbench.models.hf_contrastive import HfEncoders
from bindbench.models.open_clip_scorer import OpenClipEncoders
from bindbench.scoring.contrastive import ContrastiveScorer
from bindbench.suite import RoleSettings
from bindbench.training.finetuning.losses import infonce, sigmoid
from bindbench.vocabulary import Lexicon

Inputs = dict[str, Tensor]  # one row for each image or text
Encode = Callable[[Inputs], Tensor]
LARGEST_SCALE = 4.6052  # log(100): what CLIP's temperature is bounded by


def load_towers(settings: RoleSettings, lexicon: Lexicon, chunk: int, precision: str) -> "Towers":
    """Return a copy of a model of its own, to be changed.

    Raises:
        UserError: it has no towers, or is asked for in another dtype than float32.
    """
    name, family, options = registry.resolve("scorer", settings)
    if getattr(options, "dtype", "float32") != "float32":
        raise UserError(
            f"{name}: weights are trained in float32, not {options.dtype}: leave out the option "
            "dtype, and set --precision for the activations."
        )
    if not registry.is_contrastive(name, options):
        raise UserError(
            f"{name} has no text tower to fine-tune, as it is no contrastive model: give one of "
            "open_clip, or a CLIP, SigLIP or SigLIP 2 model of transformers."
        )
    scorer = family.load(name, options, lexicon)
    assert isinstance(scorer, ContrastiveScorer)
    return Towers(scorer.encoders, chunk, precision)


class Towers:
    """An image encoder and a text encoder that learn.

    They stay in evaluation mode: batch norms keep their statistics, so that a batch that is
    computed in chunks has the gradients of the whole.

    Args:
        encoders: as a scorer has them.
        chunk: images or captions that go through a tower at once with gradients.
        precision: of activations, float32 or bfloat16.
    """

    def __init__(self, encoders: Any, chunk: int, precision: str) -> None:
        assert isinstance(encoders, OpenClipEncoders | HfEncoders)
        self._encoders, self._chunk, self._precision = encoders, chunk, precision
        self.model: nn.Module = encoders.model.eval()
        self.scale: Tensor = encoders.model.logit_scale
        self.bias: Tensor | None = getattr(encoders.model, "logit_bias", None)
        self.save = encoders.save
        self.tokens = encoders.tokens

    @property
    def loss(self) -> str:
        """The loss that the model was made for: sigmoid where it has a bias, else softmax."""
        return "softmax" if self.bias is None else "sigmoid"

    def pixels(self, images: Iterator[Image]) -> Inputs:
        """Return images as the model reads them."""
        return joined([self._encoders.pixels([image]) for image in images])

    def image_rows(self, pixels: Inputs) -> Tensor:
        """Return embeddings of length 1, float32 (images, D)."""
        with self._casting():
            return self._encoders.image_rows(pixels)

    def text_rows(self, tokens: Inputs) -> Tensor:
        """Return embeddings of length 1, float32 (texts, D)."""
        with self._casting():
            return self._encoders.text_rows(tokens)

    @torch.inference_mode()
    def embeddings(self, encode: Encode, inputs: Inputs) -> Tensor:
        """Return embeddings without gradients, chunk by chunk."""
        return torch.cat([encode(part) for part in self._chunks(inputs)])

    def backward(self, pixels: Inputs, tokens: Inputs, order: Tensor, excluded: Tensor) -> float:
        """Add the gradients of a batch's loss to those of the parameters, and return the loss.

        A batch that is larger than a chunk is embedded first without gradients; then the loss's
        gradient by each embedding is led back through its tower, chunk by chunk (Gao et al., 2021).
        So every image meets all captions of the batch in the memory of one chunk.

        Args:
            pixels: of B images.
            tokens: of the distinct texts.
            order: int64 (B + M,): the text of each column of ``excluded``.
            excluded: as the losses take it, bool (B, B + M).
        """
        if max(rows_of(pixels), rows_of(tokens)) <= self._chunk:
            loss = self._loss(self.image_rows(pixels), self.text_rows(tokens), order, excluded)
            loss.backward()
            return loss.item()
        sides = [(self.image_rows, pixels), (self.text_rows, tokens)]
        leaves = [self.embeddings(e, i).clone().requires_grad_() for e, i in sides]
        loss = self._loss(leaves[0], leaves[1], order, excluded)
        loss.backward()
        for (encode, inputs), leaf in zip(sides, leaves, strict=True):
            assert leaf.grad is not None
            for part, gradient in zip(
                self._chunks(inputs), leaf.grad.split(self._chunk), strict=True
            ):
                encode(part).backward(gradient)
        return loss.item()

    def _loss(self, images: Tensor, texts: Tensor, order: Tensor, excluded: Tensor) -> Tensor:
        places = order.to(texts.device)
        logits = self.scale.exp() * images @ texts[places].T
        if self.bias is None:
            return infonce(logits, excluded.to(logits.device))
        return sigmoid(logits + self.bias, excluded.to(logits.device))

    @torch.no_grad()
    def bound_scale(self) -> None:
        """Keep CLIP's temperature below 100, as in its own training."""
        if self.bias is None:
            self.scale.clamp_(0, LARGEST_SCALE)

    def _chunks(self, inputs: Inputs) -> Iterator[Inputs]:
        for start in range(0, rows_of(inputs), self._chunk):
            yield {name: rows[start : start + self._chunk] for name, rows in inputs.items()}

    def _casting(self) -> AbstractContextManager[Any]:
        return torch.autocast(
            self.scale.device.type, torch.bfloat16, enabled=self._precision == "bfloat16"
        )


def rows_of(inputs: Inputs) -> int:
    """Return the number of images or texts."""
    return len(next(iter(inputs.values())))


def joined(parts: Sequence[Inputs]) -> Inputs:
    """Return inputs one behind the other."""
    return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
