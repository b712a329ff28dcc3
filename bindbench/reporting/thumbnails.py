"""Small pictures for pages that show many."""

import io
from collections.abc import Iterator

import numpy as np
from PIL import Image

LIMIT = 14_000  # bytes; with fewer colors, small things of a pale color turn gray
SIDE = 128  # pixels of the longer side
_COLORS = (128, 64, 32)  # of the palette, tried in this order
_SMALLEST = 48


def thumbnail(image: np.ndarray, side: int = SIDE, limit: int = LIMIT) -> bytes:
    """Return an image as a PNG of at most ``side`` pixels and about ``limit`` bytes.

    An image that would be too large gets fewer colors, and then fewer pixels; one of 48 pixels is
    returned even if it is larger.

    Args:
        image: (height, width, 3), uint8.
        side: of the result, the longer one; a smaller image is not enlarged.
        limit: bytes.
    """
    for length in _sides(side):
        small = _shrink(Image.fromarray(image), length)
        for colors in _COLORS:
            png = _encode(small, colors)
            if len(png) <= limit:
                return png
    return _encode(_shrink(Image.fromarray(image), _SMALLEST), _COLORS[-1])


def picture(image: np.ndarray, side: int = 256) -> bytes:
    """Return an image (height, width, 3), uint8, as a WebP of at most ``side`` pixels."""
    out = io.BytesIO()
    _shrink(Image.fromarray(image), side).save(out, "WEBP", quality=82, method=4)
    return out.getvalue()


def _sides(side: int) -> Iterator[int]:
    """Yield ever smaller sides, down to the smallest."""
    while side > _SMALLEST:
        yield side
        side = int(0.8 * side)
    yield _SMALLEST


def _shrink(image: Image.Image, side: int) -> Image.Image:
    scale = min(1.0, side / max(image.size))
    width, height = (max(1, round(length * scale)) for length in image.size)
    return image.resize((width, height), Image.Resampling.LANCZOS)


def _encode(image: Image.Image, colors: int) -> bytes:
    out = io.BytesIO()
    reduced = image.quantize(colors, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    reduced.save(out, "PNG", compress_level=9)
    return out.getvalue()
