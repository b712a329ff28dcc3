"""The asset ``second_opinion``: another judge on the images that the suite's judge was asked about.

It is built only where the profile names a ``second_judge``. Only the report reads it: whether an
image is accepted is for the first judge alone (Auto-Comp, A.11).
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from bindbench.analysis.agreement import agreement
from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.models.base import Detection
from bindbench.pipeline import images, validated
from bindbench.pipeline.asking import usage_summary
from bindbench.pipeline.base import Context, ShardInputs, aligned, strings, table
from bindbench.pipeline.judging import Case, judged
from bindbench.storage.store import Artifact
from bindbench.suite import RoleSettings, Suite
from bindbench.tasks import get_benchmark
from bindbench.validation.presence import whole_objects

NAME = "second_opinion"
CODE_VERSION = "1"
SCHEMA = pa.schema(
    [
        ("index", pa.int64()),
        ("concept_id", pa.string()),
        ("scene_id", pa.string()),
        ("track", pa.string()),
        ("first", pa.string()),  # the verdict of the suite's judge
        ("label", pa.string()),
        ("reason", pa.string()),
        ("answers", strings()),
        ("answer_scores", pa.list_(pa.float32())),
        ("answer_raw", strings()),
    ]
)
_NEEDED = ("index", "concept_id", "scene_id", "track", "objects", "labels", "label")
_FOUND = ("names", "scores", "boxes")


@dataclass(frozen=True)
class AskAgain:
    """Asks the second judge about a shard's images."""

    suite: Suite
    key: str
    judge: RoleSettings

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return one row for each image that came to the first judge.

        Its verdict is ``pass`` if all answers are right, by however little: the least score of the
        profile is in the unit of the first judge.
        """
        rows = [
            row
            for row in task.rows(validated.NAME, [*_NEEDED, *_FOUND])
            if row["label"] != "not_run"
        ]
        pixels = {
            (row["index"], row["track"]): row["image"]["bytes"]
            for row in task.rows(images.NAME, ["index", "track", "image"])
        }
        cases = [
            Case(
                f"{row['concept_id']}/{row['track']}",
                validated.concept_of(self.key, row),
                images.decode_png(pixels[row["index"], row["track"]]),
                whole_objects(validated.concept_of(self.key, row), _detections(row)),
            )
            for row in rows
        ]
        verdicts = judged(cases, self.suite, self.judge, min_score=0.0)
        kept = ("index", "concept_id", "scene_id", "track")
        out = [
            {name: row[name] for name in kept} | {"first": row["label"]} | verdict
            for row, verdict in zip(rows, verdicts, strict=True)
        ]
        return table(out, SCHEMA)


def _detections(row: Mapping[str, Any]) -> list[Detection]:
    """Return the detections of an image; their masks were not kept."""
    found = zip(row["names"], row["scores"], row["boxes"], strict=True)
    return [Detection(n, score, tuple(box), np.zeros((0, 0), bool)) for n, score, box in found]


def second_judge(suite: Suite) -> RoleSettings:
    """Return the settings of a suite's second judge.

    Raises:
        UserError: it has none, or one that measures what was not kept.
    """
    settings = suite.profile.second_judge
    if settings is None:
        raise UserError(
            f"Suite {suite.name} has no second judge: name one as second_judge in its profile."
        )
    name, family, _ = registry.named("judge", settings)
    if family.measures:
        raise UserError(
            f"Suite {suite.name}: second_judge {name} measures the masks of detections, which are "
            "not kept: make it the judge, and the other one the second."
        )
    return settings


def build(context: Context, key: str) -> Artifact:
    """Build the second judge's verdicts on a benchmark."""
    judge = second_judge(context.suite)
    task = get_benchmark(key).task
    settings = {
        "code": CODE_VERSION,
        "second_judge": registry.describe("judge", judge),
        "nouns": context.lexicon.nouns(task).digest,
        "labels": context.lexicon.labels(task).digest,
    }
    inputs = {name: context.current(name, key) for name in (validated.NAME, images.NAME)}
    shards = aligned(settings, inputs)
    summary = functools.partial(summarize, judge=judge)
    context = context.holding("judge", judge)
    function = AskAgain(context.suite, key, judge)
    return context.build(NAME, key, SCHEMA, settings, shards, function, summary)


def summarize(artifact: Artifact, judge: RoleSettings) -> dict[str, Any]:
    """Return the agreement of both judges, and what the answers of a server took."""
    rows = artifact.read(["answer_raw"]).to_pylist()
    found = agreement_rows({artifact.partition: artifact})
    return {
        "images": artifact.rows,
        "agreement": found[0] if found else None,
        **usage_summary("judge", judge, (raw for row in rows for raw in row["answer_raw"])),
    }


def agreement_rows(artifacts: Mapping[str, Artifact]) -> list[dict[str, Any]]:
    """Return how far the two judges decide alike (Auto-Comp, Table 21).

    One row for each benchmark with images, and one for all of them, ``all``, if there are several:
    ``benchmark``, ``images``, ``agreement`` with ``low`` and ``high``, ``kappa`` (null where both
    judges decide everything the same way) with ``kappa_low`` and ``kappa_high``, ``disagree``,
    ``only_first`` (the share that the first passes and the second fails) with ``first_low`` and
    ``first_high``, the same of ``only_second``, and ``p`` (neither is the more lenient).

    Args:
        artifacts: of this asset, by benchmark.
    """
    tables = {
        key: artifact.read(["scene_id", "first", "label"]).to_pylist()
        for key, artifact in artifacts.items()
    }
    tables = {key: rows for key, rows in tables.items() if rows}
    if len(tables) > 1:
        tables["all"] = [row for rows in tables.values() for row in rows]
    return [_agreement_row(key, rows) for key, rows in tables.items()]


def _agreement_row(key: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    first = np.array([row["first"] == "pass" for row in rows])
    second = np.array([row["label"] == "pass" for row in rows])
    found = agreement(first, second, np.array([row["scene_id"] for row in rows]))
    return {
        "benchmark": key,
        "images": found.n_items,
        "agreement": found.agreement.value,
        "low": found.agreement.low,
        "high": found.agreement.high,
        "kappa": found.kappa,
        **dict(zip(("kappa_low", "kappa_high"), found.kappa_bounds or (None, None), strict=True)),
        "disagree": found.disagreement,
        "only_first": found.only_first.value,
        "first_low": found.only_first.low,
        "first_high": found.only_first.high,
        "only_second": found.only_second.value,
        "second_low": found.only_second.low,
        "second_high": found.only_second.high,
        "p": found.asymmetry_p,
    }
