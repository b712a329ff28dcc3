"""The asset ``conme_self_check``: the strong model looks again at the final samples it wrote."""

import functools
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from bindbench.conme.quality import CRITERIA
from bindbench.pipeline import conme_images, conme_second_round
from bindbench.pipeline.asking import ask_all
from bindbench.pipeline.base import Context, ShardInputs, aligned, strings, table
from bindbench.pipeline.conme_cells import panel_of, split
from bindbench.pipeline.conme_images import shown
from bindbench.pipeline.conme_labels import final_samples
from bindbench.pipeline.conme_strong import (
    describe_strong,
    holding_strong,
    load_strong,
    usage_of_strong,
)
from bindbench.storage.store import Artifact
from bindbench.suite import RoleSettings, Suite

NAME = "conme_self_check"
CODE_VERSION = "1"
SCHEMA = pa.schema(
    [
        ("sample_id", pa.string()),
        ("image_id", pa.string()),
        *((name, pa.bool_()) for name in CRITERIA),  # null: the reply can't be read
        ("texts", strings()),
        ("raws", strings()),
    ]
)


@dataclass(frozen=True)
class CheckSamples:
    """Asks the strong model about a shard's final samples."""

    suite: Suite
    strong: RoleSettings

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return one row for each sample.

        Raises:
            Unfinished: a server gave no answer for some samples.
        """
        samples = final_samples(task)
        if not samples:
            return table([], SCHEMA)
        examiner, images = load_strong(self.suite, self.strong), shown(task)
        found = ask_all(
            samples,
            self.strong.batch_size,
            lambda batch: examiner.check(batch, [images[one.image_id] for one in batch]),
            lambda one: one.id,
        )
        return table(
            [
                {
                    "sample_id": sample.id,
                    "image_id": sample.image_id,
                    **{name: getattr(checked, name) for name in CRITERIA},
                    "texts": [reply.text for reply in checked.replies],
                    "raws": [reply.raw for reply in checked.replies],
                }
                for sample, checked in zip(samples, found, strict=True)
            ],
            SCHEMA,
        )


def build(context: Context, where: str) -> Artifact:
    """Build the strong model's verdicts on a set and panel."""
    name, panel = split(where)
    strong = panel_of(context.suite, panel).strong
    settings = {"code": CODE_VERSION, "strong": describe_strong(context.suite, strong)}
    inputs = {
        conme_images.NAME: context.current(conme_images.NAME, name),
        conme_second_round.NAME: context.current(conme_second_round.NAME, where),
    }
    return holding_strong(context, strong).build(
        NAME,
        where,
        SCHEMA,
        settings,
        aligned(settings, inputs),
        CheckSamples(context.suite, strong),
        functools.partial(_summary, strong=strong),
    )


def _summary(artifact: Artifact, strong: RoleSettings) -> dict[str, Any]:
    rows = artifact.read([*CRITERIA, "raws"]).to_pylist()
    said = {name: [row[name] for row in rows] for name in CRITERIA}
    found = {
        "samples": len(rows),
        "passed": {name: own.count(True) for name, own in said.items()},
        "unread": {name: own.count(None) for name, own in said.items()},
    }
    return found | usage_of_strong(strong, (raw for row in rows for raw in row["raws"]))
