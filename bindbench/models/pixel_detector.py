"""The embedded detector: a small network trained on renders that looks at pixels alone.

It knows a closed list of nouns (``config.json`` beside its weights). The queried nouns are matched
to the instances jointly, so that two nouns never claim the same instance; what is left over is
reported as well, under the noun that it looks most like, so that an object too many is seen.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.optimize import linear_sum_assignment

from bindbench.errors import unknown_name
from bindbench.models.base import Detection, Image
from bindbench.models.pixel_instances import Instance, find_instances
from bindbench.models.pixel_network import Thresholds, Trained, load

WEIGHTS = Path(__file__).parents[1] / "weights" / "validator"


class PixelDetector:
    """Finds the queried nouns, and whatever other objects stand in an image.

    Args:
        weights: the folder with ``model.safetensors`` and ``config.json``.
        thresholds: where to draw the lines; None: those that the training chose.
    """

    def __init__(self, weights: Path = WEIGHTS, thresholds: Thresholds | None = None):
        self.trained: Trained = load(weights)
        self.thresholds = thresholds or self.trained.thresholds

    def detect(
        self, images: Sequence[Image], nouns: Sequence[Sequence[str]]
    ) -> list[list[Detection]]:
        """Return the instances of each image: those of its queried nouns, then any others.

        Raises:
            UserError: a noun that the network was not trained on.
        """
        queries = [self._indices(names) for names in nouns]
        found = find_instances(self.trained.network, images)
        return [
            select(instances, query, self.trained.nouns, self.thresholds)
            for instances, query in zip(found, queries, strict=True)
        ]

    def _indices(self, names: Sequence[str]) -> list[int]:
        for name in names:
            if name not in self.trained.nouns:
                raise unknown_name(
                    "noun", name, self.trained.nouns, "the embedded detector's training"
                )
        return [self.trained.nouns.index(name) for name in names]


def select(
    instances: Sequence[Instance],
    query: Sequence[int],
    names: Sequence[str],
    thresholds: Thresholds,
) -> list[Detection]:
    """Match instances to the queried nouns and report them with the strong ones left over.

    Args:
        instances: what the network found.
        query: indices of the queried nouns.
        names: the noun of each index.
        thresholds: see ``Thresholds``.

    Returns:
        One detection for each queried noun that was found, in the order of the query, then the
        others that are stronger than ``thresholds.extra``, named by their most probable noun.
    """
    matched = match(instances, query, thresholds)
    chosen = set(matched) - {-1}
    others = [
        k
        for k, instance in enumerate(instances)
        if k not in chosen and instance.score > thresholds.extra
    ]
    return [
        _detection(instances[k], names[noun])
        for k, noun in zip(matched, query, strict=True)
        if k >= 0
    ] + [_detection(instances[k], names[int(instances[k].nouns.argmax())]) for k in others]


def match(instances: Sequence[Instance], query: Sequence[int], thresholds: Thresholds) -> list[int]:
    """Return for each queried noun the index of its instance, -1: none.

    The assignment maximises the sum of log(objectness x probability of the noun).
    """
    able = [k for k, instance in enumerate(instances) if instance.score > thresholds.score]
    result = [-1] * len(query)
    if not able or not query:
        return result
    likelihood = np.array(
        [[instances[k].score * instances[k].nouns[q] for k in able] for q in query]
    )
    rows, columns = linear_sum_assignment(-np.log(likelihood + 1e-9))
    for row, column in zip(rows, columns, strict=True):
        k = able[column]
        if instances[k].nouns[query[row]] > thresholds.noun:
            result[row] = k
    return result


def _detection(instance: Instance, name: str) -> Detection:
    return Detection(name, instance.score, instance.box, instance.mask)
