"""A bounded memory of embeddings, by content."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence

import numpy as np

FEWEST_ROWS = 1024


class EmbeddingCache:
    """Keeps the embeddings of the keys used last, and computes each missing one once.

    Args:
        megabytes: memory for the embeddings. What one call asks for is kept while it runs,
            however much it is.
    """

    def __init__(self, megabytes: float) -> None:
        self._budget = megabytes * 2**20
        self._rows = np.empty((0, 0), np.float32)
        self._slots: OrderedDict[Hashable, int] = OrderedDict()  # least recently used first
        self._free: list[int] = []

    def __len__(self) -> int:
        return len(self._slots)

    def get(
        self,
        keys: Sequence[Hashable],
        encode: Callable[[list[int]], np.ndarray],
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return a table of embeddings and each key's row in it.

        Args:
            keys: any number of them, repeated or not.
            encode: takes the positions in ``keys`` of distinct keys that are not known, and
                returns their embeddings, float32 (positions, D).

        Returns:
            float32 (rows, D), valid until the next call, and int64 (keys,).
        """
        first: dict[Hashable, int] = {}
        for position, key in enumerate(keys):
            first.setdefault(key, position)
        for key in first:
            if key in self._slots:
                self._slots.move_to_end(key)
        missing = [position for key, position in first.items() if key not in self._slots]
        if missing:
            self._store([keys[i] for i in missing], encode(missing), len(first))
        return self._rows, np.array([self._slots[key] for key in keys], np.int64)

    def _store(self, keys: list[Hashable], rows: np.ndarray, in_use: int) -> None:
        if not self._rows.shape[1]:
            self._rows = np.empty((0, rows.shape[1]), np.float32)
        most = max(in_use, int(self._budget // (4 * rows.shape[1])))
        while self._slots and len(self._slots) + len(keys) > most:
            self._free.append(self._slots.popitem(last=False)[1])
        self._grow(len(self._slots) + len(keys))
        for key, row in zip(keys, rows, strict=True):
            slot = self._free.pop()
            self._rows[slot] = row
            self._slots[key] = slot

    def _grow(self, needed: int) -> None:
        have = len(self._rows)
        if needed <= have:
            return
        size = max(needed, 2 * have, FEWEST_ROWS)
        grown = np.empty((size, self._rows.shape[1]), np.float32)
        grown[:have] = self._rows
        self._rows = grown
        self._free += range(size - 1, have - 1, -1)
