"""Readouts: which of a model's stored numbers decides an item."""

from typing import Literal, get_args

Readout = Literal["score", "mean", "subtracted", "blind", "blind_choice"]
READOUTS: tuple[Readout, ...] = get_args(Readout)

# The column of ``model_scores`` that each one reads.
COLUMN: dict[Readout, str] = {
    "score": "scores",  # the scorer's own: a similarity, a sum of log-probabilities, a choice
    "mean": "mean",  # the log-likelihood of a token
    "subtracted": "subtracted",  # the sum less the sum without the image
    "blind": "image_free",  # the sum without the image alone
    "blind_choice": "image_free",  # the same among the positive and 49 sampled candidates
}

# Log-likelihoods of models that compute in 16 bits differ by up to 0.44 nats with the order of the
# arithmetic alone; see docs/numbers.md.
UNDECIDED_NATS = 0.5
COARSE = ("float16", "bfloat16")


def undecided_gap(readout: Readout, dtype: str, likelihood: bool) -> float | None:
    """Return the gap of the two best candidates below which an item is undecided, in nats.

    None where no such gap is known: for other than sums of log-probabilities in 16 bits.
    """
    sums = likelihood and readout != "mean"
    return UNDECIDED_NATS if sums and dtype in COARSE else None
