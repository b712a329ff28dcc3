"""The open-vocabulary detector: boxes by Grounding DINO, one noun at a time, and masks by SAM 2."""

from collections.abc import Collection, Sequence
from typing import Protocol

import numpy as np

from bindbench.models.base import Detection, Image
from bindbench.models.found_boxes import FoundBox, Rules, resolve
from bindbench.models.grounding_dino_boxes import BoxFinder
from bindbench.models.grounding_dino_names import DetectorSource
from bindbench.models.grounding_dino_options import GroundingDinoOptions
from bindbench.models.sam2_masks import load_sam2
from bindbench.vocabulary import Lexicon


class Finder(Protocol):
    """Finds the boxes of nouns."""

    def find(
        self, images: Sequence[Image], nouns: Sequence[Sequence[str]]
    ) -> list[list[list[FoundBox]]]:
        """Return the boxes of each noun of each image."""
        ...


class Segmenter(Protocol):
    """Finds the pixels of what is in a box."""

    def masks(self, images: Sequence[Image], boxes: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return for each image the masks of its boxes (n, 4), bool (n, height, width)."""
        ...


def load_detector(
    source: DetectorSource, options: GroundingDinoOptions, lexicon: Lexicon
) -> "GroundingDetector":
    """Return a detector.

    Raises:
        UserError: a checkpoint lacks a part or is damaged, or the models don't fit.
    """
    return GroundingDetector(
        BoxFinder(source.boxes, options),
        load_sam2(source.masks, options.device, options.dtype),
        {*lexicon.objects.names, *lexicon.shapes.names},
        Rules(options.same_noun_overlap, options.other_noun_overlap),
    )


class GroundingDetector:
    """Finds the instances of nouns, and nothing that was not asked for.

    Args:
        finder: finds boxes.
        segmenter: finds masks.
        known: the nouns of the vocabularies, by which a tie is told from a bow tie.
        rules: which boxes show the same.
    """

    def __init__(
        self,
        finder: Finder,
        segmenter: Segmenter,
        known: Collection[str],
        rules: Rules | None = None,
    ) -> None:
        self._finder, self._segmenter = finder, segmenter
        self._known, self._rules = known, rules or Rules()

    def detect(
        self, images: Sequence[Image], nouns: Sequence[Sequence[str]]
    ) -> list[list[Detection]]:
        """Return the instances of each image, noun by noun, strongest first.

        Raises:
            UserError: a model gave no number, or memory runs out for a single image.
        """
        instances = [
            [
                (noun, box)
                for noun, boxes in zip(
                    names, resolve(names, found, self._known, self._rules), strict=True
                )
                for box in boxes
            ]
            for names, found in zip(nouns, self._finder.find(images, nouns), strict=True)
        ]
        masks = self._masks(images, instances)
        return [
            [
                Detection(noun, box.score, box.box, mask)
                for (noun, box), mask in zip(own, pixels, strict=True)
            ]
            for own, pixels in zip(instances, masks, strict=True)
        ]

    def _masks(
        self, images: Sequence[Image], instances: Sequence[Sequence[tuple[str, FoundBox]]]
    ) -> list[np.ndarray]:
        """Return the masks of each image's instances; an image without any is not looked at."""
        out = [np.zeros((0, *image.shape[:2]), dtype=bool) for image in images]
        seen = [i for i, own in enumerate(instances) if own]
        boxes = [np.array([box.box for _, box in instances[i]]) for i in seen]
        if seen:
            found = self._segmenter.masks([images[i] for i in seen], boxes)
            for i, masks in zip(seen, found, strict=True):
                out[i] = masks
        return out
