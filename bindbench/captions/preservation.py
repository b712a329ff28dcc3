"""The semantic preservation check: does a caption say what its concept says, and nothing else?

Auto-Comp, section 3, made strict: beyond its patterns (see ``finder``), no other noun of the
vocabularies, no second color and no other relation may slip in, and nothing may be negated.
"""

import re
from dataclasses import dataclass

from bindbench.captions.finder import Spans, find_slots
from bindbench.captions.mentions import Mention, Token, mention_index, tokenize
from bindbench.captions.slots import Template, render
from bindbench.concepts import Concept
from bindbench.vocabulary import Lexicon

_NEGATION = re.compile(
    r"\b(?:not(?!\s+(?:far|only|just)\b)|never|neither|nor|no longer|instead of|rather than)\b"
    r"|n['’]t\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Preservation:
    """The verdict on one caption: its template, or the named reason why it has none."""

    template: Template | None
    reason: str  # "" when the caption passes


def check(text: str, concept: Concept, lexicon: Lexicon) -> Preservation:
    """Check a caption against its concept and find its slots.

    Reasons, beside those of ``find_slots``: ``format`` (empty, several lines, stray blanks),
    ``negated``, ``other_object``, ``other_label`` (a color too many), ``other_relation``,
    ``article`` (a wrong "a" or "an").
    """
    if not text.strip() or text != " ".join(text.split()):
        return Preservation(None, "format")
    if _NEGATION.search(text):
        return Preservation(None, "negated")
    spans = find_slots(text, concept, lexicon)
    reason = spans.reason or _intruder(text, spans, concept, lexicon)
    if reason:
        return Preservation(None, reason)
    template = Template(text, spans.slots)
    if render(template, concept, concept.objects, concept.labels, lexicon) != text:
        return Preservation(None, "article")
    return Preservation(template, "")


def _intruder(text: str, spans: Spans, concept: Concept, lexicon: Lexicon) -> str:
    """Return the reason if a word of the vocabularies stands outside the slots, else ""."""
    tokens = tokenize(text)
    index = mention_index(lexicon)
    nouns = getattr(index, concept.task.object_role).find(tokens)
    if any(_outside(m, spans) for m in nouns):
        return "other_object"
    words = _split_hyphens(tokens, spans)
    if index.colors.find(words):
        return "other_label"
    relations = getattr(index, concept.task.label_role).find(tokens)
    if concept.task.axis == "relation" and any(_outside(m, spans) for m in relations):
        return "other_relation"
    return ""


def _outside(mention: Mention, spans: Spans) -> bool:
    return not any(i in spans.claimed for i in range(mention.first, mention.last + 1))


def _split_hyphens(tokens: list[Token], spans: Spans) -> list[Token]:
    """Return the words outside the slots, "red-hot" as two, since a color may hide there."""
    return [
        Token(part, token.start, token.end)
        for i, token in enumerate(tokens)
        for part in (token.word.split("-") if i not in spans.claimed else ["_"])
    ]
