"""The asset ``conme_strong_descriptions``: what the strong model sees (ConMe, stage 1)."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from bindbench.models.base import Image, Reply
from bindbench.pipeline import conme_images
from bindbench.pipeline.asking import ask_all
from bindbench.pipeline.base import Context, ShardInputs, aligned, strings, table
from bindbench.pipeline.conme_cells import panel_of, settings_of, split
from bindbench.pipeline.conme_images import shown
from bindbench.pipeline.conme_strong import (
    describe_strong,
    holding_strong,
    load_strong,
    usage_of_strong,
)
from bindbench.storage.store import Artifact
from bindbench.suite import RoleSettings, Suite

NAME = "conme_strong_descriptions"
CODE_VERSION = "1"
SCHEMA = pa.schema(
    [
        ("image_id", pa.string()),
        ("text", pa.string()),
        ("finished", pa.bool_()),  # False: cut off at the most tokens
        ("unknown", strings()),  # words of the prompt that the model has no token for
        ("raw", pa.string()),
    ]
)


@dataclass(frozen=True)
class DescribeImages:
    """Lets the strong model describe the images of a shard."""

    suite: Suite
    strong: RoleSettings

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return one row for each image.

        Raises:
            Unfinished: a server gave no answer for some images.
        """
        examiner = load_strong(self.suite, self.strong)
        images = list(shown(task).items())

        def ask(batch: Sequence[tuple[str, Image]]) -> list[Reply]:
            keys, pixels = zip(*batch, strict=True)
            return examiner.describe(keys, pixels)

        replies = ask_all(images, self.strong.batch_size, ask, lambda one: one[0])
        rows = [
            row_of(reply) | {"image_id": key}
            for (key, _), reply in zip(images, replies, strict=True)
        ]
        return table(rows, SCHEMA)


def row_of(reply: Reply) -> dict[str, Any]:
    """Return the columns of a reply in words."""
    return {
        "text": reply.text,
        "finished": reply.finished,
        "unknown": reply.unknown,
        "raw": reply.raw,
    }


def build(context: Context, where: str) -> Artifact:
    """Build the strong model's descriptions of a set."""
    name, panel = split(where)
    strong = panel_of(context.suite, panel).strong
    settings = {
        "code": CODE_VERSION,
        "strong": describe_strong(context.suite, strong),
        "tokens": settings_of(context.suite).tokens.description,
    }
    inputs = {conme_images.NAME: context.current(conme_images.NAME, name)}
    function = DescribeImages(context.suite, strong)
    return holding_strong(context, strong).build(
        NAME,
        where,
        SCHEMA,
        settings,
        aligned(settings, inputs),
        function,
        functools.partial(_summary, strong=strong),
    )


def _summary(artifact: Artifact, strong: RoleSettings) -> dict[str, Any]:
    rows = artifact.read(["text", "finished", "raw"]).to_pylist()
    return counts_of(rows) | usage_of_strong(strong, (row["raw"] for row in rows))


def counts_of(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Count descriptions or answers, those cut off and those without a word."""
    return {
        "replies": len(rows),
        "cut_off": sum(not row["finished"] for row in rows),
        "empty": sum(not row["text"] for row in rows),
    }
