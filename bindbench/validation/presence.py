"""The presence check: does every object of the concept stand in the image, and nothing else?"""

from collections.abc import Sequence

import numpy as np

from bindbench.concepts import Concept
from bindbench.models.base import Detection
from bindbench.vocabulary import Lexicon

MISSING, COUNT, EXTRA = "missing", "count", "extra"


def presence_verdict(
    concept: Concept, detections: Sequence[Detection], lexicon: Lexicon, max_pair: int = 2
) -> tuple[str, list[int]]:
    """Check the number of instances of each object (Auto-Comp, section 3, validation).

    Every object must be found exactly once. One of which a pair is spoken ("a pair of gloves")
    may show as one instance or as two, unless ``max_pair`` says that the detector and the
    generator know a pair as one thing.

    Args:
        concept: what the image should hold.
        detections: what a detector found when asked for the concept's objects.
        lexicon: says which nouns are pairs.
        max_pair: most instances that a pair may show as.

    Returns:
        The verdict: ``pass``; ``missing``: an object was not found; ``count``: one was found too
        often; ``extra``: something was found that the concept does not hold (only detectors that
        report more than they were asked for can tell). And for each object of the concept the
        index of its detection (the strongest one), -1 if it was not found.
    """
    nouns = lexicon.nouns(concept.task)
    found = {
        name: [k for k, detection in enumerate(detections) if detection.name == name]
        for name in concept.objects
    }
    matched = [
        max(found[name], key=lambda k: detections[k].score, default=-1) for name in concept.objects
    ]
    if -1 in matched:
        return MISSING, matched
    if any(len(found[name]) > (max_pair if nouns[name].number == "pair" else 1) for name in found):
        return COUNT, matched
    if any(detection.name not in found for detection in detections):
        return EXTRA, matched
    return "pass", matched


def whole_objects(concept: Concept, detections: Sequence[Detection]) -> list[Detection]:
    """Return one detection for each object of an image that passed the presence check.

    A pair that shows as two instances is the two together: the box around them, all their pixels
    and the higher score. Relations and questions are about the pair, not about one glove.
    """
    return [_joined([d for d in detections if d.name == name]) for name in concept.objects]


def _joined(instances: Sequence[Detection]) -> Detection:
    if len(instances) == 1:
        return instances[0]
    boxes = np.array([d.box for d in instances])
    left, top = boxes[:, :2].min(0).tolist()
    right, bottom = boxes[:, 2:].max(0).tolist()
    return Detection(
        instances[0].name,
        max(d.score for d in instances),
        (left, top, right, bottom),
        np.any([d.mask for d in instances], axis=0),
    )
