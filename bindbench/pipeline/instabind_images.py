"""The asset ``instabind_images``: one image for each row of like things."""

import json
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.models.base import GeneratedImage, ImageRequest
from bindbench.pipeline import instabind_groups
from bindbench.pipeline.base import Context, ShardInputs, aligned, batches, seed_of, table
from bindbench.pipeline.images import encode_png
from bindbench.pipeline.instabind_groups import row_of, set_of
from bindbench.storage.schema import IMAGE
from bindbench.storage.store import Artifact
from bindbench.suite import Suite

NAME = "instabind_images"
CODE_VERSION = "1"
SCHEMA = pa.schema(
    [
        ("index", pa.int64()),
        ("image_id", pa.string()),
        ("caption", pa.string()),
        ("image", IMAGE),
        ("seed", pa.int64()),
        ("truth", pa.string()),
    ]
)


@dataclass(frozen=True)
class MakeRowImages:
    """Makes the images of a shard, batch by batch."""

    suite: Suite
    name: str

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return one row for each group."""
        settings = self.suite.profile.generator
        generator = registry.load("generator", settings, self.suite.profile.vocabularies)
        out = []
        for batch in batches(task.rows(instabind_groups.NAME), settings.batch_size):
            requests = [self._request(row) for row in batch]
            made = generator.generate(requests)
            out += [_record(*parts) for parts in zip(batch, requests, made, strict=True)]
        return table(out, SCHEMA)

    def _request(self, record: dict[str, Any]) -> ImageRequest:
        row = row_of(record)
        seed = seed_of(self.suite.seed, "row", record["index"], record["image_id"])
        return ImageRequest(row.concept, record["caption"], record["track"], seed, row.sizes)


def _record(row: dict[str, Any], request: ImageRequest, made: GeneratedImage) -> dict[str, Any]:
    return {
        "index": row["index"],
        "image_id": row["image_id"],
        "caption": row["caption"],
        "image": {"bytes": encode_png(made.image), "path": f"{row['image_id']}.png"},
        "seed": request.seed,
        "truth": json.dumps(made.truth, sort_keys=True),
    }


def build(context: Context, name: str) -> Artifact:
    """Build the images of a set.

    Raises:
        UserError: rows of materials for the ray tracer, which draws colors, shapes and sizes.
    """
    generator = context.suite.profile.generator
    if set_of(context.suite, name).kind == "material" and generator.model.startswith("mitsuba:"):
        raise UserError(
            f"The set {name} differs in material, which {generator.model} can't draw: take a "
            "text-to-image generator, or one of the kinds color, shape and size."
        )
    context = context.holding("generator", generator)
    settings = {
        "code": CODE_VERSION,
        "seed": context.suite.seed,
        "generator": registry.describe("generator", generator),
        "objects": context.lexicon.objects.digest,
        "shapes": context.lexicon.shapes.digest,
        "colors": context.lexicon.colors.digest,
    }
    inputs = {instabind_groups.NAME: context.current(instabind_groups.NAME, name)}
    shards = aligned(settings, inputs)
    return context.build(NAME, name, SCHEMA, settings, shards, MakeRowImages(context.suite, name))
