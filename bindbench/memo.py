"""Remember what was derived from a lexicon, for as long as the lexicon lives."""

import weakref
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from bindbench.vocabulary import Lexicon

T = TypeVar("T")


def per_lexicon(derive: Callable[[Lexicon], T]) -> Callable[[Lexicon], T]:
    """Make ``derive`` run once for each lexicon object.

    Lexicons are remembered by identity, because hashing one reads hundreds of entries.
    """
    known: dict[int, tuple[weakref.ref[Lexicon], T]] = {}

    @wraps(derive)
    def remembered(lexicon: Lexicon) -> T:
        key = id(lexicon)
        if key not in known:
            forget = weakref.ref(lexicon, lambda _: known.pop(key, None))
            known[key] = (forget, derive(lexicon))
        return known[key][1]

    return remembered
