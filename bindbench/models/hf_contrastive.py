"""Contrastive models of transformers: CLIP, SigLIP and SigLIP 2, each with the text it needs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image as PILImage
from torch import Tensor
from transformers import AutoModel

from bindbench.models.base import Image
from bindbench.models.halving import Halving
from bindbench.models.hf_loading import Checkpoint
from bindbench.models.hf_names import HfSource
from bindbench.models.hf_options import HfOptions
from bindbench.scoring.contrastive import ContrastiveScorer

Inputs = dict[str, Tensor]  # what a tower reads, one row for each image or text
TEXT_BATCH = 256
IMAGE_BATCH = 64
REMEDY = "set dtype to bfloat16, or use a device with more memory"


def load_contrastive(source: HfSource, options: HfOptions) -> ContrastiveScorer:
    """Return the scorer of a model.

    Raises:
        UserError: the checkpoint lacks a part or is damaged, or it does not fit.
    """
    return ContrastiveScorer(HfEncoders(Checkpoint(source, options, REMEDY)))


class HfEncoders:
    """The two towers of a model of transformers, as a scorer and a fine-tuning need them."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        options = checkpoint.options
        self.name, self.dtype = checkpoint.source.name, options.dtype
        self._halving = Halving(self.name, REMEDY)
        self._processor = checkpoint.processor()
        self.model = checkpoint.model(
            AutoModel, getattr(torch, options.dtype), device_map={"": options.device}
        )
        # The bias of SigLIP models is left out: it is the same for every caption.
        self.scale = float(self.model.logit_scale.detach().float().exp())
        self._full_length = checkpoint.source.model_type != "clip"
        self._length = self.model.config.text_config.max_position_embeddings

    def encode_images(self, images: Sequence[Image]) -> np.ndarray:
        """Return embeddings of length 1, float32 (images, D)."""
        return np.stack(self._halving.map(self._images, images, IMAGE_BATCH))

    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Return embeddings of length 1, float32 (texts, D).

        SigLIP and SigLIP 2 were trained on lower-case text, padded to its full length with tokens
        that they read; their tokenizers don't pad unasked, and those of the published SigLIP 2
        checkpoints of type siglip, which are Gemma's, don't lower text. CLIP reads nothing behind
        a text's end, so that its texts are padded as little as possible, those of about the same
        length together.
        """
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        rows = self._halving.map(self._texts, [texts[i] for i in order], TEXT_BATCH)
        out = np.empty((len(texts), len(rows[0])), np.float32)
        out[order] = rows
        return out

    @torch.inference_mode()
    def _images(self, images: Sequence[Image]) -> list[np.ndarray]:
        return list(self.image_rows(self.pixels(images)).cpu().numpy())

    @torch.inference_mode()
    def _texts(self, texts: Sequence[str]) -> list[np.ndarray]:
        return list(self.text_rows(self.tokens(texts)).cpu().numpy())

    def pixels(self, images: Sequence[Image]) -> Inputs:
        """Return the images as the model reads them, one row each."""
        pictures = [PILImage.fromarray(image) for image in images]
        return dict(self._processor(images=pictures, return_tensors="pt"))

    def tokens(self, texts: Sequence[str]) -> Inputs:
        """Return the texts as the model reads them, one row each, padded to its full length."""
        found = self._processor.tokenizer(
            [text.lower() for text in texts] if self._full_length else list(texts),
            padding="max_length",
            truncation=True,
            max_length=self._length,
            return_tensors="pt",
        )
        return dict(found)

    def image_rows(self, pixels: Inputs) -> Tensor:
        """Return embeddings of length 1, float32 (images, D), on the model's device."""
        return self._unit(self.model.get_image_features, pixels)

    def text_rows(self, tokens: Inputs) -> Tensor:
        """Return embeddings of length 1, float32 (texts, D), on the model's device."""
        if not self._full_length:
            longest = int(tokens["attention_mask"].sum(1).max())
            tokens = {name: rows[:, :longest] for name, rows in tokens.items()}
        return self._unit(self.model.get_text_features, tokens)

    def _unit(self, encode: Any, inputs: Inputs) -> Tensor:
        dtype = self.model.dtype
        placed = {
            key: value.to(self.model.device, dtype if value.is_floating_point() else value.dtype)
            for key, value in inputs.items()
        }
        found = encode(**placed)
        rows = (found if isinstance(found, Tensor) else found.pooler_output).float()
        return rows / rows.norm(dim=-1, keepdim=True)

    def save(self, folder: Path) -> str:
        """Write the model with all it needs into a folder, and return the name it loads by."""
        self.model.save_pretrained(folder)
        self._processor.save_pretrained(folder)
        return f"hf:{folder}"
