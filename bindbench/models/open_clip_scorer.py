"""Contrastive scorers of the open_clip library: its own models, checkpoints, and nano models."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import open_clip
import torch
from PIL import Image as PILImage
from torch import Tensor

from bindbench.errors import UserError
from bindbench.models.base import Image
from bindbench.models.halving import Halving
from bindbench.models.open_clip_names import Source
from bindbench.models.open_clip_saving import save_folder
from bindbench.models.open_clip_text import needed_lengths, text_features
from bindbench.scoring.contrastive import ContrastiveScorer

PRECISIONS = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}
Inputs = dict[str, Tensor]  # what a tower reads, one row for each image or text
TEXT_BATCH = 256
IMAGE_BATCH = 64
PIXELS, TOKENS = "pixels", "tokens"
REMEDY = "set dtype to bfloat16, or use a device with more memory"


class OpenClipEncoders:
    """The two towers of an open_clip model, as a scorer and a fine-tuning need them."""

    def __init__(
        self, source: Source, name: str, model: Any, preprocess: Any, tokenizer: Any, dtype: str
    ) -> None:
        self.name, self.dtype, self.model = name, dtype, model
        self._source, self._preprocess, self._tokenizer = source, preprocess, tokenizer
        self._device = next(model.parameters()).device
        self._halving = Halving(name, REMEDY)
        # The bias of SigLIP models is left out: it is the same for every caption.
        self.scale = float(model.logit_scale.detach().float().exp())

    def encode_images(self, images: Sequence[Image]) -> np.ndarray:
        """Return embeddings of length 1, float32 (images, D)."""
        return np.stack(self._halving.map(self._images, images, IMAGE_BATCH))

    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Return embeddings of length 1, float32 (texts, D).

        Texts of about the same length go together, so that little of a batch is padding.
        """
        tokens = self.tokens(texts)[TOKENS]
        order = needed_lengths(self.model, tokens).argsort(stable=True)
        rows = self._halving.map(self._texts, list(tokens[order]), TEXT_BATCH)
        out = np.empty((len(texts), len(rows[0])), np.float32)
        out[order.numpy()] = rows
        return out

    @torch.inference_mode()
    def _images(self, images: Sequence[Image]) -> list[np.ndarray]:
        return list(self.image_rows(self.pixels(images)).cpu().numpy())

    @torch.inference_mode()
    def _texts(self, tokens: Sequence[Tensor]) -> list[np.ndarray]:
        return list(self.text_rows({TOKENS: torch.stack(list(tokens))}).cpu().numpy())

    def pixels(self, images: Sequence[Image]) -> Inputs:
        """Return the images as the model reads them, one row each."""
        pictures = [self._preprocess(PILImage.fromarray(image)) for image in images]
        return {PIXELS: torch.stack(pictures)}

    def tokens(self, texts: Sequence[str]) -> Inputs:
        """Return the texts as the model reads them, one row each, padded to its full length."""
        return {TOKENS: self._tokenizer(list(texts))}

    def image_rows(self, pixels: Inputs) -> Tensor:
        """Return embeddings of length 1, float32 (images, D), on the model's device."""
        batch = pixels[PIXELS].to(self._device, getattr(torch, self.dtype))
        return self.model.encode_image(batch, normalize=True).float()

    def text_rows(self, tokens: Inputs) -> Tensor:
        """Return embeddings of length 1, float32 (texts, D), on the model's device."""
        return text_features(self.model, tokens[TOKENS].to(self._device)).float()

    def save(self, folder: Path) -> str:
        """Write the model with all it needs into a folder, and return the name it loads by."""
        save_folder(self.model, self._tokenizer, self._source, folder)
        return f"open_clip:{folder}"


def load_open_clip(name: str, source: Source, dtype: str, device: str) -> ContrastiveScorer:
    """Return the scorer of a model.

    Args:
        name: the model's name, for messages.
        source: where it is.
        dtype: float32, float16 or bfloat16, of weights and activations.
        device: a torch device such as cpu or cuda:0.

    Raises:
        UserError: weights that are corrupt or of another architecture, or a device that is not
            here.
    """
    where = _device(name, device)
    try:
        model, _, preprocess = open_clip.create_model_and_transforms(
            source.model,
            pretrained=source.pretrained,
            precision=PRECISIONS[dtype],
            device=where,
            require_pretrained=True,
        )
        tokenizer = open_clip.get_tokenizer(source.model)
    except Exception as error:  # a broken file can break anything in the reading of it
        raise _not_loaded(name, source, error) from error
    return ContrastiveScorer(
        OpenClipEncoders(source, name, model.eval(), preprocess, tokenizer, dtype)
    )


def _device(name: str, device: str) -> torch.device:
    try:
        where = torch.device(device)
        torch.empty(0, device=where)
    except (RuntimeError, AssertionError) as error:
        raise UserError(
            f"{name}: device {device!r} can't be used here "
            f"({str(error).splitlines()[0].rstrip('.')}): give cpu, or a device that torch finds."
        ) from error
    return where


def _not_loaded(name: str, source: Source, error: Exception) -> UserError:
    """Say whether the file is broken or of another architecture."""
    text = str(error)
    where = source.path or source.model
    if "loading state_dict" in text or "size mismatch" in text:
        return UserError(
            f"{name}: the checkpoint {where} is of another architecture than its configuration "
            f"({_first_fault(text)}): give the one it was trained with."
        )
    reason = (text.splitlines() or [""])[0].rstrip(".") or type(error).__name__
    return UserError(
        f"{name}: {where} can't be loaded ({reason}): the file is damaged or no open_clip "
        "checkpoint, fetch or build it again."
    )


def _first_fault(text: str) -> str:
    """Return the first fault of torch's report: a name that is missing, or a shape."""
    lines = [line.strip() for line in text.splitlines()[1:] if line.strip()]
    first = lines[0] if lines else text
    return first if len(first) <= 160 else first[:157] + "..."
