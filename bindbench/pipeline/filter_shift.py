"""The asset ``filter_shift``: how far the checks moved labels and objects from the target prior."""

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from bindbench.analysis.filter_shift import Mentions, Shift, filter_shift
from bindbench.pipeline import concept_set, paired_set, validated
from bindbench.pipeline.base import Context, ShardInputs, suite_lexicon, table, whole
from bindbench.storage.store import Artifact
from bindbench.suite import Suite
from bindbench.tasks import TRACKS, get_benchmark

NAME = "filter_shift"
CODE_VERSION = "1"
SCHEMA = pa.schema(
    [
        ("benchmark", pa.string()),
        ("track", pa.string()),
        ("measure", pa.string()),
        ("value", pa.float64()),
        ("null_low", pa.float64()),
        ("null_high", pa.float64()),
        ("sampled", pa.float64()),
        ("excess", pa.float64()),
        ("mentions", pa.int64()),
    ]
)


@dataclass(frozen=True)
class MeasureShift:
    """Compares the accepted concepts of each track, and the paired ones, with the target."""

    suite: Suite
    key: str

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return one row for each track (or the paired set) and measure (Auto-Comp, Table 16)."""
        lexicon, family = suite_lexicon(self.suite), get_benchmark(self.key).task
        checked = task.artifacts[validated.NAME]
        sets = {track: _mentions(checked, track) for track in TRACKS}
        sets["paired"] = _mentions(task.artifacts[paired_set.NAME])
        sampled = _mentions(task.artifacts[concept_set.NAME])
        out: list[dict[str, Any]] = []
        for track, kept in sets.items():
            found = filter_shift(
                kept,
                sampled,
                lexicon.nouns(family).names,
                lexicon.labels(family).names,
                self.suite.seed,
            )
            for kind in ("labels", "objects", "pairs"):
                out += _rows(self.key, track, kind, getattr(found, kind))
        return table(out, SCHEMA)


def _mentions(artifact: Artifact, track: str | None = None) -> Mentions:
    """Return the words of all rows, or of those that were accepted in a track."""
    known: dict[str, str] = {}  # each word is held once, however often it is mentioned
    found: dict[str, list[list[str]]] = {"objects": [], "labels": []}
    for i in range(len(artifact.shards)):
        columns = [*found, *(("track", "accepted") if track else ())]
        for row in artifact.read_shard(i, columns).to_pylist():
            if track and not (row["accepted"] and row["track"] == track):
                continue
            for name, rows in found.items():
                rows.append([known.setdefault(word, word) for word in row[name]])
    return Mentions(found["objects"], found["labels"])


def _rows(key: str, track: str, kind: str, shift: Shift) -> list[dict[str, Any]]:
    common = {"benchmark": key, "track": track, "mentions": shift.n_mentions}
    distance = {
        "measure": f"{kind.removesuffix('s')}_tv",
        "value": shift.tv,
        "null_low": shift.null_low,
        "null_high": shift.null_high,
        "sampled": shift.sampled_tv,
        "excess": shift.excess,
    }
    shares = [] if kind == "pairs" else [("within", shift.within), ("below", shift.below)]
    return [common | distance] + [
        common | {"measure": f"{kind}_{name}", "value": value} for name, value in shares
    ]


def build(context: Context, key: str) -> Artifact:
    """Build the filter shift of a benchmark."""
    task = get_benchmark(key).task
    settings = {
        "code": CODE_VERSION,
        "seed": context.suite.seed,
        "nouns": context.lexicon.nouns(task).digest,
        "labels": context.lexicon.labels(task).digest,
    }
    names = (concept_set.NAME, validated.NAME, paired_set.NAME)
    shards = whole(settings, {name: context.current(name, key) for name in names})
    return context.build(NAME, key, SCHEMA, settings, shards, MeasureShift(context.suite, key))
