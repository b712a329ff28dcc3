"""Confusion accuracy on the validation part, which stops a training and chooses its weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bindbench.analysis.accuracy import decide, pad
from bindbench.training.finetuning.batches import Inputs, TokenMemory
from bindbench.training.finetuning.recipe import Recipe
from bindbench.training.finetuning.samples import Sample
from bindbench.training.finetuning.towers import Towers


class Checked(NamedTuple):
    """How good a model is on the validation part; of equal accuracies the smaller loss is better.

    The loss is the mean of -log of the positive's softmax among the candidates it must beat.
    """

    accuracy: float
    loss: float

    def beats(self, other: "Checked | None") -> bool:
        """Whether this is better than another."""
        return other is None or (self.accuracy, -self.loss) > (other.accuracy, -other.loss)


@dataclass(frozen=True)
class Validation:
    """The samples, as the model reads them."""

    pixels: Inputs
    tokens: Inputs  # of distinct texts
    places: list[np.ndarray]  # for each sample: the texts of its candidates
    rivals: list[np.ndarray]  # for each sample: which of them it must beat


def validation_of(
    samples: Sequence[Sample], pixels: Inputs, memory: TokenMemory, recipe: Recipe
) -> Validation:
    """Return the validation part, with all candidates of its samples."""
    texts: dict[str, int] = {}
    places = [
        np.array([texts.setdefault(s.text(k), len(texts)) for k in range(len(s.space))])
        for s in samples
    ]
    rivals = [sample.rivals(recipe.semantics) for sample in samples]
    return Validation(pixels, memory.get(list(texts)), places, rivals)


def check(towers: Towers, validation: Validation) -> Checked:
    """Return the accuracy and the loss of a model."""
    images = towers.embeddings(towers.image_rows, validation.pixels).cpu().double().numpy()
    texts = towers.embeddings(towers.text_rows, validation.tokens).cpu().double().numpy()
    scale = float(towers.scale.detach().exp())
    scores = pad(
        [
            scale * texts[places] @ image
            for places, image in zip(validation.places, images, strict=True)
        ],
        0.0,
        np.float64,
    )
    rivals = pad(validation.rivals, False, np.bool_)
    wins = decide(scores, rivals, "float32").win
    above = np.where(rivals, scores - scores[:, :1], -np.inf)
    top = np.maximum(above.max(axis=1), 0.0)
    losses = top + np.log(np.exp(-top) + np.exp(above - top[:, None]).sum(axis=1))
    return Checked(float(wins.mean()), float(losses.mean()))
