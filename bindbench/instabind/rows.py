"""Groups for a generator to draw: like things in a row that differ in one attribute.

InstaBind-Lite, section IV, asks for 3 to 6 instances of one class, in a clear order from left to
right, with distinguishable and unambiguous attributes. Here they are drawn at random.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bindbench.captions import grammar
from bindbench.concepts import Concept, content_id
from bindbench.errors import UserError
from bindbench.instabind.parsing import canonical
from bindbench.tasks import TRACKS, Track
from bindbench.vocabulary import Entry, Lexicon, Noun, Vocabulary

SIZES = {"small": 0.5, "medium": 0.71, "large": 1.0}  # relative: the areas double each time
MATERIALS = ("wood", "metal", "glass", "plastic", "stone", "paper")
MADE_OF_ANY = ("bowl", "vase", "cup", "box", "spoon", "chair")  # nouns that each may be made of
SOLID = "object"  # what a shape is a shape of
NUMBERS = ("three", "four", "five", "six")
WHERE: dict[Track, str] = {"minimal": "on a white background", "contextual": "in a room"}
DRAWS = 1000  # attempts at one group that is new


@dataclass(frozen=True)
class Row:
    """Like things from left to right."""

    kind: str
    class_name: str
    values: tuple[str, ...]  # of the attribute that tells them apart
    objects: tuple[str, ...]
    labels: tuple[str, ...]  # their colors; of the kind material what they are made of
    sizes: tuple[float, ...]  # relative to the largest
    caption: str  # without its place

    @property
    def concept(self) -> Concept:
        """What a generator is asked to draw."""
        return Concept(
            "shape_color" if self.kind == "shape" else "color", self.objects, self.labels
        )

    @property
    def id(self) -> str:
        """A hash of the content, order included."""
        return content_id([self.kind, self.objects, self.labels, self.values])


@dataclass(frozen=True)
class Kind:
    """An attribute that things in a row may differ in."""

    counts: tuple[int, ...]  # how many there are in a row, in turn
    draw: Callable[[int, Lexicon, np.random.Generator], Row]


def rows(kind: str, lexicon: Lexicon, count: int, seed: int) -> list[tuple[Row, Track]]:
    """Return distinct rows, each with its track; a longer sequence begins with the shorter one.

    Raises:
        UserError: the vocabularies don't make so many rows.
    """
    chosen, seen, found = KINDS[kind], set(), []
    for index in range(count):
        rng = np.random.default_rng([seed, index, *kind.encode()])
        size = chosen.counts[index % len(chosen.counts)]
        row = next(
            (
                r
                for r in (chosen.draw(size, lexicon, rng) for _ in range(DRAWS))
                if r.id not in seen
            ),
            None,
        )
        if row is None:
            raise UserError(
                f"The vocabularies make no more than about {index} rows of the kind {kind}: ask "
                "for fewer groups."
            )
        seen.add(row.id)
        found.append((row, TRACKS[index // len(chosen.counts) % len(TRACKS)]))
    return found


def prompt(row: Row, track: Track) -> str:
    """Return the caption that a text-to-image model reads."""
    return f"{row.caption}, {WHERE[track]}"


def _noun(lexicon: Lexicon, rng: np.random.Generator) -> Noun:
    """Draw a noun that can be counted; people are asked about their clothing alone."""
    nouns = [n for n in lexicon.objects.entries if n.number == "count" and n.name != "person"]
    if not nouns:
        raise UserError(f"The vocabulary {lexicon.objects.name} has no noun that can be counted.")
    return nouns[int(rng.integers(len(nouns)))]


def apart(vocabulary: Vocabulary[Any], n: int, rng: np.random.Generator) -> tuple[str, ...]:
    """Draw words that no picture could confuse and that answers are read as.

    Raises:
        UserError: the vocabulary has not so many.
    """
    usable = [e for e in vocabulary.entries if canonical(e.name) == e.name]
    for _ in range(DRAWS):
        chosen: list[Entry] = []
        for k in rng.permutation(len(usable)):
            if all(_told_apart(vocabulary, usable[k], other) for other in chosen):
                chosen.append(usable[k])
            if len(chosen) == n:
                return tuple(entry.name for entry in chosen)
    raise UserError(
        f"The vocabulary {vocabulary.name} has no {n} words that are clearly told apart."
    )


def _told_apart(vocabulary: Vocabulary[Any], a: Entry, b: Entry) -> bool:
    return not (vocabulary.overlaps(a.name, b.name) or a.name in b.close or b.name in a.close)


def _caption(row: tuple[str, ...], things: str) -> str:
    """Return "four keys in a row, from left to right: a red key, ... and a blue key"."""
    listed = [f"{grammar.article(phrase)} {phrase}" for phrase in row]
    return (
        f"{NUMBERS[len(row) - 3]} {things} in a row, from left to right: "
        f"{', '.join(listed[:-1])} and {listed[-1]}"
    )


def _color(n: int, lexicon: Lexicon, rng: np.random.Generator) -> Row:
    noun, colors = _noun(lexicon, rng), apart(lexicon.colors, n, rng)
    caption = _caption(tuple(f"{color} {noun.name}" for color in colors), grammar.plural(noun))
    return Row("color", noun.name, colors, (noun.name,) * n, colors, (1.0,) * n, caption)


def _shape(n: int, lexicon: Lexicon, rng: np.random.Generator) -> Row:
    shapes, (color,) = apart(lexicon.shapes, n, rng), apart(lexicon.colors, 1, rng)
    caption = _caption(tuple(f"{color} {shape}" for shape in shapes), f"{SOLID}s")
    return Row("shape", SOLID, shapes, shapes, (color,) * n, (1.0,) * n, caption)


def _size(n: int, lexicon: Lexicon, rng: np.random.Generator) -> Row:
    noun, (color,) = _noun(lexicon, rng), apart(lexicon.colors, 1, rng)
    values = tuple(str(value) for value in rng.permutation(list(SIZES)))
    caption = _caption(
        tuple(f"{value} {color} {noun.name}" for value in values), grammar.plural(noun)
    )
    sizes = tuple(SIZES[value] for value in values)
    return Row("size", noun.name, values, (noun.name,) * n, (color,) * n, sizes, caption)


def _material(n: int, lexicon: Lexicon, rng: np.random.Generator) -> Row:
    noun = MADE_OF_ANY[int(rng.integers(len(MADE_OF_ANY)))]
    values = tuple(str(value) for value in rng.permutation(MATERIALS)[:n])
    caption = _caption(
        tuple(f"{noun} made of {value}" for value in values), grammar.regular_plural(noun)
    )
    return Row("material", noun, values, (noun,) * n, values, (1.0,) * n, caption)


KINDS: dict[str, Kind] = {
    "color": Kind((3, 4, 5, 6), _color),
    "shape": Kind((3, 4, 5), _shape),
    "size": Kind((3,), _size),
    "material": Kind((3, 4, 5, 6), _material),
}
