"""Scores of generative models: the log-likelihood of a caption given the image and a prompt."""

from collections.abc import Mapping, Sequence

import numpy as np
from torch import Tensor

from bindbench.errors import UserError
from bindbench.models.base import ScoreRequest, Scores
from bindbench.scoring.caption_tokens import CaptionTokens
from bindbench.scoring.likelihood import Likelihood, is_out_of_memory
from bindbench.scoring.prefix import Prefix
from bindbench.scoring.reader import Reader
from bindbench.scoring.self_test import SelfTest

BlindKey = tuple[int, tuple[int, ...]]  # how many tokens of the prompt are cut; the caption


class LikelihoodScorer:
    """Scores by the sum of the log-probabilities of a caption's tokens, in nats.

    The same caption without the image is scored once as long as it is remembered; its score tells
    how much the language alone prefers it.

    Args:
        name: the model's, for messages.
        dtype: of the arithmetic.
        likelihood: the model.
        reader: writes its inputs.
        self_test: has to pass before a way of scoring is used.
        image_free: whether to score without the image too.
    """

    def __init__(
        self,
        name: str,
        dtype: str,
        likelihood: Likelihood,
        reader: Reader,
        self_test: SelfTest,
        image_free: bool = True,
    ) -> None:
        self.dtype = dtype
        self._parts = name, dtype, likelihood, reader, self_test, image_free
        self._name, self._likelihood, self._reader = name, likelihood, reader
        self._self_test, self._image_free = self_test, image_free
        self._blind: dict[BlindKey, float] = {}
        self._blind_prefixes: dict[int, Prefix] = {}
        self._used: set[str] = set()

    def fresh(self) -> "LikelihoodScorer":
        """Return a scorer of the same model that remembers nothing.

        A sum's last bits depend on the captions beside it in a pass, so that memories begin where
        the work begins. What has passed the self-test stays.
        """
        return LikelihoodScorer(*self._parts)

    @property
    def method(self) -> str:
        """How the captions of the last call were scored."""
        return f"log-likelihood by {', '.join(sorted(self._used))}; self-test passed"

    def score(self, requests: Sequence[ScoreRequest]) -> list[Scores]:
        """Return the log-likelihood of each request's texts, with and without its image.

        Raises:
            UserError: the self-test failed, or memory runs out for one image and caption.
        """
        self._used = set()
        captions = [self._reader.captions(request.texts) for request in requests]
        values = [self._shown(r, c) for r, c in zip(requests, captions, strict=True)]
        if self._image_free:
            self._remember_blind(requests, captions)
        return [
            Scores(found, np.array([len(c) for c in own.captions], np.int32), self._blind_row(own))
            for own, found in zip(captions, values, strict=True)
        ]

    def _shown(self, request: ScoreRequest, captions: CaptionTokens) -> np.ndarray:
        prefix = self._read(self._reader.with_image(request.image, captions), request.key)
        return self._sums(prefix, captions.captions, request)

    def _sums(
        self, prefix: Prefix, captions: Sequence[Sequence[int]], request: ScoreRequest
    ) -> np.ndarray:
        if not all(captions):
            raise UserError(f"{self._name}: item {request.key} holds a caption without any token.")
        method = self._likelihood.method(prefix, captions)
        self._self_test.check(method, request.image)
        self._used.add(self._likelihood.describe(method))
        return self._likelihood.sums(prefix, captions, method)

    def _remember_blind(
        self, requests: Sequence[ScoreRequest], captions: Sequence[CaptionTokens]
    ) -> None:
        """Score the captions of the batch that are new, all in one tree."""
        for cut in dict.fromkeys(own.cut for own in captions):
            new = [
                key
                for own in captions
                for key in _keys(own)
                if key[0] == cut and key not in self._blind
            ]
            if not new:
                continue
            new = list(dict.fromkeys(new))
            if cut not in self._blind_prefixes:
                one = next(own for own in captions if own.cut == cut)
                inputs = self._reader.without_image(one)
                self._blind_prefixes[cut] = self._read(inputs, "the prompt alone")
            sums = self._sums(self._blind_prefixes[cut], [tokens for _, tokens in new], requests[0])
            self._blind.update(zip(new, sums.tolist(), strict=True))

    def _blind_row(self, captions: CaptionTokens) -> np.ndarray | None:
        if not self._image_free:
            return None
        return np.array([self._blind[key] for key in _keys(captions)])

    def _read(self, inputs: Mapping[str, Tensor], key: str) -> Prefix:
        try:
            return self._likelihood.model.read_prefix(inputs)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            raise UserError(
                f"{self._name}: memory runs out for one image ({key}): use smaller images, a "
                "smaller dtype, the option quantisation, or device: auto."
            ) from error


def _keys(captions: CaptionTokens) -> list[BlindKey]:
    return [(captions.cut, tuple(tokens)) for tokens in captions.captions]
