"""The batches of a training: which samples, with which negatives, and what does not count."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bindbench.training.finetuning.recipe import Negatives, Recipe
from bindbench.training.finetuning.samples import Sample, draw
from bindbench.training.finetuning.truth import Truths

Inputs = dict[str, Tensor]
_ORDER, _NEGATIVES = 1, 2  # streams of random numbers


@dataclass(frozen=True)
class Batch:
    """The samples of a step, and all captions that their images are compared with."""

    rows: np.ndarray  # int64 (B,): of the samples
    texts: list[str]  # distinct
    order: Tensor  # int64 (B + M,): the text of each column; first the positives
    excluded: Tensor  # bool (B, B + M): see the losses


class Dealer:
    """Deals the batches; what a step gets depends on the seed and its number alone.

    Args:
        samples: of the training.
        recipe: the settings.
        kind: of the negatives.
        size: positives of a batch, at most as many as there are samples.
        seed: of the order and the draws.
    """

    def __init__(
        self, samples: Sequence[Sample], recipe: Recipe, kind: Negatives, size: int, seed: int
    ) -> None:
        self._samples, self._recipe, self._size, self._seed = samples, recipe, size, seed
        self._pools = [sample.pools(kind, recipe.semantics) for sample in samples]
        strict = recipe.semantics == "strict"
        shown = [sample.concept for sample in samples]
        self._truths = Truths(shown, samples[0].lexicon) if strict else None
        self._texts: dict[tuple[int, int], str] = {}

    @property
    def repeating(self) -> int:
        """Samples with fewer negatives than a positive gets, so that they repeat."""
        return sum(sum(map(len, pools)) < self._recipe.hard for pools in self._pools)

    def deal(self, step: int) -> Batch:
        """Return the batch of a step, from 0."""
        rows = self._rows(step)
        rng = np.random.default_rng([self._seed, _NEGATIVES, step])
        negatives = [(row, c) for row in rows for c in self._draw(row, rng)]
        columns = [*((row, 0) for row in rows), *negatives]
        places: dict[str, int] = {}
        order = [places.setdefault(self._text(*column), len(places)) for column in columns]
        excluded = torch.zeros(len(rows), len(columns), dtype=torch.bool)
        if self._truths is not None:
            self._exclude(excluded, rows, columns, self._truths)
        return Batch(rows, list(places), torch.tensor(order), excluded)

    def _rows(self, step: int) -> np.ndarray:
        """Deal all samples in random order, again and again; no batch crosses the end."""
        per_round = len(self._samples) // self._size
        turn, place = divmod(step, per_round)
        shuffled = np.random.default_rng([self._seed, _ORDER, turn]).permutation(len(self._samples))
        return shuffled[place * self._size :][: self._size]

    def _draw(self, row: int, rng: np.random.Generator) -> list[int]:
        return draw(self._pools[row], self._recipe.hard, rng)

    def _text(self, row: int, candidate: int) -> str:
        key = row, candidate
        if key not in self._texts:
            self._texts[key] = self._samples[row].text(candidate)
        return self._texts[key]

    def _exclude(
        self,
        excluded: Tensor,
        rows: np.ndarray,
        columns: Sequence[tuple[int, int]],
        truths: Truths,
    ) -> None:
        """Mark the captions that may be true of other images than their own."""
        places = {row: place for place, row in enumerate(rows.tolist())}
        for column, (row, candidate) in enumerate(columns):
            for other in truths.images_of(self._samples[row].said(candidate)):
                if other != row and other in places:
                    excluded[places[other], column] = True


class TokenMemory:
    """Tokenises each text once."""

    def __init__(self, tokenise: Callable[[Sequence[str]], Inputs]) -> None:
        self._tokenise = tokenise
        self._rows: dict[str, Inputs] = {}

    def get(self, texts: Sequence[str]) -> Inputs:
        """Return the tokens of texts, one row each."""
        new = [text for text in dict.fromkeys(texts) if text not in self._rows]
        if new:
            found = self._tokenise(new)
            for place, text in enumerate(new):
                self._rows[text] = {name: rows[place] for name, rows in found.items()}
        rows = [self._rows[text] for text in texts]
        return {name: torch.stack([row[name] for row in rows]) for name in rows[0]}
