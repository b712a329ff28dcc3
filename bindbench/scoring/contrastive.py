"""Scores of models that embed images and texts apart: their own similarity of the two."""

import hashlib
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from bindbench.errors import UserError
from bindbench.models.base import Image, ScoreRequest, Scores
from bindbench.scoring.checked import remedy
from bindbench.scoring.embeddings import EmbeddingCache

TEXT_MEGABYTES = 256
IMAGE_MEGABYTES = 32


class Encoders(Protocol):
    """An image encoder and a text encoder with one space of embeddings."""

    name: str  # for messages
    dtype: str  # of the arithmetic
    scale: float  # the similarity is scale * cosine

    def encode_images(self, images: Sequence[Image]) -> np.ndarray:
        """Return embeddings of length 1, float32 (images, D)."""
        ...

    def encode_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Return embeddings of length 1, float32 (texts, D)."""
        ...


class ContrastiveScorer:
    """Scores by the model's similarity: scaled cosine, before any bias.

    Equal images and equal texts are encoded once as long as they are remembered, which is by
    content: two items that share a caption share its embedding, whatever the batch.
    """

    method = "similarity"

    def __init__(
        self,
        encoders: Encoders,
        text_megabytes: float = TEXT_MEGABYTES,
        image_megabytes: float = IMAGE_MEGABYTES,
    ) -> None:
        self._encoders = encoders
        self._megabytes = text_megabytes, image_megabytes
        self._texts = EmbeddingCache(text_megabytes)
        self._images = EmbeddingCache(image_megabytes)

    def fresh(self) -> "ContrastiveScorer":
        """Return a scorer of the same model that remembers nothing.

        What a batch holds can change the last bit of an embedding, so that scores are the same
        whatever was computed before only if memories begin where the work begins.
        """
        return ContrastiveScorer(self._encoders, *self._megabytes)

    @property
    def encoders(self) -> Encoders:
        """The model."""
        return self._encoders

    @property
    def dtype(self) -> str:
        """The arithmetic's dtype."""
        return self._encoders.dtype

    @property
    def scale(self) -> float:
        """What the cosine is multiplied with."""
        return self._encoders.scale

    @property
    def remembered(self) -> int:
        """How many images and texts have an embedding that is kept."""
        return len(self._images) + len(self._texts)

    def score(self, requests: Sequence[ScoreRequest]) -> list[Scores]:
        """Return scale * cosine of each request's image and texts, float64 (texts,).

        Raises:
            UserError: an embedding is not finite.
        """
        images = self._image_rows(requests)
        texts = [text for request in requests for text in request.texts]
        table, rows = self._texts.get(texts, lambda new: self._encode_texts(texts, new))
        scores, start = [], 0
        for request, image in zip(requests, images, strict=True):
            own = table[rows[start : start + len(request.texts)]]
            # In float64, so that a score does not depend on how many there are beside it.
            cosines = own.astype(np.float64) @ image.astype(np.float64)
            scores.append(Scores(self._encoders.scale * cosines))
            start += len(request.texts)
        return scores

    def _image_rows(self, requests: Sequence[ScoreRequest]) -> np.ndarray:
        keys = [_digest(request.image) for request in requests]

        def encode(new: list[int]) -> np.ndarray:
            rows = self._encoders.encode_images([requests[i].image for i in new])
            self._check(rows, [f"the image of item {requests[i].key}" for i in new])
            return rows

        table, rows = self._images.get(keys, encode)
        return table[rows]

    def _encode_texts(self, texts: Sequence[str], new: list[int]) -> np.ndarray:
        rows = self._encoders.encode_texts([texts[i] for i in new])
        self._check(rows, [f"the caption {texts[i]!r}" for i in new])
        return rows

    def _check(self, rows: np.ndarray, names: Sequence[str]) -> None:
        broken = ~np.isfinite(rows).all(axis=1)
        if broken.any():
            raise UserError(
                f"{self._encoders.name} gave an embedding with NaN or infinity for "
                f"{names[int(np.argmax(broken))]} in {self.dtype}: {remedy(self.dtype)}."
            )


def _digest(image: Image) -> bytes:
    shape = repr((image.shape, str(image.dtype))).encode()
    return hashlib.sha256(shape + np.ascontiguousarray(image).tobytes()).digest()
