"""The test before a run: fast scores against plain ones, in float32, and scores against the image.

A mask that is ignored, a position that is off by one or a token type that is left out raises no
error in a model: it gives other numbers. In bfloat16 they drown in rounding (an error of one
position costs 0.02-0.3 nats), so that the test runs in float32 whatever the run does.
"""

from collections.abc import Callable
from itertools import product

import numpy as np

from bindbench.errors import UserError
from bindbench.models.base import Image
from bindbench.scoring.caption_tokens import CaptionTokens
from bindbench.scoring.likelihood import Likelihood, Method, is_out_of_memory
from bindbench.scoring.prefix import PrefixModel
from bindbench.scoring.prefix_tree import grow_tree, token_rows
from bindbench.scoring.reader import Reader

TOLERANCE = 2e-3  # nats, of a caption: above float32's rounding and below any mistake
COLORS = ("red", "blue", "green")
CAPTIONS = (
    *(f"a {a} cup, and a {b} chair on a white background." for a, b in product(COLORS, COLORS)),
    *("a chair.", "two lamps are to the left of a table"),
)


class SelfTest:
    """Tests each way of scoring once, before it is used.

    Args:
        name: the model's, for messages.
        reader: writes its inputs.
        in_float32: returns the model, or as much of it as has all its parts, in float32.
    """

    def __init__(self, name: str, reader: Reader, in_float32: Callable[[], PrefixModel]) -> None:
        self._name, self._reader, self._in_float32 = name, reader, in_float32
        self._passed: set[Method] = set()

    def check(self, method: Method, image: Image) -> None:
        """Return if this way of scoring has passed or does now.

        Raises:
            UserError: its scores are not those of one pass per caption, or don't depend on the
                image; or memory runs out.
        """
        if method in self._passed:
            return
        try:
            self._test(method, image)
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            raise UserError(
                f"{self._name}: memory runs out in the self-test, which reads one image in float32 "
                "with a few layers of the model: use smaller images, or a device with more memory."
            ) from error
        self._passed.add(method)

    def _test(self, method: Method, image: Image) -> None:
        captions = self._reader.captions(CAPTIONS)
        model = self._in_float32()
        scores = self._scores(model, method, image, captions)
        self._compare(model, method, image, captions, scores)
        other = ((image.astype(np.int32) + 128) % 256).astype(np.uint8)
        change = np.abs(self._scores(model, method, other, captions) - scores).max()
        if not change > TOLERANCE:
            raise UserError(
                f"{self._name}: the self-test failed: another image changes no score (by "
                f"{change:.1g} nats at most): check that the checkpoint holds its image encoder."
            )

    def _scores(
        self, model: PrefixModel, method: Method, image: Image, captions: CaptionTokens
    ) -> np.ndarray:
        nodes = len(grow_tree(token_rows(sorted(captions.captions))).tokens)
        likelihood = Likelihood(model, self._name, pack_nodes=nodes // 2)  # two packs or more
        prefix = model.read_prefix(self._reader.with_image(image, captions))
        return likelihood.sums(prefix, captions.captions, method)

    def _compare(
        self,
        model: PrefixModel,
        method: Method,
        image: Image,
        captions: CaptionTokens,
        scores: np.ndarray,
    ) -> None:
        inputs = self._reader.with_image(image, captions)
        for tokens, score in zip(captions.captions, scores, strict=True):
            plain = model.in_one_pass(self._reader.extended(inputs, tokens), len(tokens))
            if not abs(score - plain) <= TOLERANCE:
                raise UserError(
                    f"{self._name}: the self-test failed: a caption scores {score:.4f} by "
                    f"{method} and {plain:.4f} by one pass, in float32 (at most {TOLERANCE} nats "
                    "apart are right): try the option attention, or another version of "
                    "transformers."
                )
