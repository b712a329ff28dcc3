"""The asset ``alignment``: how close an encoder finds each image and its caption, accepted or not.

It is built only where the profile names an encoder. CLIPScore and the semantic diversity of
captions are computed from its rows (Auto-Comp, A.7); it decides nothing.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.pipeline import concept_set, images
from bindbench.pipeline.base import Context, ShardInputs, aligned, batches, fresh, table
from bindbench.storage.store import Artifact
from bindbench.suite import RoleSettings, Suite

NAME = "alignment"
CODE_VERSION = "1"
SCHEMA = pa.schema(
    [
        ("index", pa.int64()),
        ("concept_id", pa.string()),
        ("scene_id", pa.string()),
        ("track", pa.string()),
        ("caption", pa.string()),
        ("cosine", pa.float64()),  # of image and caption
        ("embedding", pa.list_(pa.float32())),  # of the caption, of length 1
    ]
)


@dataclass(frozen=True)
class Align:
    """Embeds the images and captions of a shard."""

    suite: Suite
    encoder: RoleSettings

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return one row for each image."""
        scorer = registry.load("scorer", self.encoder, self.suite.profile.vocabularies)
        scenes = {r["index"]: r["scene_id"] for r in task.rows(concept_set.NAME)}
        rows = task.rows(images.NAME, ["index", "concept_id", "track", "caption", "image"])
        out: list[dict[str, Any]] = []
        for batch in batches(rows, self.encoder.batch_size):
            pixels = [images.decode_png(row.pop("image")["bytes"]) for row in batch]
            seen = scorer.encoders.encode_images(pixels)
            read = scorer.encoders.encode_texts([row["caption"] for row in batch])
            self._check(seen, read)
            for row, image, text in zip(batch, seen, read, strict=True):
                cosine = float(image.astype(np.float64) @ text.astype(np.float64))
                found = {"cosine": cosine, "embedding": text.tolist()}
                out.append(row | {"scene_id": scenes[row["index"]]} | found)
        return table(out, SCHEMA)

    def _check(self, *embeddings: np.ndarray) -> None:
        if not all(np.isfinite(rows).all() for rows in embeddings):
            raise UserError(
                f"The encoder {self.encoder.model} gave an embedding with NaN or infinity: set its "
                "dtype to bfloat16 or float32."
            )


def encoder_of(suite: Suite) -> RoleSettings:
    """Return the settings of a suite's encoder.

    Raises:
        UserError: it has none, or one without a text tower.
    """
    settings = suite.profile.faithfulness.encoder
    if settings is None:
        raise UserError(
            f"Suite {suite.name} has no encoder: name one as faithfulness.encoder in its profile."
        )
    name, _, options = registry.named("scorer", settings)
    if not registry.is_contrastive(name, options):
        raise UserError(
            f"Suite {suite.name}: faithfulness.encoder {name} embeds no texts: name a contrastive "
            "model, such as nano:clip or one of open_clip."
        )
    return settings


def build(context: Context, key: str) -> Artifact:
    """Build the closeness of a benchmark's images and captions."""
    encoder = encoder_of(context.suite)
    settings = _settings(encoder)
    shards = aligned(settings, {name: context.current(name, key) for name in _INPUTS})
    context = context.holding("scorer", encoder)
    return context.build(NAME, key, SCHEMA, settings, shards, Align(context.suite, encoder))


def current(context: Context, key: str) -> Artifact | None:
    """Return what is built of a benchmark, if it is of its images and the encoder as they are."""
    encoder = context.suite.profile.faithfulness.encoder
    return fresh(context, NAME, key, _settings(encoder), _INPUTS) if encoder else None


_INPUTS = (images.NAME, concept_set.NAME)


def _settings(encoder: RoleSettings) -> dict[str, Any]:
    return {"code": CODE_VERSION, "encoder": registry.describe("scorer", encoder)}
