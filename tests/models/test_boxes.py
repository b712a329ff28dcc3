import numpy as np
import pytest

from bindbench.models.boxes import coverage, overlaps

BOXES = np.array([[0.0, 0, 2, 2], [1, 0, 3, 2], [5, 5, 6, 6], [1, 1, 1, 1]])


def test_overlaps_by_hand():
    assert overlaps(BOXES[0], BOXES) == pytest.approx([1, 2 / 6, 0, 0])


def test_coverage_by_hand():
    assert coverage(np.array([0.0, 0, 2, 1]), BOXES) == pytest.approx([0.5, 0.25, 0, 0])
