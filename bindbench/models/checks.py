"""Scorers that show chance, ceiling and the machinery itself on every leaderboard.

They never look at the image; ``check:oracle`` is told the concept instead.
"""

import hashlib
from collections.abc import Sequence

import numpy as np

from bindbench.models.base import ScoreRequest, Scores
from bindbench.semantics import FALSE, TRUE, UNDECIDED


class ConstantScorer:
    """Gives every caption the same score: accuracy 0, all ties, credit equal to chance."""

    dtype = "float64"
    method = "check"

    def score(self, requests: Sequence[ScoreRequest]) -> list[Scores]:
        """Return zeros."""
        return [Scores(np.zeros(len(request.texts))) for request in requests]


class RandomScorer:
    """Gives uniform random scores in [0, 1): accuracy equal to chance.

    A score depends on the seed, the item's key and the candidate's index alone, so that it is the
    same in whatever batch or worker it is computed.
    """

    dtype = "float64"
    method = "check"

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def score(self, requests: Sequence[ScoreRequest]) -> list[Scores]:
        """Return the hash of (seed, key) as a stream of numbers, one for each text."""
        return [Scores(self._stream(request.key, len(request.texts))) for request in requests]

    def _stream(self, key: str, n: int) -> np.ndarray:
        digest = hashlib.shake_256(f"{self.seed}:{key}".encode()).digest(8 * n)
        return (np.frombuffer(digest, "<u8") >> 11) * 2.0**-53


class OracleScorer:
    """Knows the concept: true captions above undecided ones above false ones.

    100% strict. In ``paper`` mode it ties with every other true caption, and so shows the ceiling.
    """

    dtype = "float64"
    method = "check"

    def score(self, requests: Sequence[ScoreRequest]) -> list[Scores]:
        """Return 1 for true captions, 0.5 for undecided and 0 for false ones."""
        values = np.zeros(3)
        values[TRUE], values[UNDECIDED], values[FALSE] = 1.0, 0.5, 0.0
        return [Scores(self._score(request, values)) for request in requests]

    def _score(self, request: ScoreRequest, values: np.ndarray) -> np.ndarray:
        if len(request.truth) != len(request.texts) or request.truth[0] != TRUE:
            raise ValueError(f"item {request.key}: the truth must cover all texts, the first true")
        return values[request.truth]
