"""Vocabularies: the words that concepts are made of, with what grammar, meaning and rendering need.

A vocabulary is a YAML file (``kind``, ``name``, ``entries``); the built-in ones are in
``bindbench/vocabularies``. A user's file of the same schema adds one or replaces one.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from bindbench.errors import unknown_name
from bindbench.tasks import Task

# Names go into captions and regular expressions: lower-case words, one space between them,
# hyphens and apostrophes only inside a word.
WORDS = r"^[a-z0-9]+(?:[-' ][a-z0-9]+)*$"
Words = Annotated[str, Field(pattern=WORDS)]


class Entry(BaseModel):
    """What every word has."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Words = Field(description="the word as captions use it, lower case")
    synonyms: tuple[Words, ...] = Field(
        (), description="words that mean the same; entries of the vocabulary or not"
    )
    broader: tuple[str, ...] = Field((), description="entries that are also true of it")
    close: tuple[str, ...] = Field((), description="entries that look alike")


class Noun(Entry):
    """An object or a shape."""

    plural: Words | Literal[""] = Field("", description="plural form; empty: formed by rule")
    number: Literal["count", "pair", "mass", "plural"] = Field(
        "count",
        description="count: 'a cup'; pair: 'a pair of gloves'; mass: 'some rice'; "
        "plural: 'some cookies'",
    )
    article: Literal["a", "an", ""] = Field("", description="empty: by the first letter")
    icon: str | None = Field(None, description="glyph of the Material Design Icons font")
    primitive: str | None = Field(None, description="mesh of a geometric primitive")

    @property
    def drawable(self) -> bool:
        """Whether the ray tracer has a mesh for it."""
        return self.icon is not None or self.primitive is not None


class Color(Entry):
    """A color."""

    rgb: Annotated[str, Field(pattern=r"^#[0-9A-Fa-f]{6}$", description="sRGB value, #RRGGBB")]
    metal: bool = Field(False, description="rendered as polished metal")

    @property
    def srgb(self) -> tuple[int, int, int]:
        """The red, green and blue values, 0 to 255."""
        value = int(self.rgb[1:], 16)
        return value >> 16, value >> 8 & 255, value & 255


class Relation(Entry):
    """A binary relation."""

    inverse: Words = Field(description="the entry that holds when the two objects change places")
    transitive: bool = Field(True, description="A r B and B r C imply A r C")
    axis: Literal["horizontal", "vertical", "size"]
    direction: Literal[-1, 1] = Field(
        description="1: the first object lies further along the axis (right, up, larger)"
    )


ENTRY_TYPES: dict[str, type[Entry]] = {
    "objects": Noun,
    "shapes": Noun,
    "colors": Color,
    "positions": Relation,
    "sizes": Relation,
}


KINDS: tuple[str, ...] = tuple(ENTRY_TYPES)

E = TypeVar("E", bound=Entry)


@dataclass(frozen=True)
class Vocabulary(Generic[E]):
    """An ordered list of entries with distinct names."""

    kind: str
    name: str
    entries: tuple[E, ...]

    @cached_property
    def by_name(self) -> dict[str, E]:
        """The entries by their names."""
        return {entry.name: entry for entry in self.entries}

    @property
    def names(self) -> tuple[str, ...]:
        """The names in order."""
        return tuple(entry.name for entry in self.entries)

    def __getitem__(self, name: str) -> E:
        """Return the entry called ``name``, or raise a UserError with the nearest names."""
        if name not in self.by_name:
            raise unknown_name(f"word of the vocabulary {self.name}", name, self.by_name)
        return self.by_name[name]

    @cached_property
    def nested(self) -> frozenset[frozenset[str]]:
        """Pairs of names of which one holds the other as words: tie and bow tie."""
        patterns = [(name, as_words(name)) for name in self.names]
        return frozenset(
            frozenset((a, b))
            for a, pattern in patterns
            for b in self.names
            if a != b and pattern.search(b)
        )

    @cached_property
    def _ancestors(self) -> dict[str, frozenset[str]]:
        """Every name with all entries that are broader than it."""
        return {name: ancestors_of(name, self.by_name) for name in self.names}

    def is_broader(self, a: str, b: str) -> bool:
        """Whether ``a`` is true of everything that ``b`` is true of (car of sports car).

        Transitive and strict: no name is broader than itself.
        """
        return self[a].name in self._ancestors[self[b].name]

    def are_synonyms(self, a: str, b: str) -> bool:
        """Whether two different entries mean the same (larger than, bigger than)."""
        return self[b].name in self[a].synonyms

    def overlaps(self, a: str, b: str) -> bool:
        """Whether one picture could show both: equal, nested, synonyms, or one the broader."""
        return (
            a == b
            or frozenset((a, b)) in self.nested
            or self.are_synonyms(a, b)
            or self.is_broader(a, b)
            or self.is_broader(b, a)
        )

    @cached_property
    def digest(self) -> str:
        """A hash of the kind and of all entries in their order; the name does not matter."""
        content = [self.kind, [entry.model_dump(mode="json") for entry in self.entries]]
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Lexicon:
    """The five vocabularies of a suite."""

    objects: Vocabulary[Noun]
    shapes: Vocabulary[Noun]
    colors: Vocabulary[Color]
    positions: Vocabulary[Relation]
    sizes: Vocabulary[Relation]

    def nouns(self, task: Task) -> Vocabulary[Noun]:
        """The vocabulary that names the things of a task."""
        return getattr(self, task.object_role)

    def labels(self, task: Task) -> Vocabulary[Any]:
        """The vocabulary that labels the things of a task (colors or relations)."""
        return getattr(self, task.label_role)


def as_words(name: str) -> re.Pattern[str]:
    """Return the pattern of a name on word boundaries."""
    return re.compile(rf"\b{re.escape(name)}\b")


def ancestors_of(name: str, by_name: dict[str, Any]) -> frozenset[str]:
    """Return all entries that are broader than ``name``, directly or through others."""
    found: set[str] = set()
    waiting = list(by_name[name].broader)
    while waiting:
        parent = waiting.pop()
        if parent not in found:
            found.add(parent)
            waiting.extend(by_name[parent].broader)
    return frozenset(found)
