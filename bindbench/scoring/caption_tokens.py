"""Which tokens of a prompt with a caption are the caption's."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Tokenize = Callable[[list[str]], list[list[int]]]


@dataclass(frozen=True)
class CaptionTokens:
    """The tokens of captions behind one prompt.

    A tokenizer may join the end of the prompt with the first letters of a caption. Scores begin at
    the first token in which any two of prompt and prompt + caption differ, for all captions alike;
    ``cut`` tokens of the prompt before it belong to the captions then.
    """

    prompt: list[int]  # the prompt alone, whole
    cut: int
    captions: list[list[int]]


def caption_tokens(tokenize: Tokenize, prompt: str, texts: Sequence[str]) -> CaptionTokens:
    """Tokenize prompt and caption jointly.

    Args:
        tokenize: without special tokens: no BOS, and no EOS that would be scored.
        prompt: what stands before the caption. Spaces at its end count as the caption's.
        texts: the captions.
    """
    (alone,) = tokenize([prompt.rstrip(" ")])
    joint = tokenize([prompt + text for text in texts])
    start = min((_common(alone, tokens) for tokens in joint), default=len(alone))
    return CaptionTokens(alone, len(alone) - start, [tokens[start:] for tokens in joint])


def _common(first: list[int], second: list[int]) -> int:
    """Return how many tokens two rows begin with in common."""
    if second[: len(first)] == first:
        return len(first)
    pairs = enumerate(zip(first, second, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(first), len(second)))
