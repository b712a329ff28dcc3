"""Batches that become smaller where memory runs out."""

import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

from bindbench.errors import UserError
from bindbench.scoring.likelihood import is_out_of_memory

A = TypeVar("A")
B = TypeVar("B")

_log = logging.getLogger(__name__)


class Halving:
    """Runs a function on parts of a sequence; a part that does not fit is halved, from there on.

    Args:
        name: of the model, for messages.
        remedy: what to do if not even one item fits.
    """

    def __init__(self, name: str, remedy: str) -> None:
        self._name, self._remedy = name, remedy
        self._most: int | None = None  # items in a part, once memory ran out

    def map(
        self, function: Callable[[Sequence[A]], Sequence[B]], items: Sequence[A], size: int
    ) -> list[B]:
        """Return the function's results for all items, in their order.

        Args:
            function: gives one result for each item.
            items: any number.
            size: most items in a part.

        Raises:
            UserError: memory runs out for one item.
        """
        done: list[B] = []
        while len(done) < len(items):
            part = items[len(done) :][: min(size, self._most or size)]
            try:
                done += function(part)
            except RuntimeError as error:
                self._halve(len(part), error)
        return done

    def _halve(self, size: int, error: RuntimeError) -> None:
        if not is_out_of_memory(error):
            raise error
        if size == 1:
            raise UserError(
                f"{self._name}: memory runs out for a single item: {self._remedy}."
            ) from error
        self._most = size // 2
        _log.warning("%s: out of memory, going on with %d at a time.", self._name, self._most)
