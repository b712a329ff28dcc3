"""What boxes of one class must be like to make a group that questions can be asked about.

InstaBind-Lite, section IV: 3 to 6 same-class entities, clear order, no severe occlusion, no tiny
objects. The paper gives the size of a group; it leaves the rest to a person and gives no numbers.
The defaults are near the 5% quantiles of its published groups: about nine in ten of these pass
(``docs/instabind.md``).
"""

from collections.abc import Sequence
from itertools import pairwise, permutations
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from bindbench.models.base import Box
from bindbench.models.boxes import coverage

Share = Annotated[float, Field(ge=0, le=1)]

REASONS = {
    "few": "fewer instances than a group has",
    "many": "more instances than a group has",
    "tiny": "an instance covers too little of the image, or is too narrow",
    "order": "centres of neighbors too close for a clear order from left to right",
    "overlap": "too much of an instance lies in another one's box",
}


class Limits(BaseModel):
    """Thresholds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    fewest: Annotated[int, Field(ge=2, description="instances of a group (paper: 3)")] = 3
    most: Annotated[int, Field(ge=2, le=26, description="instances of a group (paper: 6)")] = 6
    area: Annotated[Share, Field(description="least share of the image that a box covers")] = 0.005
    side: Annotated[float, Field(ge=0, description="least shorter side of a box, in pixels")] = 24.0
    step: Annotated[
        float, Field(ge=0, description="least offset of neighbors' centres, in mean widths")
    ] = 0.35
    covered: Annotated[
        Share, Field(description="largest share of a box that lies in another one")
    ] = 0.6


def left_to_right(boxes: Sequence[Box]) -> list[int]:
    """Return the indices of boxes by their centres; of equal ones the first."""
    return sorted(range(len(boxes)), key=lambda k: (boxes[k][0] + boxes[k][2], k))


def against(boxes: Sequence[Box], width: int, height: int, limits: Limits) -> str:
    """Return the first of ``REASONS`` against a group, "" if there is none.

    Args:
        boxes: of all instances of the class in the image, in pixels.
        width: of the image, in pixels.
        height: of the image.
        limits: the thresholds.
    """
    if len(boxes) < limits.fewest:
        return "few"
    if len(boxes) > limits.most:
        return "many"
    ordered = np.array([boxes[k] for k in left_to_right(boxes)], float)
    sides = ordered[:, 2:] - ordered[:, :2]
    if sides.prod(1).min() < limits.area * width * height or sides.min() < limits.side:
        return "tiny"
    centres = (ordered[:, 0] + ordered[:, 2]) / 2
    steps = zip(pairwise(centres), pairwise(sides[:, 0]), strict=True)
    if any(b - a < limits.step * (v + w) / 2 for (a, b), (v, w) in steps):
        return "order"
    if any(coverage(a, b[None])[0] > limits.covered for a, b in permutations(ordered, 2)):
        return "overlap"
    return ""
