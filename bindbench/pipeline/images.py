"""The asset ``images``: one image for each caption that passed."""

import io
import json
from collections.abc import Sequence
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
from bindbench.tasks import TRACKS, Track, get_benchmark

NAME = "images"
FIRST_IMAGES, FIRST_CHECKS = "first_images", "first_checks"  # assets, where only pairs are wanted
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
    tracks: tuple[Track, ...] = TRACKS

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return one row for each caption that passed, but for pairs that are lost already.

        Where only pairs are wanted, the first track is made and checked by now, and the other one
        is made for the concepts that it was accepted for.
        """
        rows = [
            row
            for row in task.rows(captions.NAME)
            if row["verdict"] == "pass" and row["track"] in self.tracks
        ]
        made: dict[tuple[int, str], dict[str, Any]] = {}
        if FIRST_IMAGES in task.artifacts:
            made = {(row["index"], row["track"]): row for row in task.rows(FIRST_IMAGES)}
            checked = task.rows(FIRST_CHECKS, ["index", "accepted"])
            alive = {row["index"] for row in checked if row["accepted"]}
            rows = [
                row for row in rows if (row["index"], row["track"]) in made or row["index"] in alive
            ]
        self._make([row for row in rows if (row["index"], row["track"]) not in made], made)
        return table([made[row["index"], row["track"]] for row in rows], SCHEMA)

    def _make(
        self, rows: Sequence[dict[str, Any]], made: dict[tuple[int, str], dict[str, Any]]
    ) -> None:
        """Add the images of these captions to ``made``."""
        settings = self.suite.profile.generator
        generator = registry.load("generator", settings, self.suite.profile.vocabularies)
        for batch in batches(rows, settings.batch_size):
            requests = [self._request(row) for row in batch]
            images = generator.generate(requests)
            for row, request, image in zip(batch, requests, images, strict=True):
                made[row["index"], row["track"]] = _row(row, request, image)

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


def settings_of(context: Context, key: str) -> dict[str, Any]:
    """Return what decides a benchmark's images, beside their captions."""
    return {
        "code": CODE_VERSION,
        "seed": context.suite.seed,
        "generator": registry.describe("generator", context.suite.profile.generator),
        "nouns": context.lexicon.nouns(get_benchmark(key).task).digest,
        "labels": context.lexicon.labels(get_benchmark(key).task).digest,
        "colors": context.lexicon.colors.digest,
    }


def build(context: Context, key: str) -> Artifact:
    """Build the images of a benchmark."""
    settings = settings_of(context, key)
    first = (FIRST_IMAGES, FIRST_CHECKS) if context.suite.pairs_only else ()
    shards = aligned(
        settings, {name: context.current(name, key) for name in (captions.NAME, *first)}
    )
    context = context.holding("generator", context.suite.profile.generator)
    return context.build(NAME, key, SCHEMA, settings, shards, MakeImages(context.suite, key))
