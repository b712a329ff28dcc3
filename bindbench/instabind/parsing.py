"""What an answer says: one of a group's values, something else, or nothing.

Deterministic, without a judge (InstaBind-Lite, section VI A). ``compat`` reads option letters as
the authors' code does, where that differs.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

ALIASES = {
    "grey": "gray",
    "dark gray": "gray",
    "light gray": "gray",
    "dark grey": "gray",
    "light grey": "gray",
    "navy": "blue",
    "navy blue": "blue",
    "dark blue": "blue",
    "light blue": "blue",
    "dark green": "green",
    "light green": "green",
    "maroon": "red",
    "burgundy": "red",
    "tan": "beige",
    "cream": "beige",
    "clear": "transparent",
    "see through": "transparent",
    "colorless": "transparent",
}
NO_ANSWER = frozenset({"", "unknown", "unclear", "not sure", "cannot determine"})
MANY = "multicolor"
YES_NO = ("yes", "no")
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

_MARKER = re.compile(r"(?:final\s+)?answer\s*:", re.IGNORECASE)
_LETTER = re.compile(r"\s*(?:option\s+)?\(?([a-z])(?:\s*[.):,]|\s*$)", re.IGNORECASE)
_COMPAT_LETTER = re.compile(r"(?:^\s*|\()([A-Za-z])\b")
_JOINED = re.compile(r" and |&|\+")


@dataclass(frozen=True)
class Parsed:
    """What an answer says."""

    text: str  # its relevant part, normalised
    value: str | None  # one of the values that were looked for; None: another, or none
    valid: bool  # it says something


def relevant(answer: str) -> str:
    """Return what follows the last "Final answer:" or "answer:", or the whole answer."""
    return _MARKER.split(answer)[-1]


def normalise(text: str) -> str:
    """Return lower-case words with one space between them and no punctuation but & and +."""
    return " ".join(re.sub(r"[^\w&+]|_", " ", text.lower()).split())


def parse_attribute(answer: str, values: Sequence[str]) -> Parsed:
    """Return which of a group's attribute values an answer names.

    Args:
        answer: the model's text.
        values: the values in the group.
    """
    text = normalise(relevant(answer))
    if text in NO_ANSWER:
        return Parsed(text, None, False)
    known = {canonical(value): value for value in values}
    said = canonical(text)
    if said in known or said == MANY:
        return Parsed(text, known.get(said), True)
    return Parsed(text, _only_one(text, known), True)


def canonical(text: str) -> str:
    """Return an attribute's one name: aliases resolved, several colors called multicolor."""
    text = normalise(text)
    if _JOINED.search(text):
        return MANY
    return ALIASES.get(text, text)


def parse_position(answer: str, labels: Sequence[str], compat: bool = False) -> Parsed:
    """Return which of a group's order labels an answer names, by its letter or in words.

    Args:
        answer: the model's text.
        labels: the order labels; the first is option A.
        compat: a letter at the start or after "(" is an option, so that "A white car" is A.
    """
    part = relevant(answer)
    text = normalise(part)
    if text in NO_ANSWER:
        return Parsed(text, None, False)
    known = {normalise(label): label for label in labels}
    if text in known:
        return Parsed(text, known[text], True)
    letter = _COMPAT_LETTER.search(part) if compat else _LETTER.match(part)
    place = LETTERS.find(letter[1].upper()) if letter else -1
    if 0 <= place < len(labels):
        return Parsed(text, labels[place], True)
    return Parsed(text, _only_one(text, known), True)


def parse_yes_no(answer: str) -> Parsed:
    """Return whether an answer says "yes" or "no"; anything else says nothing."""
    text = normalise(relevant(answer))
    words = text.split()
    if words and words[0] in YES_NO:
        return Parsed(text, words[0], True)
    value = _only_one(text, {word: word for word in YES_NO})
    return Parsed(text, value, value is not None)


def _only_one(text: str, known: dict[str, str]) -> str | None:
    """Return the value that is found in a text, if exactly one is."""
    found = {value for name, value in known.items() if re.search(rf"\b{re.escape(name)}\b", text)}
    return found.pop() if len(found) == 1 else None
