import io

import numpy as np
import pytest
from PIL import Image

from bindbench.reporting.thumbnails import LIMIT, thumbnail

NOISE = np.random.default_rng(0).integers(0, 256, (512, 256, 3)).astype(np.uint8)


def opened(png: bytes) -> Image.Image:
    return Image.open(io.BytesIO(png))


def test_a_large_image_shrinks_and_keeps_its_shape():
    flat = np.zeros((512, 256, 3), np.uint8)
    assert opened(thumbnail(flat)).size == (64, 128)


def test_a_small_image_is_not_enlarged_and_keeps_its_colors():
    pixels = np.full((40, 60, 3), (10, 200, 30), np.uint8)
    pixels[:, 30:] = (250, 5, 90)
    assert np.array_equal(np.asarray(opened(thumbnail(pixels)).convert("RGB")), pixels)


def test_noise_stays_within_the_limit():
    assert len(thumbnail(NOISE)) <= LIMIT


@pytest.mark.parametrize("limit", [1, 2500])
def test_the_smallest_side_is_48_pixels(limit):
    assert max(opened(thumbnail(NOISE, limit=limit)).size) >= 48


def test_equal_images_give_equal_bytes():
    assert thumbnail(NOISE) == thumbnail(NOISE.copy())
