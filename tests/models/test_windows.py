"""Detection in windows."""

import numpy as np
import pytest

from bindbench.models.base import Detection
from bindbench.models.windows import detect_in_windows, windows


class Squares:
    """Finds squares of one gray level, also cut off ones; surer of those nearer the top left."""

    def __init__(self) -> None:
        self.sizes: list[tuple[int, ...]] = []

    def detect(self, images, nouns):
        self.sizes += [image.shape for image in images]
        return [[*self._found(image, names)] for image, names in zip(images, nouns, strict=True)]

    def _found(self, image, names):
        for level in np.unique(image[image > 0]):
            rows, columns = np.where(image[..., 0] == level)
            left, right = float(columns.min()), float(columns.max() + 1)
            box = (left, float(rows.min()), right, float(rows.max() + 1))
            yield Detection(names[0], 0.9 - 0.1 * left / 64, box, image[..., 0] == level)


def scene(*boxes: tuple[int, int, int, int]) -> np.ndarray:
    image = np.zeros((128, 128, 3), np.uint8)
    for level, (left, top, right, bottom) in enumerate(boxes, 1):
        image[top:bottom, left:right] = level
    return image


def test_windows_overlap_by_half_and_cover_the_image() -> None:
    assert windows(128, 128, 0.5) == [
        (x, y, x + 64, y + 64) for y in (0, 32, 64) for x in (0, 32, 64)
    ]
    assert windows(90, 40, 1.0) == [(0, 0, 90, 40)]
    found = windows(100, 60, 0.4)
    assert found[-1] == (60, 36, 100, 60)
    assert sorted({left for left, *_ in found}) == [0, 20, 40, 60]


def test_each_thing_is_found_once_where_it_is() -> None:
    boxes = [(4, 40, 30, 70), (36, 42, 60, 66), (70, 50, 100, 80), (104, 5, 120, 25)]
    image = scene(*boxes)
    (found,) = detect_in_windows(Squares(), [image], [("car",)], 0.5, 0.5)
    assert sorted(one.box for one in found) == sorted(boxes)
    for one in found:
        left, top, right, bottom = (int(v) for v in one.box)
        expected = np.zeros((128, 128), bool)
        expected[top:bottom, left:right] = True
        assert (one.mask == expected).all()
    scores = [one.score for one in found]
    assert scores == sorted(scores, reverse=True)


def test_what_no_window_holds_whole_and_what_is_doubtful_is_left_out() -> None:
    wide = (20, 50, 100, 60)  # 80 pixels; a window has 64
    (found,) = detect_in_windows(Squares(), [scene(wide, (2, 2, 20, 20))], [("car",)], 0.5, 0.5)
    assert [one.box for one in found] == [(2, 2, 20, 20)]
    (none,) = detect_in_windows(Squares(), [scene((2, 2, 20, 20))], [("car",)], 0.5, 0.95)
    assert none == []


def test_what_is_cut_off_by_the_image_itself_counts() -> None:
    (found,) = detect_in_windows(Squares(), [scene((0, 100, 20, 128))], [("car",)], 0.5, 0.5)
    assert [one.box for one in found] == [(0, 100, 20, 128)]


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_windows_of_an_image_are_given_together(share: float) -> None:
    detector = Squares()
    detect_in_windows(detector, [scene((2, 2, 20, 20))] * 2, [("car",)] * 2, share, 0.5)
    side = int(128 * share)
    assert detector.sizes == [(side, side, 3)] * 2 * len(windows(128, 128, share))
