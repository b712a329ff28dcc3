"""The asset ``vocabulary``: the words of a suite, resolved."""

from dataclasses import dataclass

import pyarrow as pa

from bindbench.concepts import content_id
from bindbench.pipeline.base import UNPARTITIONED, Context, suite_lexicon, table
from bindbench.storage.datasets import Shard
from bindbench.storage.store import Artifact
from bindbench.suite import Suite
from bindbench.vocabulary import KINDS

NAME = "vocabulary"
CODE_VERSION = "1"
SCHEMA = pa.schema(
    [
        ("kind", pa.string()),
        ("vocabulary", pa.string()),
        ("name", pa.string()),
        ("entry", pa.string()),
    ]
)


@dataclass(frozen=True)
class ListWords:
    """Lists every entry with its fields as JSON."""

    suite: Suite

    def __call__(self, task: object) -> pa.Table:
        """Return one row for each entry."""
        lexicon = suite_lexicon(self.suite)
        vocabularies = {kind: getattr(lexicon, kind) for kind in KINDS}
        rows = [
            {"kind": kind, "vocabulary": v.name, "name": e.name, "entry": e.model_dump_json()}
            for kind, v in vocabularies.items()
            for e in v.entries
        ]
        return table(rows, SCHEMA)


def build(context: Context) -> Artifact:
    """Build the table of words."""
    settings = {"code": CODE_VERSION, "digest": lexicon_digest(context)}
    shard = Shard(content_id(settings), None)
    return context.build(NAME, UNPARTITIONED, SCHEMA, settings, [shard], ListWords(context.suite))


def lexicon_digest(context: Context) -> dict[str, str]:
    """Return the digest of each vocabulary."""
    return {kind: getattr(context.lexicon, kind).digest for kind in KINDS}
