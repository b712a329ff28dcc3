"""Captions whose exchangeable parts are known, and how they are filled with other words.

Text is never made by replacing one word after another: every slot is filled at once from the
words that belong there, so captions of different candidates cannot collide.
"""

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

from bindbench.captions import grammar
from bindbench.concepts import Concept
from bindbench.vocabulary import Lexicon, Noun

if TYPE_CHECKING:
    from bindbench.candidates import CandidateSpace

SlotKind = Literal["det", "label", "object", "verb"]
_SENTENCE_START = re.compile(r"(?:^|[.!?:])[\s\"'“‘(]*$")


class Slot(NamedTuple):
    """A span ``text[start:end]`` that depends on the concept.

    ``position`` is the index in the concept: of the object for ``det``, ``object`` and ``verb``
    (the object that the verb agrees with), of the label for ``label``. A ``det`` slot can be empty:
    there "gloves" stands without a determiner, where "a cup" would need one.
    """

    kind: SlotKind
    position: int
    start: int
    end: int


@dataclass(frozen=True)
class Template:
    """A caption and its slots, in the order of the text."""

    text: str
    slots: tuple[Slot, ...]

    @cached_property
    def frame(self) -> str:
        """The text with its slots abstracted: equal for captions that differ in words only."""
        parts, last = [], 0
        for slot in self.slots:
            name = "" if slot.kind == "det" else f"<{slot.kind} {slot.position}>"
            parts += [self.text[last : slot.start], name]
            # The blank after a determiner belongs to it: a bare noun has neither.
            last = slot.end + (slot.kind == "det" and slot.end > slot.start)
        return "".join([*parts, self.text[last:]])


class Draft:
    """A caption under construction that remembers where its slots are."""

    def __init__(self) -> None:
        self._text = ""
        self._slots: list[Slot] = []

    def write(self, text: str) -> None:
        """Append literal text."""
        self._text += text

    def slot(self, kind: SlotKind, position: int, text: str) -> None:
        """Append the text of a slot."""
        start = len(self._text)
        self._text += text
        self._slots.append(Slot(kind, position, start, len(self._text)))

    def phrase(self, position: int, noun: Noun, label: str | None = None) -> None:
        """Append a noun phrase with an indefinite determiner: "a pair of red gloves"."""
        self.slot("det", position, grammar.indefinite(noun, label))
        self.write(" ")
        if label is not None:
            self.slot("label", position, label)
            self.write(" ")
        self.slot("object", position, noun.name)

    def template(self, capital: bool) -> Template:
        """Return the caption, its first letter in upper case if asked."""
        text = grammar.capitalize(self._text) if capital else self._text
        return Template(text, tuple(self._slots))


@dataclass(frozen=True)
class _Phrase:
    """A noun phrase of a template: what to keep of it when its words change."""

    position: int
    start: int
    end: int
    determiner: str | None  # lower case; None: definite, and stays whatever the noun
    before: str  # literal text between the determiner and the label (or the object)
    between: str | None  # literal text between label and object; None: there is no label
    capital: bool

    @property
    def following(self) -> str | None:
        """The literal word right after the determiner, if one stands there."""
        words = self.before.split()
        return words[0].strip(",") if words else None


class Renderer:
    """Fills the slots of one template with objects and labels, quickly and many times.

    Args:
        template: a caption with its slots.
        concept: the concept that the caption was made from.
        lexicon: knows the concept's words and those to be filled in.
    """

    def __init__(self, template: Template, concept: Concept, lexicon: Lexicon) -> None:
        self._text = template.text
        self._concept = concept
        self._nouns = lexicon.nouns(concept.task)
        self._slots = {(slot.kind, slot.position): slot for slot in template.slots}
        self._attribute = concept.task.axis == "attribute"
        self._phrases = [self._phrase(p) for p in range(concept.n)]
        self._surfaces = self._read_surfaces()
        self._made: dict[tuple[int, str, str], str] = {}
        self._parts = self._split(template.slots)

    def _phrase(self, position: int) -> _Phrase:
        obj = self._slots["object", position]
        det = self._slots.get(("det", position))
        label = self._slots.get(("label", position)) if self._attribute else None
        head = label or obj
        start = det.start if det else head.start
        first = self._text[start : start + 1]
        return _Phrase(
            position=position,
            start=start,
            end=obj.end,
            determiner=self._text[det.start : det.end].lower() if det else None,
            before=self._text[det.end : head.start] if det else "",
            between=self._text[label.end : obj.start] if label else None,
            capital=first.isupper() and bool(_SENTENCE_START.search(self._text[:start])),
        )

    def _read_surfaces(self) -> dict[str, str]:
        """Return how the caption spells the concept's words ("SUV" for "suv")."""
        named = {("object", p): name for p, name in enumerate(self._concept.objects)}
        named |= {("label", p): name for p, name in enumerate(self._concept.labels)}
        opening = {phrase.start for phrase in self._phrases if phrase.capital}
        surfaces = {}
        for (kind, position), name in named.items():
            slot = self._slots[kind, position]
            text = self._text[slot.start : slot.end]
            # A capital that only opens the sentence is no spelling.
            if slot.start in opening and text[1:] == name[1:]:
                text = name
            surfaces[name] = text
        return surfaces

    def _split(self, slots: Sequence[Slot]) -> list[str | _Phrase | Slot]:
        """Return the text as literals, noun phrases, and verb and relation slots."""
        kinds = {"verb"} if self._attribute else {"verb", "label"}
        loose = [slot for slot in slots if slot.kind in kinds]
        units = sorted([*self._phrases, *loose], key=lambda unit: unit.start)
        parts: list[str | _Phrase | Slot] = []
        last = 0
        for unit in units:
            parts += [self._text[last : unit.start], unit]
            last = unit.end
        return [*parts, self._text[last:]]

    def render(self, objects: Sequence[str], labels: Sequence[str]) -> str:
        """Return the caption with other words; the concept's own give exactly the original."""
        made = []
        for part in self._parts:
            if isinstance(part, str):
                made.append(part)
            elif isinstance(part, _Phrase):
                label = labels[part.position] if self._attribute else ""
                made.append(self._fill(part, objects[part.position], label))
            elif part.kind == "verb":
                made.append(self._verb(part, objects[part.position]))
            else:
                label = labels[part.position]
                made.append(self._surfaces.get(label, label))
        return "".join(made)

    def render_all(self, space: "CandidateSpace") -> list[str]:
        """Return the captions of all candidates; each part is made once and then picked."""
        columns = [self._column(part, space) for part in self._parts]
        return list(map("".join, zip(*columns, strict=True)))

    def _column(self, part: "str | _Phrase | Slot", space: "CandidateSpace") -> Iterable[str]:
        """Return the text of one part in every candidate."""
        objects, labels = self._concept.objects, self._concept.labels
        if isinstance(part, str):
            return itertools.repeat(part, len(space))
        if isinstance(part, _Phrase) and self._attribute:
            pairs = itertools.product(objects, labels)
            return space.pair_at[part.position]([self._fill(part, *pair) for pair in pairs])
        if isinstance(part, _Phrase):
            return space.object_at[part.position]([self._fill(part, name, "") for name in objects])
        if part.kind == "verb":
            return space.object_at[part.position]([self._verb(part, name) for name in objects])
        return space.label_at[part.position]([self._surfaces.get(name, name) for name in labels])

    def _fill(self, phrase: _Phrase, obj: str, label: str) -> str:
        """Return a noun phrase with these words, made once."""
        key = (phrase.position, obj, label)
        if key not in self._made:
            noun = self._nouns[obj]
            spelled = self._surfaces.get(label, label)
            words = self._surfaces.get(obj, obj)
            if phrase.between is not None:
                words = spelled + phrase.between + words
            following = phrase.following or (spelled or None)
            text = _determiner(phrase, noun, following) + phrase.before + words
            self._made[key] = grammar.capitalize(text) if phrase.capital else text
        return self._made[key]

    def _verb(self, slot: Slot, obj: str) -> str:
        phrase = self._phrases[slot.position]
        noun = self._nouns[obj]
        determiner = _determiner(phrase, noun, phrase.following)
        return grammar.verb(self._text[slot.start : slot.end], grammar.is_plural(noun, determiner))


def _determiner(phrase: _Phrase, noun: Noun, following: str | None) -> str:
    """Return the determiner that the phrase needs with another noun."""
    old = phrase.determiner
    if old is None:
        return ""
    if old == "":
        return grammar.indefinite(noun, following) + " " if noun.number == "count" else ""
    if old.split()[0] in grammar.DEFINITE:
        return old if noun.number == "pair" else old.split()[0]
    return grammar.indefinite(noun, following)


def render(
    template: Template,
    concept: Concept,
    objects: Sequence[str],
    labels: Sequence[str],
    lexicon: Lexicon,
) -> str:
    """Return one caption with other words; for many, keep a ``Renderer``."""
    return Renderer(template, concept, lexicon).render(objects, labels)
