"""Find, in any caption of a concept, the words that depend on it.

Auto-Comp's patterns (section 3), made strict: the color word, at most one other word, the object
word; first object, relation, second object in that order. Every object is named exactly once and
as a whole noun. The result carries the slots, or the reason why the caption cannot be used.
"""

import itertools
import re
from dataclasses import dataclass
from typing import NamedTuple

from bindbench.captions import grammar
from bindbench.captions.mentions import Mention, Token, mention_index, tokenize
from bindbench.captions.slots import Slot, SlotKind
from bindbench.concepts import Concept
from bindbench.vocabulary import Lexicon, Noun

# A word of this list cannot stand inside a noun phrase, so a phrase without determiner may
# start right after one.
_FUNCTION_WORD = re.compile(
    "and|or|but|with|without|of|in|on|at|by|near|beside|behind|before|to|from|into|onto|over|"
    "under|above|below|through|across|around|between|among|against|along|past|than|then|"
    "is|are|was|were|be|been|has|have|had|which|that|who|while|as"
)
_RELATIVE = re.compile(r"\b(?:which|that|itself|themselves|in turn)\b", re.IGNORECASE)
_BREAK = re.compile(r"[.!?;:]")
_AFTER = re.compile(
    r"(?P<relative>,?\s+(?:which|that)(?:\s+(?:in turn|itself|also))?)?\s+(?P<verb>[a-z]+)\b"
)
_THERE = re.compile(r"\bthere\s+(?P<verb>is|are|was|were)\s+$", re.IGNORECASE)
_INVERTED = re.compile(r"\s(?P<verb>(?:stand|sit|lie|rest|hang|wait)s?)\s+$")
_COORDINATED = re.compile(r"\b(?:and|or|with)\s+$", re.IGNORECASE)


class Spans(NamedTuple):
    """The slots of a caption, or the reason why it has none."""

    slots: tuple[Slot, ...]
    reason: str
    claimed: frozenset[int]  # indices of the tokens inside label and object slots


def _refuse(reason: str) -> Spans:
    return Spans((), reason, frozenset())


@dataclass(frozen=True)
class _Text:
    """A caption, its words, and the nouns and labels that it mentions."""

    text: str
    tokens: list[Token]
    nouns: list[Mention]
    labels: list[Mention]

    def between(self, a: Mention, b: Mention) -> str:
        """Return the text from the end of one mention to the start of the next."""
        return self.text[self.tokens[a.last].end : self.tokens[b.first].start]

    def is_plain(self, index: int) -> bool:
        """Return whether a word is neither in a mention nor one that ends a noun phrase."""
        inside = any(m.first <= index <= m.last for m in (*self.nouns, *self.labels))
        return not inside and not _FUNCTION_WORD.fullmatch(self.tokens[index].word)

    def slot(self, kind: SlotKind, position: int, mention: Mention) -> Slot:
        """Return the slot that covers a mention."""
        start, end = self.tokens[mention.first].start, self.tokens[mention.last].end
        return Slot(kind, position, start, end)


def _read(text: str, concept: Concept, lexicon: Lexicon) -> _Text:
    """Find the nouns and the task's labels that a text mentions."""
    index = mention_index(lexicon)
    tokens = tokenize(text)
    nouns = getattr(index, concept.task.object_role).find(tokens)
    labels = getattr(index, concept.task.label_role).find(tokens)
    return _Text(text, tokens, nouns, labels)


def find_slots(text: str, concept: Concept, lexicon: Lexicon) -> Spans:
    """Return the slots of a caption for its concept, or a reason.

    Reasons: ``missing_object``, ``repeated_object``, ``missing_label``, ``wrong_order``,
    ``missing_relation``, ``unclear_subject``, ``determiner``.
    """
    said = _read(text, concept, lexicon)
    found = _pairs(said, concept) if concept.task.axis == "attribute" else _links(said, concept)
    if isinstance(found, str):
        return _refuse(found)
    objects, labels = found
    heads = labels if concept.task.axis == "attribute" else objects
    slots = [said.slot("object", p, m) for p, m in enumerate(objects)]
    slots += [said.slot("label", p, m) for p, m in enumerate(labels)]
    phrases = []
    for position, head in enumerate(heads):
        noun = lexicon.nouns(concept.task)[concept.objects[position]]
        determiner = _determiner(said, head, noun)
        if determiner is None:
            return _refuse("determiner")
        start, end = determiner
        if text[start:end].lower() not in grammar.DEFINITE:
            slots.append(Slot("det", position, start, end))
        plural = grammar.is_plural(noun, text[start:end])
        phrases.append(_Phrase(position, start, slots[position].end, plural))
    slots += _verbs(text, phrases)
    # An empty determiner begins where its label does, and comes first.
    slots.sort(key=lambda slot: (slot.start, slot.end))
    claimed = {i for m in (*objects, *labels) for i in range(m.first, m.last + 1)}
    return Spans(tuple(slots), "", frozenset(claimed))


def _pairs(said: _Text, concept: Concept) -> tuple[list[Mention], list[Mention]] | str:
    """Find each object with its label before it."""
    objects, labels = [], []
    for name, label in zip(concept.objects, concept.labels, strict=True):
        named = [m for m in said.nouns if m.name == name and m.exact]
        if not named:
            return "missing_object"
        bound = [(m, found) for m in named if (found := _label_before(said, m, label))]
        if not bound:
            return "missing_label"
        if len(bound) > 1:
            return "repeated_object"
        objects.append(bound[0][0])
        labels.append(bound[0][1])
    # A word that is both a color and a noun ("orange") may be here as the color.
    as_label = {m.first for m in labels}
    for m in said.nouns:
        if m.name in concept.objects and m not in objects and m.first not in as_label:
            return "repeated_object"
    return objects, labels


def _label_before(said: _Text, obj: Mention, label: str) -> Mention | None:
    """Return the label right before an object, with at most one plain word between them."""
    for m in said.labels:
        gap = range(m.last + 1, obj.first)
        if m.name != label or not m.exact or m.last >= obj.first or len(gap) > 1:
            continue
        close = re.fullmatch(r"\s+|,?\s+[\w\-]+\s+", said.between(m, obj))
        if close and all(said.is_plain(i) for i in gap):
            return m
    return None


def _links(said: _Text, concept: Concept) -> tuple[list[Mention], list[Mention]] | str:
    """Find the chain: object, relation, object, and so on, in the order of the concept."""
    objects = []
    for name in concept.objects:
        named = [m for m in said.nouns if m.name == name]
        if not any(m.exact for m in named):
            return "missing_object"
        if len(named) > 1:
            return "repeated_object"
        objects.append(named[0])
    if any(a.last >= b.first for a, b in itertools.pairwise(objects)):
        return "wrong_order"
    labels = []
    for position, name in enumerate(concept.labels):
        left, right = objects[position], objects[position + 1]
        inside = [m for m in said.labels if left.last < m.first and m.last < right.first]
        own = [m for m in inside if m.name == name and m.exact]
        if len(own) != 1 or _BREAK.search(said.between(left, right)):
            return "missing_relation"
        # "A is above B and to the left of C" speaks of A; only a relative clause speaks of B.
        if position and not _RELATIVE.search(said.between(left, own[0])):
            return "unclear_subject"
        labels.append(own[0])
    return objects, labels


def _determiner(said: _Text, head: Mention, noun: Noun) -> tuple[int, int] | None:
    """Return the span of the determiner before a phrase, empty for a bare noun; None: unusable."""
    tokens = said.tokens
    reach = 3 if noun.number == "count" else 1
    for back in range(reach + 2):
        at = head.first - 1 - back
        after = tokens[at + 1]
        if at < 0 or not _adjoins(said.text, tokens[at], after):
            return _bare(after, noun, back, reach)
        word = tokens[at].word
        if word == "of" and at >= 2 and tokens[at - 1].word == "pair":
            return _pair_of(said, at, noun) if back <= reach else None
        if word in ("a", "an", "some") or word in grammar.DEFINITE:
            return _checked(tokens[at], noun, back)
        if _FUNCTION_WORD.fullmatch(word):
            return _bare(after, noun, back, reach)
    return None


def _adjoins(text: str, token: Token, following: Token) -> bool:
    """Return whether only blanks or a comma between adjectives separate two words."""
    return bool(re.fullmatch(r",?\s+", text[token.end : following.start]))


def _bare(after: Token, noun: Noun, back: int, reach: int) -> tuple[int, int] | None:
    if noun.number == "count" or back > reach:
        return None
    return after.start, after.start


def _pair_of(said: _Text, of: int, noun: Noun) -> tuple[int, int] | None:
    first = said.tokens[of - 2]
    known = first.word == "a" or first.word in grammar.DEFINITE
    if noun.number != "pair" or not known:
        return None
    return first.start, said.tokens[of].end


def _checked(token: Token, noun: Noun, back: int) -> tuple[int, int] | None:
    """Accept a one-word determiner that suits the noun."""
    if token.word in grammar.DEFINITE:
        # Further back it may belong to another noun: "the man holding gloves".
        return (token.start, token.end) if back == 0 or noun.number == "count" else None
    return (token.start, token.end) if token.word in grammar.INDEFINITE[noun.number] else None


class _Phrase(NamedTuple):
    """A noun phrase: its span, and whether it takes a plural verb."""

    position: int
    start: int
    end: int
    plural: bool


def _verbs(text: str, phrases: list[_Phrase]) -> list[Slot]:
    """Return the verbs beside the phrases that agree with them."""
    found: dict[int, Slot] = {}
    for phrase in phrases:
        match = _AFTER.match(text, phrase.end)
        # In "a cup and some cookies stand" the plural is due to the two of them.
        joined = phrase.plural and _COORDINATED.search(text[: phrase.start])
        if match and (match["relative"] or not joined):
            _add_verb(found, match, phrase)
    for phrase in phrases:
        # "Next to a cup stands a chair": the chair does, though the cup is nearer.
        before = text[: phrase.start]
        if match := _THERE.search(before) or _INVERTED.search(before):
            _add_verb(found, match, phrase)
    return list(found.values())


def _add_verb(found: dict[int, Slot], match: re.Match[str], phrase: _Phrase) -> None:
    """Add the verb of a match by its place if it agrees with the phrase."""
    if match["verb"] in (grammar.SINGULAR if phrase.plural else grammar.VERBS):
        start, end = match.span("verb")
        found[start] = Slot("verb", phrase.position, start, end)
