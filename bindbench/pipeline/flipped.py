"""The items that one model wins and another loses, as they are shown: picture and captions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bindbench.candidates import candidate_texts, candidate_words
from bindbench.pipeline import images, negatives, validated
from bindbench.pipeline.comparing import Flip, Side
from bindbench.pipeline.report_hardest import picture, rows_of
from bindbench.reporting.marks import Marked, mark
from bindbench.tasks import Track

Place = tuple[str, Track, int, int]  # benchmark, track, index in each side's suite


@dataclass(frozen=True)
class Shown:
    """One flip as text."""

    flip: Flip
    chosen: tuple[Marked, Marked]  # the caption that each side prefers


@dataclass(frozen=True)
class Card:
    """One item, with every way in which it flips."""

    benchmark: str
    track: Track
    concept_id: str
    image: bytes  # PNG, of the first side's suite
    right: str  # the right caption, of the first side's suite
    flips: tuple[Shown, ...]


def cards(first: Side, second: Side, flips: Sequence[Flip], most: int) -> list[Card]:
    """Return the items of flips, those first whose margins differ most, up to a number."""
    places: dict[Place, list[Flip]] = {}
    for flip in sorted(flips, key=lambda flip: -abs(flip.margins[1] - flip.margins[0])):
        places.setdefault((flip.benchmark, flip.track, *flip.index), []).append(flip)
    kept = dict(list(places.items())[:most])
    made: dict[Place, Card] = {}
    for key in dict.fromkeys(place[0] for place in kept):
        made |= _cards(key, first, second, {p: own for p, own in kept.items() if p[0] == key})
    return [made[place] for place in kept]


def _cards(
    key: str, first: Side, second: Side, places: Mapping[Place, Sequence[Flip]]
) -> dict[Place, Card]:
    """Return the cards of one benchmark, whose artifacts are read once."""
    wanted = {place[2] for place in places}, {place[3] for place in places}
    made_of = first.context.current(images.NAME, key)
    pixels = rows_of(made_of, wanted[0], ["index", "track", "image"])
    rows = [
        rows_of(side.candidates(key), index)
        for side, index in zip((first, second), wanted, strict=True)
    ]
    made = {}
    for place, flips in places.items():
        track, row = place[1], rows[0][place[2], place[1]]
        shown = tuple(
            Shown(
                flip,
                (
                    _chosen(key, first, rows[0][flip.index[0], track], flip.chosen[0]),
                    _chosen(key, second, rows[1][flip.index[1], track], flip.chosen[1]),
                ),
            )
            for flip in flips
        )
        image = picture(pixels[place[2], track])
        made[place] = Card(key, track, row["concept_id"], image, row["caption"], shown)
    return made


def _chosen(key: str, side: Side, row: dict[str, Any], candidate: int) -> Marked:
    """Return a candidate's caption with the words marked that differ from the right one's."""
    concept, template = validated.concept_of(key, row), negatives.template_of(row)
    lexicon = side.context.lexicon
    words = candidate_words(concept, lexicon)
    text = candidate_texts(template, concept, lexicon)[candidate]
    return mark(template, words[0], text, words[candidate])[1]
