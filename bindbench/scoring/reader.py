"""What writes a generative model's inputs: a processor with a prompt, as the scoring sees it."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from torch import Tensor

from bindbench.models.base import Image
from bindbench.scoring.caption_tokens import CaptionTokens


class Reader(Protocol):
    """Writes the inputs of an image and a prompt, and the tokens of captions behind them."""

    def captions(self, texts: Sequence[str]) -> CaptionTokens:
        """Return the captions' tokens behind the prompt."""
        ...

    def with_image(self, image: Image, captions: CaptionTokens) -> Mapping[str, Tensor]:
        """Return everything that the model takes; its tokens end where the captions begin."""
        ...

    def without_image(self, captions: CaptionTokens) -> Mapping[str, Tensor]:
        """Return the same prompt for a model that is shown no image."""
        ...

    def extended(
        self, inputs: Mapping[str, Tensor], caption: Sequence[int]
    ) -> Mapping[str, Tensor]:
        """Return the inputs of one plain pass over image, prompt and caption."""
        ...
