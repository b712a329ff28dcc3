"""How good the samples are: repeats, what gives answers away, and what the strong model finds."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bindbench.analysis.accuracy import design_of
from bindbench.analysis.blind import CueResult, audit, corrected, read_cues
from bindbench.analysis.resampling import Estimate, proportion
from bindbench.conme.samples import Sample, near_duplicates
from bindbench.semantics import FALSE, TRUE

FAMILY = "options"  # the only one of the audit: a right and a wrong option
CRITERIA = ("answer", "negative", "clear")


@dataclass(frozen=True)
class Repeats:
    """Questions of one image that share most of their words."""

    questions: int  # different ones, image by image
    near: int  # of them, those that are near to an earlier one
    examples: tuple[tuple[str, str], ...]


def repeats(samples: Sequence[Sample], least: float = 0.8, shown: int = 5) -> Repeats:
    """Return how many questions come again in nearly the same words.

    Args:
        samples: of all images.
        least: the Jaccard similarity of the sets of words from which on two are near.
        shown: how many pairs are given as examples.
    """
    by_image: dict[str, dict[str, None]] = defaultdict(dict)
    for sample in samples:
        by_image[sample.image_id][sample.question] = None
    near, examples = 0, []
    for asked in by_image.values():
        texts = list(asked)
        pairs = near_duplicates(texts, least)
        near += len({later for _, later in pairs})
        examples += [(texts[i], texts[j]) for i, j in pairs]
    return Repeats(sum(map(len, by_image.values())), near, tuple(examples[:shown]))


def leaks(right: Sequence[str], wrong: Sequence[str], images: Sequence[str]) -> list[CueResult]:
    """Return how well a single cue of the text tells right options from wrong ones, strictest mode.

    Of each cue the direction that works better is given, with p-values corrected for all of them.

    Args:
        right: the right option of each sample, as it stands.
        wrong: its wrong option.
        images: its image: the samples of one depend on each other.
    """
    if not len(right):
        return []
    texts = list(zip(right, wrong, strict=True))
    semantics = [np.array([TRUE, FALSE], np.int8)] * len(texts)
    everything = {FAMILY: np.ones((len(texts), 2), bool)}
    design = design_of(images, [()] * len(texts), [()] * len(texts))
    found = corrected(audit(read_cues(texts), semantics, everything, design))
    strict = [result for result in found if result.mode == "strict"]
    best: dict[str, CueResult] = {}
    for result in strict:
        known = best.get(result.cue)
        if known is None or result.credit > known.credit:
            best[result.cue] = result
    return sorted(best.values(), key=lambda result: (result.p_value, result.cue))


@dataclass(frozen=True)
class SelfCheck:
    """What the strong model says of the samples that it wrote.

    Attributes:
        n: samples with a readable verdict on all criteria.
        unread: samples without.
        passed: by criterion; ``all``: of all three.
    """

    n: int
    unread: int
    passed: Mapping[str, Estimate]


def self_check(
    verdicts: Sequence[Mapping[str, bool | None]], images: Sequence[str]
) -> SelfCheck | None:
    """Return the shares of samples that pass each criterion; None without samples.

    Args:
        verdicts: of each sample, by criterion.
        images: its image; intervals are clustered by it.
    """
    if not verdicts:
        return None
    read = [i for i, own in enumerate(verdicts) if None not in (own[c] for c in CRITERIA)]
    clusters = np.array([images[i] for i in read], object)
    table = np.array([[verdicts[i][c] for c in CRITERIA] for i in read], bool)
    table = table.reshape(-1, len(CRITERIA))
    passed = {c: proportion(table[:, k], clusters) for k, c in enumerate(CRITERIA)}
    passed["all"] = proportion(np.asarray(table.all(axis=1)), clusters)
    return SelfCheck(len(read), len(verdicts) - len(read), passed)
