"""Diversity of captions: distinct n-grams (Auto-Comp, A.7.1 and Table 17)."""

import re
from collections.abc import Iterable, Sequence

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


def words(caption: str) -> list[str]:
    """Return the words of a caption in lower case, without punctuation."""
    return _WORD.findall(caption.lower())


def distinct(captions: Iterable[str], n: int) -> float | None:
    """Return Distinct-n: different n-grams over all n-grams of all captions.

    It falls as captions are added, so compare sets of equal size. None where no caption has n
    words.
    """
    grams = [gram for caption in captions for gram in _grams(words(caption), n)]
    return len(set(grams)) / len(grams) if grams else None


def _grams(tokens: Sequence[str], n: int) -> list[tuple[str, ...]]:
    return [tuple(tokens[start : start + n]) for start in range(len(tokens) - n + 1)]
