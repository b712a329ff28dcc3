"""Which words of the vocabularies a text mentions, and where."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from bindbench.captions import grammar
from bindbench.memo import per_lexicon
from bindbench.vocabulary import Entry, Lexicon, Noun

_TOKEN = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")
_POSSESSIVE = re.compile(r"(?:['’]s?|s['’])$")

# Words that speak of the same axes as the relations but need not be in the vocabulary.
_AXIS_WORDS = {
    "positions": "below beneath underneath atop left right leftmost rightmost higher lowe",
    "sizes": "larger smaller bigger littler tinier taller shorter wider largest smallest biggest",
}


class Token(NamedTuple):
    """A word of a text, hyphens and apostrophes inside it included."""

    word: str  # lower case
    start: int
    end: int


class Mention(NamedTuple):
    """A word of a vocabulary found in a text."""

    name: str  # of the entry
    exact: bool  # the name itself, not a plural, a synonym or a possessive
    first: int  # index of its first token
    last: int  # index of its last token


def tokenize(text: str) -> list[Token]:
    """Split a text into words."""
    return [Token(m[0].lower(), m.start(), m.end()) for m in _TOKEN.finditer(text)]


class PhraseIndex:
    """Finds phrases in tokens, the longest first, so that a "wine glass" is no "glass"."""

    def __init__(self, forms: Iterable[tuple[str, str]]) -> None:
        """Index ``(form, name)`` pairs; the first name of a form wins."""
        self._by_word: dict[str, list[tuple[tuple[str, ...], str, bool]]] = {}
        seen: set[str] = set()
        for form, name in forms:
            words = tuple(token.word for token in tokenize(form))
            if words and form not in seen:
                seen.add(form)
                item = (words, name, form == name)
                self._by_word.setdefault(words[0], []).append(item)
        for items in self._by_word.values():
            items.sort(key=lambda item: -len(item[0]))

    def find(self, tokens: list[Token]) -> list[Mention]:
        """Return the mentions in the order of the text; they do not overlap."""
        found = []
        i = 0
        while i < len(tokens):
            mention = self._at(tokens, i)
            if mention:
                found.append(mention)
                i = mention.last
            i += 1
        return found

    def _at(self, tokens: list[Token], first: int) -> Mention | None:
        """Return the longest mention that starts at a token, possessives included."""
        word = tokens[first].word
        for start in dict.fromkeys((word, _POSSESSIVE.sub("", word))):
            for words, name, is_name in self._by_word.get(start, ()):
                last = first + len(words) - 1
                said = [token.word for token in tokens[first : last + 1]]
                bare = [*said[:-1], _POSSESSIVE.sub("", said[-1])]
                if tuple(said) == words or tuple(bare) == words:
                    return Mention(name, is_name and tuple(said) == words, first, last)
        return None


def _noun_forms(nouns: tuple[Noun, ...]) -> list[tuple[str, str]]:
    forms = [(noun.name, noun.name) for noun in nouns]
    for noun in nouns:
        forms.append((grammar.plural(noun), noun.name))
        for synonym in noun.synonyms:
            forms += [(synonym, noun.name), (grammar.regular_plural(synonym), noun.name)]
    return forms


def _entry_forms(entries: tuple[Entry, ...]) -> list[tuple[str, str]]:
    names = [(entry.name, entry.name) for entry in entries]
    return names + [(synonym, entry.name) for entry in entries for synonym in entry.synonyms]


@dataclass(frozen=True)
class MentionIndex:
    """The phrase indices of a lexicon's parts."""

    lexicon_forms: dict[str, list[tuple[str, str]]]

    @cached_property
    def objects(self) -> PhraseIndex:
        """Nouns for the tasks of real objects: a form of both kinds is an object's."""
        return PhraseIndex([*self.lexicon_forms["objects"], *self.lexicon_forms["shapes"]])

    @cached_property
    def shapes(self) -> PhraseIndex:
        """Nouns for the tasks of shapes: a form of both kinds is a shape's."""
        return PhraseIndex([*self.lexicon_forms["shapes"], *self.lexicon_forms["objects"]])

    @cached_property
    def colors(self) -> PhraseIndex:
        """Color words."""
        return PhraseIndex(self.lexicon_forms["colors"])

    @cached_property
    def positions(self) -> PhraseIndex:
        """Spatial relations, and other words of their axes."""
        return PhraseIndex(self.lexicon_forms["positions"])

    @cached_property
    def sizes(self) -> PhraseIndex:
        """Size relations, and other comparatives of size."""
        return PhraseIndex(self.lexicon_forms["sizes"])


@per_lexicon
def mention_index(lexicon: Lexicon) -> MentionIndex:
    """Return the index of all words of a lexicon."""
    forms = {kind: _noun_forms(getattr(lexicon, kind).entries) for kind in ("objects", "shapes")}
    forms["colors"] = _entry_forms(lexicon.colors.entries)
    for kind, words in _AXIS_WORDS.items():
        own = _entry_forms(getattr(lexicon, kind).entries)
        forms[kind] = [*own, *((word, f"({word})") for word in words.split())]
    return MentionIndex(forms)
