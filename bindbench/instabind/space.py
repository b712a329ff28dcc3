"""Misbindings by where target and source are in the image, beside the order of the two.

The paper's future work (InstaBind-Lite, sections IX B and XI A): normalised pixel distance, overlap
and size. Beside what was observed stands what would be if each misbinding's source were any other
instance of its group alike. L4 is left out: its false claims are neighbors' by construction.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import hypot, log2

import numpy as np

from bindbench.analysis.resampling import bootstrap_mean
from bindbench.instabind.adjacency import EXCLUDED_LEVEL
from bindbench.instabind.annotations import Annotations, Instance
from bindbench.instabind.metrics import RESAMPLES, Interval
from bindbench.instabind.outcomes import MISBINDING, Outcomes

Compare = Callable[[Instance, Instance, float], float]  # target, source, diagonal of the image
EDGES = {
    "distance": (0.1, 0.2, 0.3, 0.4, 0.5),
    "overlap": (1e-9, 0.05, 0.1, 0.2, 0.4),  # the first bin: none
    "size": (-2.0, -1.0, 0.0, 1.0, 2.0),
}


@dataclass(frozen=True)
class Measure:
    """How one measure is spread over misbindings; bins lie between the edges, and beyond them."""

    edges: tuple[float, ...]
    counts: list[int]
    expected: list[float]  # counts if the sources were any other instance alike
    mean: float
    null: float  # expected mean
    difference: Interval  # mean - null, 95%, 1,000 resamples of images


@dataclass(frozen=True)
class Space:
    """What is known of misbindings by place and size."""

    misbindings: int
    measures: dict[str, Measure]  # see ``MEASURES``
    nearest: float  # share from the instance whose centre is the nearest to the target's
    nearest_null: float


def distance(target: Instance, source: Instance, diagonal: float) -> float:
    """Return the distance of two boxes' centres as a share of the image's diagonal."""
    (a, b), (c, d) = _centre(target), _centre(source)
    return hypot(a - c, b - d) / diagonal


def overlap(target: Instance, source: Instance, diagonal: float = 1.0) -> float:
    """Return the intersection over union of two boxes."""
    x, y, w, h = target.bbox_xywh
    p, q, u, v = source.bbox_xywh
    wide, high = min(x + w, p + u) - max(x, p), min(y + h, q + v) - max(y, q)
    both = max(wide, 0.0) * max(high, 0.0)
    return both / (w * h + u * v - both)


def size(target: Instance, source: Instance, diagonal: float = 1.0) -> float:
    """Return how much larger the source's box is, in doublings of its area."""
    return log2(_area(source) / _area(target))


MEASURES: dict[str, Compare] = {"distance": distance, "overlap": overlap, "size": size}


def space(table: Outcomes, annotations: Annotations) -> Space | None:
    """Return the spread of misbindings on L1 to L3; None where there are none."""
    rows = table.where((table.error == MISBINDING) & (table.level != EXCLUDED_LEVEL))
    if not len(rows):
        return None
    groups = {
        (picture.image_id, group.group_id): (group.instances, hypot(picture.width, picture.height))
        for picture in annotations.images
        for group in picture.same_class_groups
    }
    images = np.unique(rows.image_id, return_inverse=True)[1]
    found: dict[str, list[tuple[float, list[float]]]] = {name: [] for name in MEASURES}
    for image, group, target, source in zip(
        rows.image_id, rows.group_id, rows.target, rows.source, strict=True
    ):
        members, diagonal = groups[image, group]
        here = members[target - 1]
        others = [one for one in members if one is not here]
        for name, compare in MEASURES.items():
            value = compare(here, members[source - 1], diagonal)
            found[name].append((value, [compare(here, one, diagonal) for one in others]))
    near = [(value == min(others), 1 / len(others)) for value, others in found["distance"]]
    return Space(
        len(rows),
        {name: _measure(pairs, EDGES[name], images) for name, pairs in found.items()},
        float(np.mean([hit for hit, _ in near])),
        float(np.mean([chance for _, chance in near])),
    )


def datasets(annotations: Annotations) -> Mapping[str, str]:
    """Return the dataset that each image is from, by its id."""
    found = {}
    for picture in annotations.images:
        source = (picture.model_extra or {}).get("source")
        name = source.get("dataset") if isinstance(source, dict) else None
        found[picture.image_id] = str(name or "unknown")
    return found


def _measure(
    pairs: list[tuple[float, list[float]]], edges: tuple[float, ...], images: np.ndarray
) -> Measure:
    bins = len(edges) + 1
    values = np.array([value for value, _ in pairs])
    counts = np.bincount(np.digitize(values, edges), minlength=bins)
    expected = np.zeros(bins)
    for _, others in pairs:
        expected += np.bincount(np.digitize(others, edges), minlength=bins) / len(others)
    null = np.array([np.mean(others) for _, others in pairs])
    gap = bootstrap_mean(values - null, images, replicates=RESAMPLES)
    return Measure(
        edges,
        counts.tolist(),
        expected.tolist(),
        float(values.mean()),
        float(null.mean()),
        (gap.low, gap.high),
    )


def _centre(one: Instance) -> tuple[float, float]:
    x, y, width, height = one.bbox_xywh
    return x + width / 2, y + height / 2


def _area(one: Instance) -> float:
    return one.bbox_xywh[2] * one.bbox_xywh[3]
