"""Detection in overlapping windows: small things are found where a detector sees them large."""

from collections.abc import Sequence

import numpy as np

from bindbench.models.base import Box, Detection, Detector, Image
from bindbench.models.boxes import coverage, overlaps

TOUCH = 1.5  # pixels of a window: what comes so near to an edge inside the image may be cut off
SAME_OVERLAP, SAME_COVERAGE = 0.45, 0.7  # from which two boxes show one thing

Window = tuple[int, int, int, int]  # left, top, right, bottom


def windows(width: int, height: int, share: float) -> list[Window]:
    """Return windows of a share of an image's sides that overlap by half, row by row."""
    columns, rows = (_places(length, share) for length in (width, height))
    return [(left, top, right, bottom) for top, bottom in rows for left, right in columns]


def _places(length: int, share: float) -> list[tuple[int, int]]:
    side = max(1, round(share * length))
    count = 1 + int(np.ceil(2 * (length - side) / side))
    return [(int(at), int(at) + side) for at in np.linspace(0, length - side, count).round()]


def detect_in_windows(
    detector: Detector,
    images: Sequence[Image],
    nouns: Sequence[Sequence[str]],
    share: float,
    score: float,
) -> list[list[Detection]]:
    """Return the instances of each image, strongest first, found in its windows.

    Args:
        detector: is given the windows of one image together.
        images: of any size.
        nouns: what to look for in each image.
        share: of the image's sides that a window has.
        score: weaker instances are left out: in windows there is more to be taken for something.
    """
    return [
        _one(detector, image, names, share, score)
        for image, names in zip(images, nouns, strict=True)
    ]


def _one(
    detector: Detector, image: Image, names: Sequence[str], share: float, score: float
) -> list[Detection]:
    height, width = image.shape[:2]
    views = windows(width, height, share)
    parts = [np.ascontiguousarray(image[t:b, left:r]) for left, t, r, b in views]
    found = [
        _moved(one, view, (height, width))
        for view, seen in zip(views, detector.detect(parts, [names] * len(parts)), strict=True)
        for one in seen
        if one.score >= score and _whole(one.box, view, width, height)
    ]
    kept: list[Detection] = []
    for one in sorted(found, key=lambda d: (-d.score, d.box)):
        if not any(_same(one.box, other.box) for other in kept):
            kept.append(one)
    return kept


def _whole(box: Box, view: Window, width: int, height: int) -> bool:
    """Whether a box in a window stays clear of the edges that are inside the image."""
    left, top, right, bottom = view
    inside = (left > 0, top > 0, right < width, bottom < height)
    gaps = (box[0], box[1], right - left - box[2], bottom - top - box[3])
    return all(gap >= TOUCH for gap, cuts in zip(gaps, inside, strict=True) if cuts)


def _moved(one: Detection, view: Window, size: tuple[int, int]) -> Detection:
    """Return a window's detection where it is in the image."""
    left, top, right, bottom = view
    mask = np.zeros(size, dtype=bool)
    mask[top:bottom, left:right] = one.mask
    box = (one.box[0] + left, one.box[1] + top, one.box[2] + left, one.box[3] + top)
    return Detection(one.name, one.score, box, mask)


def _same(a: Box, b: Box) -> bool:
    first, second = np.array(a), np.array(b)
    return bool(
        overlaps(first, second[None])[0] > SAME_OVERLAP
        or coverage(first, second[None])[0] > SAME_COVERAGE
        or coverage(second, first[None])[0] > SAME_COVERAGE
    )
