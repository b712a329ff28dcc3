"""The asset ``instabind_annotations``: the images of a set with their groups, wherever from."""

from dataclasses import dataclass

import pyarrow as pa

from bindbench.pipeline import instabind_images, instabind_validated
from bindbench.pipeline.base import Context, ShardInputs, aligned, table
from bindbench.pipeline.instabind_groups import settings_of
from bindbench.storage.schema import IMAGE
from bindbench.storage.store import Artifact

NAME = "instabind_annotations"
CODE_VERSION = "1"
SCHEMA = pa.schema(
    [
        ("image_id", pa.string()),
        ("picture", pa.string()),  # JSON of annotations.Picture
        ("image", IMAGE),
    ]
)


@dataclass(frozen=True)
class KeepAccepted:
    """Keeps the images of a shard that show their row."""

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return one row for each accepted image; there may be none."""
        verdicts = task.rows(instabind_validated.NAME, ["image_id", "picture", "accepted"])
        images = task.rows(instabind_images.NAME, ["image"])
        kept = [
            {**verdict, **image}
            for verdict, image in zip(verdicts, images, strict=True)
            if verdict.pop("accepted")
        ]
        return table(kept, SCHEMA)


def build(context: Context, name: str) -> Artifact:
    """Build the annotated images of a set."""
    if settings_of(context.suite).sets[name].source == "file":
        from bindbench.pipeline import instabind_files

        return instabind_files.build(context, name)
    settings = {"code": CODE_VERSION}
    inputs = {
        asset: context.current(asset, name)
        for asset in (instabind_validated.NAME, instabind_images.NAME)
    }
    return context.build(NAME, name, SCHEMA, settings, aligned(settings, inputs), KeepAccepted())
