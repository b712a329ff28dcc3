"""What a model chose in both orders of the options, and what that says of it.

Filtering and accuracy ask for both orders: a published model changed 62 of 692 answers with the
order of the options (FACTS: GPT-4V on SugarCrepe, 604 against 666 right).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bindbench.analysis.resampling import Estimate, proportion
from bindbench.conme.samples import ORDERS, Sample

UNREADABLE = -1  # an empty answer, prose, both letters, or a tie of scores


@dataclass(frozen=True, eq=False)
class Ballots:
    """One model's choices.

    Attributes:
        place: int8 (samples, 2): the place chosen in each order, 0 or 1, or ``UNREADABLE``.
        right: int8 (samples, 2): where the right option stood.
        images: (samples,): the image of each sample.
    """

    place: np.ndarray
    right: np.ndarray
    images: np.ndarray

    @classmethod
    def of(cls, samples: Sequence[Sample], places: Sequence[Sequence[int | None]]) -> "Ballots":
        """Return the ballots of samples; a place of None is one that could not be read."""
        chosen = [[UNREADABLE if p is None else p for p in pair] for pair in places]
        right = [[sample.right_place(order) for order in range(ORDERS)] for sample in samples]
        return cls(
            np.array(chosen, np.int8).reshape(-1, ORDERS),
            np.array(right, np.int8).reshape(-1, ORDERS),
            np.array([sample.image_id for sample in samples], object),
        )

    @classmethod
    def of_scores(cls, samples: Sequence[Sample], scores: np.ndarray) -> "Ballots":
        """Return the ballots that follow from scores, float64 (samples, orders, 2 places).

        A tie chooses nothing, so that it is a loss whichever option stands first.
        """
        first, second = scores[..., 0], scores[..., 1]
        place = np.where(first == second, UNREADABLE, (second > first).astype(int))
        return cls.of(samples, place.tolist())

    def __len__(self) -> int:
        return len(self.place)

    def where(self, keep: np.ndarray) -> "Ballots":
        """Return the samples that a mask (samples,) chooses."""
        return Ballots(self.place[keep], self.right[keep], self.images[keep])

    @property
    def correct(self) -> np.ndarray:
        """Whether the right option was chosen, bool (samples, 2)."""
        return np.equal(self.place, self.right)

    @property
    def both(self) -> np.ndarray:
        """Whether it was chosen in both orders, bool (samples,)."""
        return np.logical_and(*self.correct.T)

    @property
    def moved(self) -> np.ndarray:
        """Whether another option was chosen in the other order, bool (samples,).

        Where one order has no readable choice, the two differ; where neither has, they don't.
        """
        option = np.where(self.place == UNREADABLE, UNREADABLE, self.place == self.right)
        return np.not_equal(option[:, 0], option[:, 1])


@dataclass(frozen=True)
class Choice:
    """How a model chose, with 95% intervals clustered by image."""

    n: int
    accuracy: Estimate  # the mean of both orders
    both: Estimate  # right in both orders
    order_effect: Estimate  # another option in the other order
    unreadable: float  # share of answers without a choice
    first: float  # share of readable answers that chose the first option


def measure(ballots: Ballots) -> Choice | None:
    """Return a model's measures; None without samples."""
    if not len(ballots):
        return None
    images = np.repeat(ballots.images, ORDERS)
    readable = ballots.place != UNREADABLE
    return Choice(
        len(ballots),
        proportion(ballots.correct.ravel(), _clusters(images, ballots)),
        proportion(ballots.both, ballots.images),
        proportion(ballots.moved, ballots.images),
        float(1 - readable.mean()),
        float((ballots.place == 0)[readable].mean()) if readable.any() else 0.0,
    )


def _clusters(images: np.ndarray, ballots: Ballots) -> np.ndarray:
    """Both orders of a sample belong to its image, which is the cluster."""
    assert len(images) == ballots.place.size
    return images


def hard(targets: Mapping[str, Ballots], without: str | None = None) -> np.ndarray:
    """Return which samples at least one target misses, bool (samples,).

    A target is right if it is right in both orders (ConMe, stages 4 and 7).

    Args:
        targets: the target models' ballots on the same samples.
        without: a target that has no say: filtered by the others alone, its accuracy is not
            lowered by the selection itself.

    Raises:
        ValueError: no target has a say.
    """
    asked = [ballots.both for name, ballots in targets.items() if name != without]
    if not asked:
        raise ValueError("no target is left to filter by")
    return ~np.all(asked, axis=0)


def same_choices(one: Ballots, other: Ballots) -> tuple[float, float]:
    """Return how far two modes of asking agree: the share of equal choices, and Cohen's kappa.

    Choices are compared by what was chosen (right, wrong, nothing), in each order. Kappa is NaN
    where both always choose alike.
    """
    chosen = [
        np.where(b.place == UNREADABLE, 2, b.correct.astype(int)).ravel() for b in (one, other)
    ]
    agreement = float(np.mean(chosen[0] == chosen[1]))
    shares = [np.bincount(c, minlength=3) / len(c) for c in chosen]
    expected = float(shares[0] @ shares[1])
    return agreement, (agreement - expected) / (1 - expected) if expected < 1 else float("nan")
