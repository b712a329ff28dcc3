"""What a model is shown: the whole image, or one that brings out the target (section VIII A)."""

import math

import numpy as np
from PIL import Image as PILImage

from bindbench.errors import UserError
from bindbench.instabind.conditions import FULL, INSTANCE_FIRST
from bindbench.models.base import Box, Image

LONGEST_SIDE = 1800  # pixels; larger images are reduced to it, and their boxes with them
PADDING = {"crop_oracle": 0.15, "context_crop": 0.5}  # shares of the box's width and height
DIMMED = 0.3  # brightness of what is not the target
LINE = 1 / 200  # of the longer side: the width of each of a drawn box's two lines


def view(image: Image, box: Box, setting: str) -> Image:
    """Return what is shown in a setting.

    Args:
        image: the whole one.
        box: of the target, in its pixels.
        setting: without the ending for choices.

    Raises:
        UserError: a localized view is asked for, and the box lies outside the image.
    """
    image, box = reduced(image, box)
    if setting in (FULL, INSTANCE_FIRST):
        return image
    target = _pixels(image, box, PADDING.get(setting, 0.0))
    if setting in PADDING:
        left, top, right, bottom = target
        return np.ascontiguousarray(image[top:bottom, left:right])
    return _boxed(image, target) if setting == "box_guided" else _dimmed(image, target)


def reduced(image: Image, box: Box) -> tuple[Image, Box]:
    """Return an image whose longer side is at most 1800 pixels, and the box in it."""
    height, width = image.shape[:2]
    scale = LONGEST_SIDE / max(height, width)
    if scale >= 1:
        return image, box
    size = max(1, round(width * scale)), max(1, round(height * scale))
    small = np.asarray(PILImage.fromarray(image).resize(size, PILImage.Resampling.LANCZOS))
    x, y = size[0] / width, size[1] / height
    return small, (box[0] * x, box[1] * y, box[2] * x, box[3] * y)


def _pixels(image: Image, box: Box, padding: float) -> tuple[int, int, int, int]:
    """Return the pixels that a padded box touches, inside the image: left, top, right, bottom."""
    height, width = image.shape[:2]
    left, top, right, bottom = box
    if right <= 0 or bottom <= 0 or left >= width or top >= height:
        numbers = ", ".join(f"{side:g}" for side in box)
        raise UserError(
            f"the box ({numbers}) lies outside its image of {width} x {height}, so that there is "
            "nothing to show: correct it."
        )
    x, y = padding * (right - left), padding * (bottom - top)
    return (
        max(0, math.floor(left - x)),
        max(0, math.floor(top - y)),
        min(width, math.ceil(right + x)),
        min(height, math.ceil(bottom + y)),
    )


def _boxed(image: Image, target: tuple[int, int, int, int]) -> Image:
    """Draw a black frame in a white one around the target: neither is a color to be mixed up."""
    line = max(1, round(LINE * max(image.shape[:2])))
    out = image.copy()
    for distance, shade in ((2 * line, 255), (line, 0)):
        left, top, right, bottom = _grown(image, target, distance)
        out[top:bottom, left:right] = shade
    left, top, right, bottom = target
    out[top:bottom, left:right] = image[top:bottom, left:right]
    return out


def _grown(image: Image, target: tuple[int, int, int, int], by: int) -> tuple[int, int, int, int]:
    height, width = image.shape[:2]
    left, top, right, bottom = target
    return max(0, left - by), max(0, top - by), min(width, right + by), min(height, bottom + by)


def _dimmed(image: Image, target: tuple[int, int, int, int]) -> Image:
    left, top, right, bottom = target
    out = np.round(image * DIMMED).astype(np.uint8)
    out[top:bottom, left:right] = image[top:bottom, left:right]
    return out
