"""The asset ``conme_target_descriptions``: what the targets see (ConMe, stage 2)."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from bindbench.conme.asking import describe_requests
from bindbench.pipeline import conme_images
from bindbench.pipeline.base import Context, ShardInputs, strings, table
from bindbench.pipeline.conme_cells import settings_of, split, targets_of
from bindbench.pipeline.conme_images import shown
from bindbench.pipeline.conme_strong_descriptions import counts_of, row_of
from bindbench.pipeline.conme_targets import Interleave, Stage, load_target, usage_by_target
from bindbench.storage.store import Artifact
from bindbench.suite import RoleSettings, Suite

NAME = "conme_target_descriptions"
CODE_VERSION = "1"
SCHEMA = pa.schema(
    [
        ("image_id", pa.string()),
        ("model", pa.string()),
        ("text", pa.string()),
        ("finished", pa.bool_()),  # False: cut off at the most tokens
        ("unknown", strings()),  # words of the prompt that the model has no token for
        ("raw", pa.string()),
    ]
)


@dataclass(frozen=True)
class DescribeByTarget:
    """Lets a target describe the images of a shard."""

    suite: Suite
    name: str
    settings: RoleSettings

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return one row for each image.

        Raises:
            Unfinished: a server gave no answer for some images.
        """
        images, most = shown(task), settings_of(self.suite).tokens.description
        target = load_target(self.suite, self.name, self.settings)
        replies = target.reply(describe_requests(images, target.wording, most))
        rows = [
            row_of(reply) | {"image_id": key, "model": self.name}
            for key, reply in zip(images, replies, strict=True)
        ]
        return table(rows, SCHEMA)


def build(context: Context, where: str) -> Artifact:
    """Build the targets' descriptions of a set."""
    settings = {"code": CODE_VERSION, "tokens": settings_of(context.suite).tokens.description}
    inputs = {conme_images.NAME: context.current(conme_images.NAME, split(where)[0])}
    stage = Stage(NAME, where, settings, inputs, targets_of(context.suite, where))
    parts = stage.ask(context, SCHEMA, functools.partial(DescribeByTarget, context.suite))
    summary = functools.partial(summarize, targets=stage.targets)
    return stage.join(context, SCHEMA, parts, Interleave(tuple(parts), SCHEMA), summary)


def summarize(artifact: Artifact, targets: Mapping[str, RoleSettings]) -> dict[str, Any]:
    """Count the replies of each target, and what they took of its server."""
    rows = artifact.read(["model", "text", "finished", "raw"]).to_pylist()
    counts = {name: counts_of([row for row in rows if row["model"] == name]) for name in targets}
    return {"models": counts} | usage_by_target(targets, ((r["model"], r["raw"]) for r in rows))
