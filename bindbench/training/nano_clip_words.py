"""The words of captions that name an object with its color, for the text encoder to bind."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.func import functional_call
from torch.nn import functional

from bindbench.models.open_clip_text import needed_lengths
from bindbench.training.nano_clip_data import NanoPlan
from bindbench.training.nano_clip_model import END_ID, PAD_ID

Tokenizer = Callable[[list[str]], Tensor]


class Words:
    """Finds, in tokenized captions, the last token of each noun that stands after its color."""

    def __init__(self, tokenizer: Tokenizer, plan: NanoPlan) -> None:
        def spelled(text: str) -> str:
            ids = tokenizer([text])[0].tolist()
            return _spelled([k for k in ids if k not in (PAD_ID, END_ID)])

        self._colors = [spelled(color) for color in plan.colors]
        self._nouns = [spelled(noun) for noun in plan.nouns]

    def find(self, tokens: Tensor, claims: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return row, position and number of each claimed noun with a color, int64 (M,) each.

        Args:
            tokens: of captions, int64 (B, context length).
            claims: what they name, (B, F), as ``Narrator`` numbers it.
        """
        captions = [_spelled(row) for row in tokens.tolist()]
        found = []
        for row, name in claims.nonzero().tolist():
            noun, color = divmod(name, len(self._colors) + 1)
            if color:
                words = self._colors[color - 1] + self._nouns[noun]
                start = captions[row].index(words)
                found.append((row, captions[row][: start + len(words)].count(" ") - 1, name))
        rows, positions, names = torch.tensor(found).T
        return rows, positions, names


def _spelled(ids: list[int]) -> str:
    return "".join(f"{k} " for k in ids)


def text_and_words(model: torch.nn.Module, tokens: Tensor) -> tuple[Tensor, Tensor]:
    """Return the embeddings of texts, of length 1, (B, D), and those of their tokens, (B, T, D).

    A token's is what the text's would be if the text ended there; T is as long as needed.
    """
    text = model.text
    assert isinstance(text, torch.nn.Module)
    length = int(needed_lengths(model, tokens).max())
    short = {
        "positional_embedding": text.positional_embedding[:length],  # type: ignore[index]
        "attn_mask": text.attn_mask[:length, :length],  # type: ignore[index]
    }
    text.output_tokens = True  # type: ignore[assignment]
    try:
        pooled, states = functional_call(text, short, (tokens[:, :length],))
    finally:
        text.output_tokens = False  # type: ignore[assignment]
    return functional.normalize(pooled, dim=-1), states @ text.text_projection  # type: ignore[operator]
