"""A pseudo-random order of a range of any size, without a table of it."""

import math

import numpy as np

_ROUNDS = 8


def _mix(values: np.ndarray, key: np.uint64) -> np.ndarray:
    """Hash uint64 values (the finaliser of SplitMix64)."""
    x = values + key
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


class Permutation:
    """A permutation of ``range(size)`` chosen by a seed.

    A Feistel network over a rectangle of at least ``size`` cells; images that fall outside the
    range are permuted again until they fall inside ("cycle walking").

    Args:
        size: number of elements, below 2**62.
        seed: non-negative integers; equal ones give the same permutation.
    """

    def __init__(self, size: int, seed: list[int]) -> None:
        self.size = size
        width = math.isqrt(max(size - 1, 0)) + 1
        self._width, self._height = np.uint64(width), np.uint64(-(-size // width))
        self._keys = np.random.default_rng(seed).integers(
            0, 2**64, size=_ROUNDS, dtype=np.uint64, endpoint=False
        )

    def __call__(self, indices: np.ndarray) -> np.ndarray:
        """Return the elements at these places of the permuted range, int64."""
        values = self._once(indices.astype(np.uint64))
        while (outside := values >= np.uint64(self.size)).any():
            values[outside] = self._once(values[outside])
        return values.astype(np.int64)

    def _once(self, values: np.ndarray) -> np.ndarray:
        left, right = values // self._height, values % self._height
        for turn, key in enumerate(self._keys):
            if turn % 2:
                right = (right + _mix(left, key) % self._height) % self._height
            else:
                left = (left + _mix(right, key) % self._width) % self._width
        return left * self._height + right


def arrangements(n: int, k: int) -> int:
    """Return the number of ordered selections of ``k`` of ``n`` things."""
    return math.perm(n, k)


def unrank(ranks: np.ndarray, n: int, k: int) -> np.ndarray:
    """Return the ordered selections of ``k`` of ``n`` things with these ranks.

    Args:
        ranks: int64 (m,), each in ``range(arrangements(n, k))``.
        n: number of things.
        k: number selected.

    Returns:
        int64 (m, k): distinct indices below ``n`` in every row, in lexicographic order of rank.
    """
    chosen = np.empty((len(ranks), k), np.int64)
    for place in range(k):
        block = arrangements(n - place - 1, k - place - 1)
        digit, ranks = ranks // block, ranks % block
        # The digit counts among what is left; step over what was taken, the smallest first.
        for taken in np.sort(chosen[:, :place], axis=1).T:
            digit = digit + (digit >= taken)
        chosen[:, place] = digit
    return chosen
