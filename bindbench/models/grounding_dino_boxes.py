"""Boxes by the zero-shot detectors of transformers: Grounding DINO and others of its auto class.

Each query names one noun: with several in one query the labels of Grounding DINO run into each
other. Each image is looked at once for each of its nouns.
"""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import torch
from PIL import Image as PILImage
from transformers import AutoModelForZeroShotObjectDetection

from bindbench.errors import UserError
from bindbench.models.base import Box, Image
from bindbench.models.found_boxes import FoundBox, plain_words
from bindbench.models.grounding_dino_options import GroundingDinoOptions
from bindbench.models.halving import Halving
from bindbench.models.hf_loading import Checkpoint
from bindbench.models.hf_names import HfSource
from bindbench.models.hf_options import HfOptions
from bindbench.scoring.checked import remedy

GROUNDED = (
    "grounding-dino",
    "mm-grounding-dino",
)  # which say to what part of a query a box answers
REMEDY = "use smaller images, dtype bfloat16, or another device"

Query = tuple[Image, str]  # an image and a noun


def query_text(noun: str) -> str:
    """Return a noun as Grounding DINO was trained to read it: lower case, with a period."""
    return f"{noun.lower()}."


class BoxFinder:
    """Finds the boxes of nouns.

    Raises:
        UserError: the checkpoint lacks a part or is damaged, or it does not fit.
    """

    def __init__(self, source: HfSource, options: GroundingDinoOptions) -> None:
        # The weights stay in float32 for any dtype, which is that of the arithmetic.
        checkpoint = Checkpoint(source, HfOptions(device=options.device), "give another device")
        self._processor = checkpoint.processor()
        self._model = checkpoint.model(
            AutoModelForZeroShotObjectDetection, torch.float32, device_map={"": options.device}
        )
        self._name, self._options = source.name, options
        self._grounded = source.model_type in GROUNDED
        self._dtype = getattr(torch, options.dtype)
        self._halving = Halving(source.name, REMEDY)

    def find(
        self, images: Sequence[Image], nouns: Sequence[Sequence[str]]
    ) -> list[list[list[FoundBox]]]:
        """Return the boxes of each noun of each image, within the image.

        A pass takes as many queries as there are images. Images of different sizes never share
        one, since padding changes what a model sees.

        Raises:
            UserError: the model gave no number, or memory runs out for a single image.
        """
        queries = [(i, k) for i, names in enumerate(nouns) for k in range(len(names))]
        found: dict[tuple[int, int], list[FoundBox]] = {}

        def size(query: tuple[int, int]) -> tuple[int, ...]:
            return images[query[0]].shape[:2]

        for _, group in groupby(sorted(queries, key=size), size):
            asked = list(group)
            boxes = self._halving.map(
                self._find, [(images[i], nouns[i][k]) for i, k in asked], len(images)
            )
            found |= dict(zip(asked, boxes, strict=True))
        return [[found[i, k] for k in range(len(names))] for i, names in enumerate(nouns)]

    @torch.inference_mode()
    def _find(self, queries: Sequence[Query]) -> list[list[FoundBox]]:
        ask = self._ask_grounded if self._grounded else self._ask_listed
        sizes = [image.shape[:2] for image, _ in queries]
        return [self._found(result, size) for result, size in zip(ask(queries), sizes, strict=True)]

    def _ask_grounded(self, queries: Sequence[Query]) -> list[dict[str, Any]]:
        inputs, outputs, sizes = self._run(queries, query_text, padding=True)
        self._check(outputs.logits, queries)
        return self._processor.post_process_grounded_object_detection(
            outputs,
            inputs["input_ids"],
            threshold=self._options.box_threshold,
            text_threshold=self._options.text_threshold,
            target_sizes=sizes,
        )

    def _ask_listed(self, queries: Sequence[Query]) -> list[dict[str, Any]]:
        """Ask a model that takes a list of names, here of one, and answers by its number."""
        _, outputs, sizes = self._run(queries, lambda noun: [noun.lower()])
        logits = outputs.get("logits")
        self._check(outputs.decoder_class_logits if logits is None else logits, queries)
        found = self._processor.post_process_grounded_object_detection(
            outputs,
            threshold=self._options.box_threshold,
            target_sizes=sizes,
            text_labels=[[noun] for _, noun in queries],
        )
        return [result | {"text_labels": None} for result in found]

    def _run(
        self, queries: Sequence[Query], text: Callable[[str], str | list[str]], **how: Any
    ) -> tuple[Any, Any, list[tuple[int, int]]]:
        inputs = self._processor(
            images=[PILImage.fromarray(image) for image, _ in queries],
            text=[text(noun) for _, noun in queries],
            return_tensors="pt",
            **how,
        ).to(self._model.device)
        half = self._dtype != torch.float32
        with torch.autocast(self._model.device.type, self._dtype, enabled=half):
            outputs = self._model(**inputs)
        return inputs, outputs, [image.shape[:2] for image, _ in queries]

    def _check(self, logits: torch.Tensor, queries: Sequence[Query]) -> None:
        """No score is above a threshold that is no number, and nothing found would look empty."""
        broken = logits.flatten(1).isnan().any(1).tolist()
        if any(broken):
            raise UserError(
                f"{self._name} gave NaN for {queries[broken.index(True)][1]!r} in "
                f"{self._options.dtype}: {remedy(self._options.dtype)}."
            )

    def _found(self, result: dict[str, Any], size: tuple[int, int]) -> list[FoundBox]:
        boxes = [_within(box, size) for box in result["boxes"].tolist()]
        labels = result["text_labels"]
        words = [None] * len(boxes) if labels is None else [self._words(text) for text in labels]
        return [
            FoundBox(score, box, part)
            for score, box, part in zip(result["scores"].tolist(), boxes, words, strict=True)
            if box[0] < box[2] and box[1] < box[3]
        ]

    def _words(self, label: str) -> str:
        return plain_words(label, self._processor.tokenizer.all_special_tokens)


def _within(box: Sequence[float], size: tuple[int, int]) -> Box:
    """Return the part of a box that is in an image of (height, width)."""
    height, width = size
    left, top, right, bottom = box
    return max(left, 0.0), max(top, 0.0), min(right, float(width)), min(bottom, float(height))
