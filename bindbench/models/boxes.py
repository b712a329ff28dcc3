"""How boxes lie to each other. A box is (left, top, right, bottom) in pixels."""

import numpy as np


def overlaps(box: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """Return the intersection over union of one box (4,) with each of ``boxes`` (n, 4)."""
    shared = _shared(box, boxes)
    return shared / np.maximum(_areas(box) + _areas(boxes) - shared, 1e-9)


def coverage(box: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """Return which share of each of ``boxes`` (n, 4) lies in one box (4,)."""
    return _shared(box, boxes) / np.maximum(_areas(boxes), 1e-9)


def _shared(box: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    low = np.maximum(box[:2], boxes[:, :2])
    high = np.minimum(box[2:], boxes[:, 2:])
    return np.prod(np.clip(high - low, 0, None), axis=1)


def _areas(boxes: np.ndarray) -> np.ndarray:
    return np.prod(boxes[..., 2:] - boxes[..., :2], axis=-1)
