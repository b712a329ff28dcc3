import io

import numpy as np
import pytest
from fake_report import scene
from PIL import Image

from bindbench.reporting.sheets import LIMIT, SheetItem, contact_sheet

WORDS = "A red cup and a blue chair stand next to a window in a quiet room."


def items(count: int) -> list[SheetItem]:
    rng = np.random.default_rng(0)
    made = [scene(rng, 2, ["red", "blue"], plain=i % 2 == 0) for i in range(count)]
    return [
        SheetItem(pixels, WORDS, boxes, ["cup", "chair"], "label" if i % 3 else "pass")
        for i, (pixels, boxes) in enumerate(made)
    ]


def opened(png: bytes) -> Image.Image:
    return Image.open(io.BytesIO(png)).convert("RGB")


def test_a_sheet_is_small_and_always_the_same():
    sheet = contact_sheet(items(12))
    assert len(sheet) <= LIMIT
    assert sheet == contact_sheet(items(12))
    width, height = opened(sheet).size
    assert width > 4 * 100 and height > 3 * 100


def test_even_noise_fits():
    rng = np.random.default_rng(0)
    noise = [SheetItem(rng.integers(0, 256, (99, 160, 3), dtype=np.uint8), "x") for _ in range(12)]
    assert len(contact_sheet(noise)) <= LIMIT


@pytest.mark.parametrize(("verdict", "color"), [("pass", (0, 121, 90)), ("count", (179, 38, 30))])
def test_the_frame_tells_the_verdict(verdict, color):
    image = np.full((32, 48, 3), 200, dtype=np.uint8)
    sheet = opened(contact_sheet([SheetItem(image, "a", verdict=verdict)], cell=96))
    corner = np.array(sheet.getpixel((9, 9)))
    assert np.abs(corner - color).max() <= 12  # the palette is reduced


def test_boxes_are_drawn_where_they_are():
    image = np.full((50, 100, 3), 255, dtype=np.uint8)
    boxed = SheetItem(image, "", [(20, 10, 80, 40)], [""])
    bare, drawn = (np.asarray(opened(contact_sheet([i], cell=100))) for i in (
        SheetItem(image, ""), boxed,
    ))  # fmt: skip
    rows, columns = np.nonzero((bare.astype(int) != drawn).any(axis=2))
    # Cell at (8, 8); an image half as high as wide starts 25 pixels below the cell's top.
    assert (rows.min(), rows.max()) == (8 + 25 + 10, 8 + 25 + 40)
    assert (columns.min(), columns.max()) == (8 + 20, 8 + 80)


def test_texts_that_do_not_fit_and_no_images_at_all():
    image = np.zeros((8, 8, 3), dtype=np.uint8)
    long = SheetItem(image, "w" * 500, verdict="because " * 60)
    assert opened(contact_sheet([long], cell=80)).width == 80 + 2 * 8
    assert opened(contact_sheet([])).width > 0
