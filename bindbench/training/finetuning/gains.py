"""What fine-tuning changed: paired differences, with intervals over seeds and concepts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bindbench.analysis.accuracy import Design
from bindbench.analysis.crossed import crossed_mean
from bindbench.analysis.resampling import bootstrap_mean


@dataclass(frozen=True)
class Gain:
    """A mean difference of accuracies; all in shares, -1 to 1."""

    value: float
    low: float  # 95% over these seeds and concepts like these
    high: float
    wide_low: float  # also over other objects and labels
    wide_high: float
    seeds: tuple[float, ...]  # the difference of each seed


def gain(first: np.ndarray, second: np.ndarray, design: Design, seed: int = 0) -> Gain | None:
    """Return how much the second accuracies are above the first; None without items.

    Seeds and scenes are crossed, since all seeds meet the same scenes: the interval is that of
    ``analysis.crossed.crossed_mean``.
    The interval is never narrower than the adjusted bootstrap over scenes, so that it has a width
    where all seeds agree on every item.

    Args:
        first: wins, bool (seeds or 1, items).
        second: likewise, of the same items.
        design: of the items.
        seed: of the bootstrap.
    """
    if not first.shape[1]:
        return None
    differences = second.astype(float) - first.astype(float)
    count, items = differences.shape
    means = differences.mean(axis=0)
    by_scene = bootstrap_mean(means, design.scenes, seed)
    scenes = np.tile(design.scenes, count)[:, None]
    seeds = np.repeat(np.arange(count), items)[:, None]
    crossed = crossed_mean(differences.ravel(), scenes, seeds)
    low, high = min(by_scene.low, crossed.low), max(by_scene.high, crossed.high)
    wide = crossed_mean(means, design.objects, design.labels)
    return Gain(
        float(means.mean()),
        low,
        high,
        min(low, wide.low),
        max(high, wide.high),
        tuple(differences.mean(axis=1).tolist()),
    )


def stacked(wins: Sequence[np.ndarray]) -> np.ndarray:
    """Return the wins of several seeds as one array, bool (seeds, items)."""
    return np.stack(list(wins))
