"""The asset ``conme_calibration``: were the questions truly right, where a renderer knows.

Read by nobody but the report: the hidden truth decides no question.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from bindbench.conme.samples import Sample
from bindbench.pipeline import conme_first_round, conme_images, conme_second_round
from bindbench.pipeline.base import Context, ShardInputs, aligned, suite_lexicon, table
from bindbench.pipeline.conme_cells import split
from bindbench.pipeline.conme_rounds import COLUMNS
from bindbench.storage.store import Artifact
from bindbench.suite import Suite

NAME = "conme_calibration"
CODE_VERSION = "3"
ROUNDS = (conme_first_round.NAME, conme_second_round.NAME)
SCHEMA = pa.schema(
    [
        ("sample_id", pa.string()),
        ("image_id", pa.string()),
        ("round", pa.int8()),
        ("kept", pa.bool_()),
        ("verdict", pa.string()),  # right, wrong or undecided
        ("reason", pa.string()),
    ]
)


@dataclass(frozen=True)
class Calibrate:
    """Compares the samples of a shard with what was truly drawn."""

    suite: Suite

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return one row for each sample on an image whose truth is known."""
        from bindbench.conme.calibration import Truth, true_sights

        lexicon = suite_lexicon(self.suite)
        known = {
            row["image_id"]: Truth(true_sights(json.loads(row["truth"]), lexicon), lexicon)
            for row in task.rows(conme_images.NAME, ["image_id", "truth"])
            if row["truth"]
        }
        found = []
        for asset in ROUNDS:
            for row in task.rows(asset, [*COLUMNS, "kept"]):
                if row["image_id"] in known:
                    kept, sample = row.pop("kept"), Sample(**row)
                    verdict, reason = known[sample.image_id].verdict(sample)
                    found.append(_row(sample, kept, verdict, reason))
        return table(found, SCHEMA)


def _row(sample: Sample, kept: bool, verdict: str, reason: str) -> dict[str, Any]:
    return {
        "sample_id": sample.id,
        "image_id": sample.image_id,
        "round": sample.round,
        "kept": kept,
        "verdict": verdict,
        "reason": reason,
    }


def build(context: Context, where: str) -> Artifact:
    """Build the verdicts of the hidden truth."""
    lexicon = context.lexicon
    words = (lexicon.objects, lexicon.shapes, lexicon.colors, lexicon.positions, lexicon.sizes)
    settings = {"code": CODE_VERSION, "words": [vocabulary.digest for vocabulary in words]}
    inputs = {conme_images.NAME: context.current(conme_images.NAME, split(where)[0])} | {
        name: context.current(name, where) for name in ROUNDS
    }
    function = Calibrate(context.suite)
    shards = aligned(settings, inputs)
    return context.build(NAME, where, SCHEMA, settings, shards, function, _summary)


def _summary(artifact: Artifact) -> dict[str, Any]:
    rows = artifact.read().to_pylist()
    found = {}
    for number in sorted({row["round"] for row in rows}):
        own = [row for row in rows if row["round"] == number]
        kept = [row for row in own if row["kept"]]
        found[f"round_{number}"] = {"all": _rate(own), "kept": _rate(kept)}
    return found


def _rate(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the counts of the verdicts and the error rate of those that are decided."""
    from bindbench.conme.calibration import error_rate

    verdicts = [row["verdict"] for row in rows]
    rate = error_rate(verdicts, [row["image_id"] for row in rows])
    return {
        "verdicts": dict(sorted(Counter(verdicts).items())),
        "reasons": dict(sorted(Counter(r["reason"] for r in rows if r["reason"]).items())),
        "error_rate": asdict(rate) if rate else None,
    }
