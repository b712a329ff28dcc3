"""Generators of the diffusers library: any pipeline that makes images from texts.

Each image has its own random generator, on the CPU, seeded by its request: what else a batch holds
changes an image by rounding at most.
"""

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from bindbench.errors import UserError
from bindbench.models.base import GeneratedImage, ImageRequest
from bindbench.models.diffusers_loading import load_pipelines
from bindbench.models.diffusers_names import DiffusersSource
from bindbench.models.diffusers_options import DiffusersOptions
from bindbench.models.diffusers_prompts import Prompts
from bindbench.models.hf_names import first_line
from bindbench.scoring.likelihood import is_out_of_memory

_log = logging.getLogger(__name__)


def load_diffusers(source: DiffusersSource, options: DiffusersOptions) -> "DiffusersGenerator":
    """Return the generator of a model, with a pipeline on each device.

    Raises:
        UserError: see ``load_pipelines``.
    """
    pipelines = load_pipelines(source, options)
    drawers = [Drawer(source.name, p, Prompts(p, source.call), Limit()) for p in pipelines]
    return DiffusersGenerator(source.name, drawers)


class DiffusersGenerator:
    """Draws each request's caption."""

    def __init__(self, name: str, drawers: Sequence["Drawer"]) -> None:
        self._name, self._drawers = name, list(drawers)

    def fresh(self) -> "DiffusersGenerator":
        """Return the same generator without the texts that it encoded."""
        return DiffusersGenerator(self._name, [drawer.fresh() for drawer in self._drawers])

    def generate(self, requests: Sequence[ImageRequest]) -> list[GeneratedImage]:
        """Return one image for each request.

        Where there are several devices, the first gets the first part of the requests and so on,
        in parts of equal length.

        Raises:
            UserError: an image is black or holds no numbers, or memory runs out for a single one.
        """
        for text in self._drawers[0].prompts.cut([request.caption for request in requests]):
            _log.warning("%s: no text encoder reads this caption to its end: %s", self._name, text)
        parts = _parts(requests, len(self._drawers))
        pairs = list(zip(self._drawers, parts, strict=False))
        if len(pairs) == 1:
            drawn = [pairs[0][0].draw(pairs[0][1])]
        else:
            with ThreadPoolExecutor(len(pairs)) as pool:
                drawn = list(pool.map(lambda pair: pair[0].draw(pair[1]), pairs))
        images = [image for part in drawn for image in part]
        return [
            GeneratedImage(self._checked(request, image))
            for request, image in zip(requests, images, strict=True)
        ]

    def _checked(self, request: ImageRequest, image: np.ndarray) -> np.ndarray:
        """Return an image of floats in [0, 1] as bytes."""
        if not np.isfinite(image).all() or not image.any():
            kind = "black" if np.isfinite(image).all() else "not a number in places"
            raise UserError(
                f"{self._name}: the image of concept {request.concept.id} ({request.track}, seed "
                f"{request.seed}) is {kind}: set dtype to bfloat16 or float32."
            )
        return (image * 255).round().astype(np.uint8)


def _parts(requests: Sequence[ImageRequest], count: int) -> list[Sequence[ImageRequest]]:
    """Split requests into at most ``count`` parts of equal length, the last may be shorter."""
    size = max(1, -(-len(requests) // count))
    return [requests[start : start + size] for start in range(0, len(requests), size)]


@dataclass
class Limit:
    """The smallest batch for which a device's memory ran out."""

    too_many: int | None = None


@dataclass
class Drawer:
    """One pipeline on its device."""

    name: str  # of the model
    pipeline: Any
    prompts: Prompts
    limit: Limit

    def fresh(self) -> "Drawer":
        """Return the same without the texts that it encoded."""
        return replace(self, prompts=self.prompts.fresh())

    def draw(self, requests: Sequence[ImageRequest]) -> list[np.ndarray]:
        """Return images of floats in [0, 1], each (height, width, 3); fewer at once if need be.

        A size for which memory ran out is not tried again, which changes no result.
        """
        count = len(requests)
        if self.limit.too_many is None or count < self.limit.too_many:
            images = self._try(requests)
            if images is not None:
                return list(images)
        half = (count + 1) // 2
        return [*self.draw(requests[:half]), *self.draw(requests[half:])]

    def _try(self, requests: Sequence[ImageRequest]) -> np.ndarray | None:
        """Return the images drawn in one batch, or None where memory runs out."""
        count = len(requests)
        try:
            return self._draw(requests)
        except (ValueError, TypeError) as error:  # what the pipeline checks before it starts
            raise UserError(
                f"{self.name}: a {type(self.pipeline).__name__} can't draw with these options "
                f"({first_line(error)}): change them."
            ) from error
        except Exception as error:  # each device has its own
            if not is_out_of_memory(error):
                raise
            if count == 1:
                raise UserError(
                    f"{self.name}: memory runs out for a single image: use a smaller width and "
                    "height, a smaller dtype, or one of the options cpu_offload, quantisation and "
                    "vae_tiling."
                ) from error
        # Only here is what the failed attempt held free again.
        self.pipeline.maybe_free_model_hooks()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        self.limit.too_many = count
        _log.warning(
            "%s: out of memory for %d images at once on %s, going on with %d; set batch_size to "
            "that, so that no time is lost and other machines give the same bytes.",
            self.name,
            count,
            self.pipeline._execution_device,
            (count + 1) // 2,
        )
        return None

    def _draw(self, requests: Sequence[ImageRequest]) -> np.ndarray:
        generators = [torch.Generator("cpu").manual_seed(request.seed) for request in requests]
        arguments = self.prompts.arguments([request.caption for request in requests])
        images = self.pipeline(**arguments, generator=generators, output_type="np").images
        return np.asarray(images, np.float32)
