"""The embedded writer: contextual captions from a grammar of scenes, without a model."""

import re
from collections.abc import Sequence

import numpy as np

from bindbench.captions import grammar
from bindbench.captions.frames import MOMENTS, PLACES, SAYINGS, shapes
from bindbench.concepts import Concept
from bindbench.models.base import Written
from bindbench.vocabulary import Lexicon

_CHOICE = re.compile(r"\{(?P<kind>[A-Za-z]+)(?P<position>\d*)\}")
_WORD = re.compile(r"<(?P<kind>[rv]?)(?P<position>\d+)(?::(?P<verb>\w+))?>")


class GrammarWriter:
    """Puts a concept into a sentence of ``bindbench.captions.frames`` chosen by the seed."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon

    def write(self, concepts: Sequence[Concept], seeds: Sequence[int]) -> list[Written]:
        """Return one caption for each concept; each depends on its own concept and seed alone."""
        return [Written(self._write(c, seed)) for c, seed in zip(concepts, seeds, strict=True)]

    def _write(self, concept: Concept, seed: int) -> str:
        frame = _draw(self._shapes(concept), concept, np.random.default_rng([seed]))
        return grammar.capitalize(_WORD.sub(lambda match: self._word(match, concept), frame))

    def _shapes(self, concept: Concept) -> Sequence[str]:
        return shapes(concept.task.axis, concept.n)

    def _word(self, match: re.Match[str], concept: Concept) -> str:
        """Return what stands for ``<0>``, ``<v0:is>`` or ``<r0>``."""
        position = int(match["position"])
        if match["kind"] == "r":
            return concept.labels[position]
        noun = self._lexicon.nouns(concept.task)[concept.objects[position]]
        if match["kind"] == "v":
            return grammar.verb(match["verb"], grammar.is_plural(noun, grammar.indefinite(noun)))
        if concept.task.axis == "attribute":
            label = concept.labels[position]
            return f"{grammar.indefinite(noun, label)} {label} {noun.name}"
        return f"{grammar.indefinite(noun)} {noun.name}"


def _draw(options: Sequence[str], concept: Concept, rng: np.random.Generator) -> str:
    """Draw a sentence shape and its places, moments and turns of phrase; words stay open."""

    def choose(match: re.Match[str]) -> str:
        kind = match["kind"]
        pool = {"place": PLACES, "moment": MOMENTS}.get(kind.lower())
        if pool is None:
            pool = SAYINGS[concept.task.label_role][kind]
        chosen = _pick(pool, rng).replace("<v:", f"<v{match['position']}:")
        return grammar.capitalize(chosen) if kind[0].isupper() else chosen

    return _CHOICE.sub(choose, _pick(options, rng))


def _pick(options: Sequence[str], rng: np.random.Generator) -> str:
    return options[int(rng.integers(len(options)))]
