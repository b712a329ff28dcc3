"""The asset ``paired_set``: concepts whose minimal and contextual images were both accepted."""

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from bindbench.pipeline import validated
from bindbench.pipeline.base import Context, ShardInputs, aligned, strings, table
from bindbench.storage.store import Artifact

NAME = "paired_set"
CODE_VERSION = "1"
SCHEMA = pa.schema(
    [
        ("index", pa.int64()),
        ("concept_id", pa.string()),
        ("scene_id", pa.string()),
        ("objects", strings()),
        ("labels", strings()),
    ]
)


@dataclass(frozen=True)
class PairTracks:
    """Keeps the concepts of a shard that both tracks accepted."""

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return one row for each paired concept."""
        accepted: dict[int, list[dict[str, Any]]] = {}
        for row in task.rows(validated.NAME, [*SCHEMA.names, "accepted"]):
            if row.pop("accepted"):
                accepted.setdefault(row["index"], []).append(row)
        return table([rows[0] for rows in accepted.values() if len(rows) == 2], SCHEMA)


def build(context: Context, key: str) -> Artifact:
    """Build the paired set of a benchmark."""
    settings = {"code": CODE_VERSION}
    shards = aligned(settings, {validated.NAME: context.current(validated.NAME, key)})
    return context.build(NAME, key, SCHEMA, settings, shards, PairTracks())
