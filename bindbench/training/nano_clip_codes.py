"""What the contrastive encoders learn at first: fixed embeddings that bind nouns and colors."""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from bindbench.training.nano_clip_data import NanoPlan, held_out_pairs
from bindbench.training.nano_clip_model import EMBEDDING

CODE_SEED, CODE_SCALE = 7, 20.0
SHORT = 8, 6  # widths of the vectors of a noun and a color that are bound


class Codes:
    """Fixed embeddings of every noun, and of every noun with every color, to learn at first.

    The code of a pair has three parts: the noun's, the color's, and one that binds the two, the
    outer product of a short vector of the noun and one of the color. Short, because then what a
    few colors teach of a noun holds for the others, and pairs that are never seen are bound too.
    """

    def __init__(self, plan: NanoPlan) -> None:
        rng = np.random.default_rng(CODE_SEED)

        def vectors(count: int, width: int) -> np.ndarray:
            rows = rng.normal(size=(count, width))
            return rows / np.linalg.norm(rows, axis=1, keepdims=True)

        nouns, colors = len(plan.nouns), len(plan.colors)
        short_noun, short_color = SHORT
        shapes, paints = vectors(nouns, short_noun), vectors(colors, short_color)
        bound = np.einsum("na,cb->ncab", shapes, paints).reshape(nouns, colors, -1)
        color_width = (EMBEDDING - bound.shape[2]) // 3
        noun = vectors(nouns, EMBEDDING - bound.shape[2] - color_width)
        table = np.zeros((nouns, colors + 1, EMBEDDING))  # the first of each noun has no color
        table[:, :, : noun.shape[1]] = noun[:, None]
        table[:, 1:, noun.shape[1] :][:, :, :color_width] = vectors(colors, color_width)
        table[:, 1:, -bound.shape[2] :] = bound
        table = table.reshape(-1, EMBEDDING)
        self._table = functional.normalize(torch.from_numpy(table).float(), dim=-1)
        self._bound = functional.normalize(self._table[:, -bound.shape[2] :], dim=-1)
        self._colors = colors
        held = held_out_pairs(plan.lexicon)
        self._held = torch.tensor(
            [(noun, color) in held for noun in plan.nouns for color in ("", *plan.colors)]
        )

    def bound_loss(self, values: Tensor, names: Tensor) -> tuple[Tensor, float]:
        """Return the cross-entropy of naming noun and color at once, and the share of right ones.

        By the binding part alone: noun and color apart would do to tell pairs from one another,
        but not to tell which belong together once several are summed up.

        Args:
            values: one for each object or word, float32 (M, D).
            names: what each is, int64 (M,), as ``Narrator`` numbers it.
        """
        bound = functional.normalize(values[:, -self._bound.shape[1] :], dim=-1)
        logits = (CODE_SCALE * bound @ self._bound.T).masked_fill(self._held, -1e4)
        loss = functional.cross_entropy(logits, names)
        return loss, (logits.argmax(-1) == names).float().mean().item()

    def loss(self, embeddings: Tensor, named: Tensor) -> tuple[Tensor, float]:
        """Return the cross-entropy of what embeddings name, and how often they name all of it.

        Args:
            embeddings: of images or texts, of length 1, float32 (B, D).
            named: what they are to name, float32 (B, F), as ``Narrator`` numbers it.
        """
        logits = CODE_SCALE * embeddings @ self._table.T
        logits = logits.masked_fill(self._held, -1e4)  # neither right nor wrong
        shares = named / named.sum(1, keepdim=True)
        loss = -(shares * logits.log_softmax(-1)).sum(-1).mean()
        least = logits.masked_fill(named == 0, torch.inf).amin(1)
        most = logits.masked_fill(named > 0, -torch.inf).amax(1)
        return loss, (least > most).float().mean().item()
