"""Many texts behind one image: what a batch costs is hardly more than its images.

The image's tokens come once; each text sees them and itself, at the positions that it would have
were it alone. A text from which the image is hidden sees the first token and itself. Texts are put
into chunks, so that attention is computed between a chunk's tokens and not between all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import AttentionInterface

from bindbench.training.nano_vlm_questions import CAPTION_WEIGHT, FRAME_WEIGHT, Text
from bindbench.training.nano_vlm_text import EOS, PAD, joined

IGNORED = -100
HINT_WEIGHT = 1.0
CHUNK = 48  # tokens of a chunk, if no text is longer
UNSEEN = -3e4  # added to the scores of what may not be seen; finite in bfloat16
ATTENTION = "bindbench_packed"


@dataclass(frozen=True)
class Packed:
    """The texts of B images, in C chunks of M tokens each."""

    ids: Tensor  # int64 (B, C, M)
    positions: Tensor  # int64 (B, C, M)
    texts: Tensor  # int64 (B, C, M): which text a token is of, from 1; 0: padding
    blind: Tensor  # bool (B, C, M): the token does not see the image
    labels: Tensor  # int64 (B, C, M): the next token, IGNORED where it is not asked for
    weights: Tensor  # float32 (B, C, M): of the labels

    def bias(self, prefix: int) -> Tensor:
        """Return what is added to scores, float32 (B, 1, C, M, prefix + M): prefix, then chunk."""
        size = self.ids.shape[-1]
        own = self.texts[..., :, None] == self.texts[..., None, :]
        own = own & torch.ones(size, size, dtype=torch.bool).tril()
        image = (~self.blind)[..., None].expand(*self.blind.shape, prefix - 1)
        seen = torch.cat([torch.ones_like(image[..., :1]), image, own], -1)
        return torch.zeros(seen.shape).masked_fill(~seen, UNSEEN)[:, None]


def packed_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float,
    *,
    bias: Tensor,
    **_: Any,
) -> tuple[Tensor, None]:
    """Attention as transformers calls it, for an image's prefix and the chunks behind it.

    Args:
        module: the layer.
        query: (B, H, T, D), T = prefix + C * M.
        key: as ``query``.
        value: as ``query``.
        attention_mask: ignored; ``bias`` says all.
        scaling: of the scores.
        bias: that of ``Packed``.
    """
    count, heads, _total, width = query.shape
    chunks, size = bias.shape[2:4]
    prefix = bias.shape[-1] - size

    def halves(x: Tensor) -> tuple[Tensor, Tensor]:
        return x[:, :, :prefix], x[:, :, prefix:].reshape(count, heads, chunks, size, width)

    (q0, q), (k0, k), (v0, v) = halves(query * scaling), halves(key), halves(value)
    causal = torch.full((prefix, prefix), UNSEEN).triu(1)
    first = (q0 @ k0.transpose(2, 3) + causal.to(q0.dtype)).softmax(-1) @ v0
    flat = q.reshape(count, heads, chunks * size, width)
    to_prefix = (flat @ k0.transpose(2, 3)).view(count, heads, chunks, size, prefix)
    scores = torch.cat([to_prefix, q @ k.transpose(3, 4)], -1) + bias.to(q.dtype)
    shares = scores.softmax(-1)
    of_prefix = shares[..., :prefix].reshape(count, heads, chunks * size, prefix) @ v0
    of_chunk = (shares[..., prefix:] @ v).view(count, heads, chunks * size, width)
    found = torch.cat([first, of_prefix + of_chunk], 2)
    return found.transpose(1, 2).contiguous(), None


AttentionInterface.register(ATTENTION, packed_attention)  # type: ignore[arg-type]


class Packer:
    """Packs texts.

    Args:
        tokenizer: that of the model.
        content: the words of captions that count fully.
        image_tokens: how many tokens stand for the image.
    """

    def __init__(self, tokenizer: Any, content: frozenset[str], image_tokens: int) -> None:
        self._tokenizer, self._image_tokens = tokenizer, image_tokens
        self._vocabulary: dict[str, int] = tokenizer.get_vocab()
        self._content = {self._vocabulary[w] for w in content if w in self._vocabulary}
        self._known: dict[str, list[int]] = {}

    def pack(self, texts: Sequence[Sequence[Text]]) -> Packed:
        """Pack the texts of each image of a batch."""
        columns = [
            [self._columns(text, number) for number, text in enumerate(own, 1)] for own in texts
        ]
        lengths = [len(text[0]) for own in columns for text in own]
        size = max(CHUNK, -(-max(lengths, default=0) // 8) * 8)
        filled = [_chunks(own, size) for own in columns]
        count = max(1, *(len(chunks) for chunks in filled))
        fields = []
        for field, fill in enumerate((PAD, 0, 0, False, IGNORED, 0.0)):
            rows = []
            for chunks in filled:
                lines = [[x for text in chunk for x in text[field]] for chunk in chunks]
                lines += [[]] * (count - len(lines))
                rows.append([line + [fill] * (size - len(line)) for line in lines])
            fields.append(torch.tensor(rows))
        return Packed(*fields)

    def ids_of(self, words: Sequence[str]) -> list[int]:
        """Return the ids of tokens, or of the names that are one token each."""
        return [self._vocabulary[joined(word)] for word in words]

    def _ids(self, text: str) -> list[int]:
        """Return the token ids of a prompt or an answer; short ones are remembered."""
        if len(text) > 60:
            return self._tokenizer(text, add_special_tokens=False)["input_ids"]
        if text not in self._known:
            self._known[text] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return self._known[text]

    def _columns(self, text: Text, number: int) -> tuple[list, ...]:
        prompt, answer = self._ids(text.prompt), [*self._ids(text.answer), EOS]
        first = not prompt  # no token of its own asks for the first label then
        tokens = [*prompt, *answer]
        labels = [*([IGNORED] * (len(prompt) - 1)), *answer[first:], IGNORED]
        weights = self._weights(text, labels)
        if text.hint:
            at = prompt.index(self._vocabulary[joined(text.hint[0])])
            if labels[at] == IGNORED:
                labels[at] = self._vocabulary[joined(text.hint[1])]
                weights[at] = HINT_WEIGHT
        start = 1 if text.blind else 1 + self._image_tokens
        count = len(tokens)
        positions = list(range(start, start + count))
        return tokens, positions, [number] * count, [text.blind] * count, labels, weights

    def _weights(self, text: Text, labels: list[int]) -> list[float]:
        if not text.caption:
            return [float(label != IGNORED) for label in labels]
        plain = [
            0.0 if label == IGNORED else 1.0 if label in self._content else FRAME_WEIGHT
            for label in labels
        ]
        return [CAPTION_WEIGHT * weight / sum(plain) for weight in plain]


def _chunks(texts: Sequence[tuple[list, ...]], size: int) -> list[list[tuple[list, ...]]]:
    """Put texts into chunks of at most ``size`` tokens: the longest first, where they fit first."""
    chunks: list[list[tuple[list, ...]]] = []
    free: list[int] = []
    for text in sorted(texts, key=lambda text: -len(text[0])):
        length = len(text[0])
        at = next((k for k, space in enumerate(free) if space >= length), None)
        if at is None:
            at = len(chunks)
            chunks.append([])
            free.append(size)
        chunks[at].append(text)
        free[at] -= length
    return chunks
