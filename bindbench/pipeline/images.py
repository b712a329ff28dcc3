"""The asset ``images``: one image for each caption that passed."""

import io
import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from PIL import Image as PILImage

from bindbench.concepts import Concept
from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.models.base import GeneratedImage, ImageRequest
from bindbench.pipeline import captions
from bindbench.pipeline.base import Context, ShardInputs, aligned, batches, seed_of, table
from bindbench.storage.store import Artifact
from bindbench.suite import Suite
from bindbench.tasks import get_benchmark

NAME = "images"
CODE_VERSION = "1"
SCHEMA = pa.schema(
    [
        ("index", pa.int64()),
        ("concept_id", pa.string()),
        ("track", pa.string()),
        ("caption", pa.string()),
        ("image", pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
        ("seed", pa.int64()),
        ("truth", pa.string()),
    ]
)


@dataclass(frozen=True)
class MakeImages:
    """Makes the images of a shard, batch by batch."""

    suite: Suite
    key: str

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return one row for each caption that passed."""
        settings = self.suite.profile.generator
        generator = registry.load("generator", settings, self.suite.profile.vocabularies)
        rows = [row for row in task.rows(captions.NAME) if row["verdict"] == "pass"]
        out = []
        for batch in batches(rows, settings.batch_size):
            requests = [self._request(row) for row in batch]
            made = generator.generate(requests)
            out += [_row(*parts) for parts in zip(batch, requests, made, strict=True)]
        return table(out, SCHEMA)

    def _request(self, row: dict[str, Any]) -> ImageRequest:
        concept = Concept(
            get_benchmark(self.key).task.name, tuple(row["objects"]), tuple(row["labels"])
        )
        seed = seed_of(self.suite.seed, "image", row["index"], row["concept_id"], row["track"])
        return ImageRequest(concept, row["text"], row["track"], seed)


def _row(row: dict[str, Any], request: ImageRequest, made: GeneratedImage) -> dict[str, Any]:
    return {
        "index": row["index"],
        "concept_id": row["concept_id"],
        "track": row["track"],
        "caption": row["text"],
        "image": {
            "bytes": encode_png(made.image),
            "path": f"{row['concept_id']}-{row['track']}.png",
        },
        "seed": request.seed,
        "truth": json.dumps(made.truth, sort_keys=True),
    }


def encode_png(image: np.ndarray) -> bytes:
    """Return an RGB array (height, width, 3) as PNG bytes."""
    buffer = io.BytesIO()
    PILImage.fromarray(image).save(buffer, format="PNG", compress_level=6)
    return buffer.getvalue()


def decode_png(data: bytes) -> np.ndarray:
    """Return the RGB array (height, width, 3) of an encoded image.

    Raises:
        UserError: the bytes are no image, or a damaged one.
    """
    try:
        return np.asarray(PILImage.open(io.BytesIO(data)).convert("RGB"))
    except (OSError, SyntaxError, ValueError) as error:  # SyntaxError: a broken PNG chunk
        reason = str(error).splitlines()[0].rstrip(".")
        raise UserError(
            f"An image of {len(data)} bytes can't be decoded ({reason}): the column image of the "
            "images must hold whole PNG or JPEG files, so make or import them again."
        ) from error


def build(context: Context, key: str) -> Artifact:
    """Build the images of a benchmark."""
    generator = context.suite.profile.generator
    context = context.holding("generator", generator)
    settings = {
        "code": CODE_VERSION,
        "seed": context.suite.seed,
        "generator": registry.describe("generator", generator),
        "nouns": context.lexicon.nouns(get_benchmark(key).task).digest,
        "labels": context.lexicon.labels(get_benchmark(key).task).digest,
        "colors": context.lexicon.colors.digest,
    }
    shards = aligned(settings, {captions.NAME: context.current(captions.NAME, key)})
    return context.build(NAME, key, SCHEMA, settings, shards, MakeImages(context.suite, key))
