"""People verify questions: the error rate after filtering, and whether errors sway the results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bindbench.analysis.resampling import Estimate, proportion
from bindbench.conme.choices import Ballots, Choice, measure


@dataclass(frozen=True)
class Verified:
    """What the verified part says of the whole."""

    n: int
    error_rate: Estimate  # of samples that a person found wrong, clustered by image
    accuracy: Mapping[str, tuple[Choice, Choice | None]]  # all samples, and the right ones alone


def draw(images: Sequence[str], size: int, seed: int) -> np.ndarray:
    """Return which samples people see, int64 (size,): drawn alike from all that are kept.

    The published check drew until 1,000 right ones were found, so that its sample holds no wrong
    ones; here the sample is one of the filtered set as it is, and gives its error rate.
    """
    count = min(size, len(images))
    return np.sort(np.random.default_rng([seed, len(images)]).choice(len(images), count, False))


def verified(drawn: np.ndarray, right: np.ndarray, ballots: Mapping[str, Ballots]) -> Verified:
    """Return the error rate, and each model's accuracy on all and on verified samples (Table 2).

    Args:
        drawn: int64 (n,): the samples that people saw.
        right: bool (n,): whether they found answer, wrong answer and question in order.
        ballots: each model's choices on all samples.

    Raises:
        ValueError: nothing was verified, or there are no samples.
    """
    accuracy: dict[str, tuple[Choice, Choice | None]] = {}
    images = np.empty(0, object)
    for name, chosen in ballots.items():
        images = chosen.images
        whole = measure(chosen)
        if whole is None:
            raise ValueError("there are no samples")
        accuracy[name] = whole, measure(chosen.where(drawn[right]))
    if not len(drawn):
        raise ValueError("nothing was verified")
    return Verified(len(drawn), proportion(~right, images[drawn]), accuracy)
