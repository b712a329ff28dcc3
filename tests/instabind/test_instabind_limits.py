"""Which boxes make a group."""

import os
from collections import Counter
from pathlib import Path

import pytest

from bindbench.errors import UserError
from bindbench.instabind.annotations import read_annotations
from bindbench.instabind.limits import Limits, against, left_to_right
from bindbench.models.base import Box
from bindbench.suite import resolve_suite

LIMITS = Limits(area=0.0099, side=10, step=0.5, covered=0.25)


def row(n: int, step: float, width: float = 20.0, height: float = 20.0) -> list[Box]:
    return [(k * step, 10.0, k * step + width, 10 + height) for k in range(n)]


@pytest.mark.parametrize(
    ("boxes", "reason"),
    [
        (row(3, 30), ""),
        (row(6, 30), ""),
        (row(2, 30), "few"),
        (row(7, 30), "many"),
        (row(3, 30, width=9.9, height=60), "tiny"),  # narrower than 10
        (row(3, 30, height=19.7), "tiny"),  # 394 of 40,000 pixels; 396 is the least
        (row(3, 30, height=20), ""),
        (row(3, 9.9), "order"),  # half of 20 is 10
        (row(3, 14.9), "overlap"),  # 5.1 of 20 is over a quarter
        (row(3, 15.1), ""),
    ],
)
def test_each_limit_decides_by_itself(boxes: list[Box], reason: str) -> None:
    assert against(boxes, 200, 200, LIMITS) == reason
    assert against(boxes[::-1], 200, 200, LIMITS) == reason


def test_a_small_box_inside_a_large_one_is_occluded() -> None:
    boxes = [(0.0, 0.0, 100.0, 100.0), (70.0, 10.0, 90.0, 30.0), (150.0, 0.0, 190.0, 40.0)]
    assert against(boxes, 200, 200, Limits(area=0, side=0, step=0)) == "overlap"


def test_order_is_by_centres() -> None:
    boxes = [(50.0, 0.0, 60.0, 5.0), (0.0, 0.0, 120.0, 5.0), (10.0, 0.0, 30.0, 5.0)]
    assert left_to_right(boxes) == [2, 0, 1]


def test_a_suite_sets_limits_and_their_errors_are_sentences() -> None:
    fields = {"name": "x", "instabind": {"sets": {}, "limits": {"side": 8}}}
    suite = resolve_suite(fields, "s.yaml")
    assert suite.instabind and suite.instabind.limits.side == 8
    with pytest.raises(UserError, match=r"s.yaml: instabind.limits.area is 2"):
        resolve_suite({"name": "x", "instabind": {"sets": {}, "limits": {"area": 2}}}, "s.yaml")


@pytest.mark.reference
@pytest.mark.skipif(
    "BINDBENCH_REFERENCE" not in os.environ, reason="BINDBENCH_REFERENCE is not set"
)
def test_most_published_groups_are_within_the_defaults() -> None:
    path = Path(os.environ["BINDBENCH_REFERENCE"]) / "instabind" / "annotations.json"
    counts = Counter(
        against(
            [(x, y, x + w, y + h) for x, y, w, h in (one.bbox_xywh for one in group.instances)],
            picture.width,
            picture.height,
            Limits(),
        )
        for picture in read_annotations(path).annotations.images
        for group in picture.same_class_groups
    )
    assert counts == {"": 448, "overlap": 31, "order": 28, "tiny": 22}  # of 529
