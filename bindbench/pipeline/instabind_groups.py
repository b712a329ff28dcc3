"""The asset ``instabind_groups``: the rows of like things that a set asks about."""

import functools
import json
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from bindbench.concepts import content_id
from bindbench.errors import UserError
from bindbench.instabind import rows as drawn
from bindbench.instabind.rows import Row
from bindbench.pipeline.base import Context, strings, table
from bindbench.storage.datasets import Shard
from bindbench.storage.store import Artifact
from bindbench.suite import InstabindSet, InstabindSettings, Suite
from bindbench.tasks import Track
from bindbench.vocabulary_files import load_lexicon

NAME = "instabind_groups"
CODE_VERSION = "1"
SCHEMA = pa.schema(
    [
        ("index", pa.int64()),
        ("image_id", pa.string()),
        ("class_name", pa.string()),
        ("attribute", pa.string()),
        ("values", strings()),
        ("objects", strings()),
        ("labels", strings()),
        ("sizes", pa.list_(pa.float32())),
        ("track", pa.string()),
        ("caption", pa.string()),
    ]
)


def settings_of(suite: Suite) -> InstabindSettings:
    """Return a suite's settings of InstaBind.

    Raises:
        UserError: it has none.
    """
    if suite.instabind is None:
        raise UserError(f"The suite {suite.name} has no section instabind: add one with its sets.")
    return suite.instabind


def set_of(suite: Suite, name: str) -> InstabindSet:
    """Return a generated set.

    Raises:
        UserError: the suite has none of this name, or it is not generated.
    """
    sets = settings_of(suite).sets
    if name not in sets or sets[name].source != "generated":
        raise UserError(f"The suite {suite.name} has no generated set {name!r} in its instabind.")
    return sets[name]


@dataclass(frozen=True)
class DrawRows:
    """Draws the rows of one shard, given as (start, stop)."""

    suite: Suite
    name: str

    def __call__(self, task: tuple[int, int]) -> pa.Table:
        """Return the rows ``start`` to ``stop`` of the set's sequence."""
        sources = self.suite.profile.vocabularies.model_dump_json()
        chosen = set_of(self.suite, self.name)
        found = _cached(chosen.kind, chosen.groups, self.suite.seed, sources)
        start, stop = task
        return table(
            [
                _record(self.name, index, row, track)
                for index, (row, track) in enumerate(found[start:stop], start)
            ],
            SCHEMA,
        )


@functools.lru_cache(maxsize=4)
def _cached(kind: str, count: int, seed: int, sources: str) -> list[tuple[Row, Track]]:
    return drawn.rows(kind, load_lexicon(json.loads(sources)), count, seed)


def _record(name: str, index: int, row: Row, track: Track) -> dict[str, Any]:
    return {
        "index": index,
        "image_id": f"{name}_{row.id}",
        "class_name": row.class_name,
        "attribute": row.kind,
        "values": row.values,
        "objects": row.objects,
        "labels": row.labels,
        "sizes": row.sizes,
        "track": track,
        "caption": drawn.prompt(row, track),
    }


def row_of(record: dict[str, Any]) -> Row:
    """Return the row that a record of the table holds."""
    lists = {name: tuple(record[name]) for name in ("values", "objects", "labels", "sizes")}
    return Row(record["attribute"], record["class_name"], caption=record["caption"], **lists)


def build(context: Context, name: str) -> Artifact:
    """Build the rows of a set; a longer sequence keeps the shards of a shorter one."""
    suite, chosen = context.suite, set_of(context.suite, name)
    lexicon = context.lexicon
    settings = {
        "code": CODE_VERSION,
        "set": name,
        "kind": chosen.kind,
        "seed": suite.seed,
        "objects": lexicon.objects.digest,
        "shapes": lexicon.shapes.digest,
        "colors": lexicon.colors.digest,
    }
    count, size = chosen.groups, settings_of(suite).shard_size
    ranges = [(start, min(start + size, count)) for start in range(0, count, size)]
    shards = [Shard(content_id([settings, r]), r) for r in ranges]
    return context.build(NAME, name, SCHEMA, settings, shards, DrawRows(suite, name))
