"""Order of mention: whether where things stand in the picture follows it.

If it does, Swap can be solved by order alone, without any binding.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from bindbench.analysis.accuracy import Accuracy, Design, Outcomes, summarise
from bindbench.analysis.resampling import Estimate, bootstrap_mean

ImageAxis = Literal["horizontal", "vertical", "size"]


@dataclass(frozen=True)
class OrderCorrelation:
    """Mean, over the items of a set, of the rank correlation within each."""

    axis: ImageAxis
    spearman: Estimate
    kendall: Estimate


def along_axis(
    axis: ImageAxis,
    boxes: Sequence[Sequence[Sequence[float]]],
    areas: Sequence[Sequence[int]],
    matched: Sequence[Sequence[int]],
) -> np.ndarray:
    """Return where each mentioned object lies along an axis, float64 (items, N).

    Larger is further right, up, or larger in the picture, as in the vocabularies of relations.

    Args:
        axis: horizontal and vertical: the centre of the box; size: the mask's area.
        boxes: for each item, its detections' boxes (left, top, right, bottom) in pixels.
        areas: for each item, its detections' mask areas in pixels.
        matched: for each item, in the order of mention, the index of each object's detection
            (validated items have one for every object).
    """
    rows = []
    for item_boxes, item_areas, item_matched in zip(boxes, areas, matched, strict=True):
        if min(item_matched) < 0:
            raise ValueError("every object of a validated item must be matched to a detection")
        rows.append([_place(axis, item_boxes[k], item_areas[k]) for k in item_matched])
    return np.asarray(rows, float)


def _place(axis: ImageAxis, box: Sequence[float], area: int) -> float:
    left, top, right, bottom = box
    if axis == "size":
        return float(area)
    return (left + right) / 2 if axis == "horizontal" else -(top + bottom) / 2


def kendall(places: np.ndarray) -> np.ndarray:
    """Return Kendall's tau of mention order and place within each item, float64 (items,).

    (pairs in the order of mention - pairs against it) / pairs; a tied pair counts 0 (tau-a).

    Args:
        places: (items, N) along an axis, in the order of mention, N >= 2.
    """
    first, second = np.triu_indices(places.shape[1], k=1)
    return np.sign(places[:, second] - places[:, first]).mean(axis=1)


def spearman(places: np.ndarray) -> np.ndarray:
    """Return Spearman's rho within each item, float64 (items,); ties get mean ranks.

    0 where all places are equal. Arguments as in ``kendall``.
    """
    less = (places[:, None, :] < places[:, :, None]).sum(axis=2)
    equal = (places[:, None, :] == places[:, :, None]).sum(axis=2)
    ranks = less + (equal - 1) / 2
    mention = np.arange(places.shape[1]) - (places.shape[1] - 1) / 2
    ranks = ranks - ranks.mean(axis=1, keepdims=True)
    scale = np.sqrt((ranks**2).sum(axis=1) * (mention**2).sum())
    return np.divide(ranks @ mention, scale, out=np.zeros(len(places)), where=scale > 0)


def order_correlation(
    axis: ImageAxis, places: np.ndarray, scenes: np.ndarray | None = None, seed: int = 0
) -> OrderCorrelation:
    """Return the mean rank correlations of a set, with cluster bootstrap intervals.

    0 is wanted: a single item has -1 or 1 at N=2, so only the mean over many means something.
    """
    return OrderCorrelation(
        axis,
        bootstrap_mean(spearman(places), scenes, seed),
        bootstrap_mean(kendall(places), scenes, seed),
    )


def accuracy_by_concordance(
    outcomes: Outcomes, places: np.ndarray, design: Design
) -> dict[str, Accuracy]:
    """Return the accuracy for items whose mention order agrees with an axis, and for the others.

    Args:
        outcomes: of every item.
        places: (items, N) along the axis, in the order of mention of the SCORED caption.
        design: of every item.

    ``concordant``: Kendall's tau above 0 (at N=3: at least two of the three pairs);
    ``discordant``: below 0. Items at exactly 0 (tied places) are in neither.
    """
    tau = kendall(places)
    return {
        "concordant": summarise(outcomes, design, tau > 0),
        "discordant": summarise(outcomes, design, tau < 0),
    }
