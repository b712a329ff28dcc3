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
        columns = ["track", "objects", "labels", "accepted"]
        rows = task.artifacts[validated.NAME].read(columns).to_pylist()
        words = ["objects", "labels"]
        sets = {t: [r for r in rows if r["accepted"] and r["track"] == t] for t in TRACKS}
        sets["paired"] = task.artifacts[paired_set.NAME].read(words).to_pylist()
        sampled = _mentions(task.artifacts[concept_set.NAME].read(words).to_pylist())
        out: list[dict[str, Any]] = []
        for track, kept in sets.items():
            found = filter_shift(
                _mentions(kept),
                sampled,
                lexicon.nouns(family).names,
                lexicon.labels(family).names,
                self.suite.seed,
            )
            for kind in ("labels", "objects", "pairs"):
                out += _rows(self.key, track, kind, getattr(found, kind))
        return table(out, SCHEMA)


def _mentions(rows: list[dict[str, Any]]) -> Mentions:
    return Mentions([row["objects"] for row in rows], [row["labels"] for row in rows])


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
