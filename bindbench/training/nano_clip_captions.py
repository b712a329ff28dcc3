"""Captions of a batch of scenes, and which of them are true of which scene."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bindbench.concepts import Concept
from bindbench.tasks import TRACKS
from bindbench.training.nano_clip_data import NanoPlan
from bindbench.training.nano_clip_images import UNNAMED, Scenes, Shown
from bindbench.training.nano_clip_text import Teller

WHOLE = 0.4  # share of captions that tell the whole scene, by its relations if it has any
OBJECTS_ONLY = 0.1  # share of captions that name some objects alone; the rest are of some pairs


@dataclass(frozen=True)
class Told:
    """Captions of a batch of B scenes: a true one for each, and swapped ones for some."""

    positives: list[str]
    swapped: list[str]
    claims: Tensor  # float32 (B, F): 1 for each noun or noun with a color that caption i names
    true: Tensor  # bool (B, B): caption i is true of scene j


@dataclass(frozen=True)
class Narrator:
    """Tells batches of scenes.

    Captions leave out much, as captions do: some name one object of the scene and its color, some
    the objects alone. So it takes the color of the right object to find the image.
    """

    scenes: Scenes
    plan: NanoPlan
    teller: Teller

    def tell(self, seen: Shown, swaps: bool, rng: np.random.Generator) -> Told:
        """Write a random true caption of each scene, and false ones if ``swaps``."""
        positives, swapped = [], []
        claims = np.zeros((len(seen), self._width), np.float32)
        for i in range(len(seen)):
            kind = rng.random()
            concept = self.teller.retold(self._concept(seen, i, kind, rng), rng)
            plain = kind >= 1 - OBJECTS_ONLY
            claims[i, self._claims(concept, colors=not plain)] = 1
            if plain:
                positives.append(self.teller.objects_only(concept))
                continue
            style, seed = TRACKS[int(rng.integers(len(TRACKS)))], int(rng.integers(2**32))
            positives.append(self.teller.caption(concept, style, seed))
            if swaps and (other := self.teller.swapped(concept, rng)):
                swapped.append(self.teller.caption(other, style, seed))
        true = claims @ self.holds(seen).T == claims.sum(1, keepdims=True)
        return Told(positives, swapped, torch.from_numpy(claims), torch.from_numpy(true))

    def _concept(self, seen: Shown, i: int, kind: float, rng: np.random.Generator) -> Concept:
        row = int(seen.rows[i])
        concept = self.scenes.concepts[row]
        said = self.scenes.said(row, seen.colors[i], self.plan)
        if kind >= WHOLE:
            return self.teller.part(said, rng)
        if concept.task.axis == "attribute":
            return said
        return self.teller.mirrored(concept) if seen.mirrored[i] else concept

    @property
    def _width(self) -> int:
        return len(self.plan.nouns) * (len(self.plan.colors) + 1)

    def _feature(self, noun: int, color: int) -> int:
        """Return the number of a noun with a color, UNNAMED for any color."""
        return noun * (len(self.plan.colors) + 1) + color + 1

    def _claims(self, concept: Concept, colors: bool) -> list[int]:
        """Return what a scene must hold for what a concept says of its objects."""
        nouns = [self.plan.nouns.index(name) for name in concept.objects]
        if not colors or concept.task.axis == "relation":
            return [self._feature(noun, UNNAMED) for noun in nouns]
        names = [self.plan.colors.index(name) for name in concept.labels]
        return [self._feature(*pair) for pair in zip(nouns, names, strict=True)]

    def holds(self, seen: Shown) -> np.ndarray:
        """Return the nouns, and the nouns with colors, that each scene shows, float32 (B, F)."""
        out = np.zeros((len(seen), self._width), np.float32)
        for i, row in enumerate(seen.rows):
            for noun, color in zip(self.scenes.nouns[row], seen.colors[i], strict=True):
                if color != UNNAMED:
                    out[i, [self._feature(noun, UNNAMED), self._feature(noun, color)]] = 1
        return out
