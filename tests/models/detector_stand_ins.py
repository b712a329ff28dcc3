"""Detectors and judges whose outputs are set by hand, behind the code that reads real ones.

An image is one gray value, by which the stand-ins know what it shows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from transformers.models.grounding_dino.modeling_grounding_dino import (
    GroundingDinoObjectDetectionOutput,
)

from bindbench.models.hf_judge import HfJudge

Words = Mapping[str, float]  # word -> the probability that a box answers to it
Place = tuple[float, float, float, float]  # centre x, centre y, width, height: shares of the image


@dataclass(frozen=True)
class Scene:
    """What an image shows to a detector and to a judge."""

    gray: int
    things: Sequence[tuple[Place, Words]]
    # a part of a question -> option -> log-likelihood in nats; -30 of those that are not named
    answers: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    def image(self, side: int = 64) -> np.ndarray:
        """Return the image, uint8 (side, side, 3)."""
        return np.full((side, side, 3), self.gray, np.uint8)


class Sees(torch.nn.Module):
    """Stands in for Grounding DINO's network: its logits and boxes are those of the scenes."""

    device = torch.device("cpu")

    def __init__(self, processor: Any, scenes: Sequence[Scene]) -> None:
        super().__init__()
        self.processor, self.scenes = processor, {scene.gray: scene for scene in scenes}

    def forward(self, input_ids, pixel_values, **inputs):
        most = max(len(scene.things) for scene in self.scenes.values())
        logits = torch.full((len(input_ids), most, 256), -torch.inf)
        boxes = torch.zeros(len(input_ids), most, 4)
        for i, ids in enumerate(input_ids.tolist()):
            things = self.scenes[self._gray(pixel_values[i])].things
            for k, (place, words) in enumerate(things):
                boxes[i, k] = torch.tensor(place)
                by_token = {self._token(word): p for word, p in words.items()}
                for t, token in enumerate(ids):
                    logits[i, k, t] = torch.logit(torch.tensor(by_token.get(token, 0.01)))
        return GroundingDinoObjectDetectionOutput(logits=logits, pred_boxes=boxes)

    def _gray(self, pixels: torch.Tensor) -> int:
        images = self.processor.image_processor
        red = float(pixels[0].mean()) * images.image_std[0] + images.image_mean[0]
        return round(255 * red)

    def _token(self, word: str) -> int:
        return self.processor.tokenizer.convert_tokens_to_ids(word)


class FullBoxes:
    """Stands in for SAM 2: a mask is its box."""

    def masks(self, images, boxes):
        found = []
        for image, own in zip(images, boxes, strict=True):
            masks = np.zeros((len(own), *image.shape[:2]), dtype=bool)
            for mask, (left, top, right, bottom) in zip(
                masks, own.round().astype(int), strict=True
            ):
                mask[top:bottom, left:right] = True
            found.append(masks)
        return found


class HandSet:
    """Stands in for a generative model: the log-likelihoods of answers are those of the scenes."""

    def __init__(self, scenes: Sequence[Scene]) -> None:
        self.scenes = {scene.gray: scene for scene in scenes}

    def reader_of(self, prompt: str) -> Any:
        return SimpleNamespace(
            captions=lambda options: SimpleNamespace(captions=list(options)),
            with_image=lambda image, answers: (int(image[0, 0, 0]), prompt),
        )

    def self_test(self) -> Any:
        return SimpleNamespace(check=lambda method, image: None)

    def likelihood(self) -> Any:
        model = SimpleNamespace(read_prefix=lambda inputs: inputs)
        return SimpleNamespace(model=model, method=lambda *_: "by hand", sums=self._sums)

    def _sums(self, prefix: tuple[int, str], options: Sequence[str], method: str) -> np.ndarray:
        gray, prompt = prefix
        (table,) = (t for part, t in self.scenes[gray].answers.items() if part in prompt)
        return np.array([table.get(option, -30.0) for option in options])


def hand_set_judge(scenes: Sequence[Scene]) -> HfJudge:
    """Return a judge that chooses by the log-likelihoods of the scenes."""
    model: Any = HandSet(scenes)
    return HfJudge(model, "{question} Answer with one of these: {options}.")
