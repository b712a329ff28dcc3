import numpy as np
import pytest

from bindbench.validation.background import background_share, background_verdict


def image_of(gray: int) -> np.ndarray:
    return np.full((10, 10, 3), gray, dtype=np.uint8)


def test_the_threshold_is_reached_by_equality():
    assert background_share(image_of(190), []) == 1.0
    assert background_share(image_of(189), []) == 0.0


@pytest.mark.parametrize(("dark_rows", "verdict"), [(3, "pass"), (4, "background")])
def test_seventy_percent_must_be_bright(dark_rows, verdict):
    image = image_of(255)
    image[:dark_rows] = 0
    assert background_verdict(image, []) == (verdict, 1 - dark_rows / 10)


def test_pixels_of_objects_do_not_count():
    image, mask = image_of(255), np.zeros((10, 10), dtype=bool)
    image[:5], mask[:5] = 0, True
    assert background_share(image, [mask], dilation=0) == 1.0
    assert background_share(image, [], dilation=0) == 0.5


def test_masks_are_grown():
    image, mask = image_of(255), np.zeros((10, 10), dtype=bool)
    image[:7], mask[:5] = 0, True
    # Two more rows are taken for the objects' rim, so that the dark rows 5 and 6 do not count.
    assert background_share(image, [mask], dilation=2) == 1.0
    assert background_share(image, [mask], dilation=1) == pytest.approx(3 / 4)


def test_gray_is_luma():
    image = np.zeros((1, 3, 3), dtype=np.uint8)
    image[0, 0, 0] = image[0, 1, 1] = image[0, 2, 2] = 255  # 76.2, 149.7 and 29.1
    assert background_share(image, [], min_gray=76) == pytest.approx(2 / 3)
    assert background_share(image, [], min_gray=77) == pytest.approx(1 / 3)


def test_an_image_full_of_objects_has_no_background_to_fail():
    assert background_verdict(image_of(0), [np.ones((10, 10), dtype=bool)]) == ("pass", 1.0)
