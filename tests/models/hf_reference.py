"""The plain use of a generative model of transformers: one call of the processor per caption."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image as PILImage
from transformers import AutoModelForImageTextToText, AutoProcessor

PROMPT = "Describe the image."


class PlainUse:
    """A checkpoint as a reader of its documentation would use it.

    ``image`` None is the same conversation about no image. Two calls of the processor differ in
    the caption alone, and the caption's tokens are those at the end.
    """

    def __init__(self, folder: Path, prompt: str = PROMPT) -> None:
        self.processor: Any = AutoProcessor.from_pretrained(folder)
        self.model = AutoModelForImageTextToText.from_pretrained(
            folder, attn_implementation="eager"
        ).eval()
        self.prompt = prompt
        self.suffix = "PaliGemma" in type(self.processor).__name__

    def inputs(self, image: np.ndarray | None, caption: str) -> dict[str, torch.Tensor]:
        picture = None if image is None else PILImage.fromarray(image)
        if self.suffix:
            return self._with_suffix(picture, caption)
        content = [{"type": "text", "text": self.prompt}]
        if picture is not None:
            content.insert(0, {"type": "image"})
        text = self.processor.apply_chat_template(
            [{"role": "user", "content": content}], tokenize=False, add_generation_prompt=True
        )
        text += (" " if caption and text.endswith("ASSISTANT:") else "") + caption
        given = {"images": [picture]} if picture is not None else {}
        return dict(
            self.processor(text=[text], **given, add_special_tokens=False, return_tensors="pt")
        )

    def _with_suffix(self, picture: Any, caption: str) -> dict[str, torch.Tensor]:
        if picture is None:  # its processor insists on an image
            ids = self.processor.tokenizer(
                f"<s>{self.prompt}\n{caption}", add_special_tokens=False, return_tensors="pt"
            )["input_ids"]
            count = len(self.processor.tokenizer(caption, add_special_tokens=False)["input_ids"])
            types = torch.zeros_like(ids)
            types[:, -count:] = 1
            return {"input_ids": ids, "token_type_ids": types}
        text = f"<image>{self.prompt}"
        inputs = self.processor(
            images=[picture], text=[text], suffix=[caption], return_tensors="pt"
        )
        length = inputs["input_ids"].shape[1] - 1  # it ends with the end-of-text token
        del inputs["labels"]
        return {k: v[:, :length] if v.shape[1:] == (length + 1,) else v for k, v in inputs.items()}

    @torch.inference_mode()
    def score(self, image: np.ndarray | None, caption: str, count: int) -> float:
        """Return the sum of the log-probabilities of the last ``count`` tokens."""
        inputs = self.inputs(image, caption)
        table = self.model(**inputs, use_cache=False).logits[0].double().log_softmax(-1)
        ids = inputs["input_ids"][0]
        return sum(float(table[i - 1, ids[i]]) for i in range(len(ids) - count, len(ids)))

    def count(self, image: np.ndarray, captions: list[str]) -> list[int]:
        """Return how many tokens of each caption stand behind what all of them share."""
        ids = [self.inputs(image, caption)["input_ids"][0].tolist() for caption in captions]
        alone = self.inputs(image, "")["input_ids"][0].tolist()
        start = min(_common(alone, row) for row in ids)
        return [len(row) - start for row in ids]


def _common(first: list[int], second: list[int]) -> int:
    same = [a == b for a, b in zip(first, second, strict=False)]
    return same.index(False) if False in same else len(same)
