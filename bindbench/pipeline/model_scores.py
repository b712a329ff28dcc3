"""The asset ``model_scores``: one model's score of every candidate of a benchmark."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from bindbench.candidates import candidate_texts
from bindbench.errors import UserError, unknown_name
from bindbench.models import registry
from bindbench.models.base import Scorer, ScoreRequest
from bindbench.pipeline import images, negatives, validated
from bindbench.pipeline.base import Context, ShardInputs, aligned, batches, suite_lexicon, table
from bindbench.storage.store import Artifact
from bindbench.suite import RoleSettings, Suite
from bindbench.tasks import get_benchmark

NAME = "model_scores"
CODE_VERSION = "1"
SCHEMA = pa.schema(
    [
        ("index", pa.int64()),
        ("concept_id", pa.string()),
        ("scene_id", pa.string()),
        ("track", pa.string()),
        ("scores", pa.list_(pa.float64())),
        ("dtype", pa.string()),
        ("method", pa.string()),
    ]
)


@dataclass(frozen=True)
class ScoreCandidates:
    """Scores the candidates of a shard's items, batch by batch."""

    suite: Suite
    key: str
    settings: RoleSettings

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return one row for each item."""
        scorer: Scorer = registry.load("scorer", self.settings, self.suite.profile.vocabularies)
        rows = task.rows(negatives.NAME)
        pixels = {
            (row["index"], row["track"]): row["image"]["bytes"]
            for row in task.rows(images.NAME, ["index", "track", "image"])
        }
        out: list[dict[str, Any]] = []
        for batch in batches(rows, self.settings.batch_size):
            requests = [self._request(row, pixels[row["index"], row["track"]]) for row in batch]
            for row, scores in zip(batch, scorer.score(requests), strict=True):
                if not np.isfinite(scores).all():
                    raise UserError(
                        f"{self.settings.model} gave a score that is not a number for "
                        f"{row['concept_id']} ({row['track']}) of {self.key}: "
                        "check its weights and its dtype."
                    )
                out.append(
                    {name: row[name] for name in ("index", "concept_id", "scene_id", "track")}
                    | {"scores": scores, "dtype": scorer.dtype, "method": scorer.method}
                )
        return table(out, SCHEMA)

    def _request(self, row: dict[str, Any], png: bytes) -> ScoreRequest:
        concept = validated.concept_of(self.key, row)
        return ScoreRequest(
            key=f"{row['concept_id']}/{row['track']}",
            image=images.decode_png(png),
            texts=candidate_texts(negatives.template_of(row), concept, suite_lexicon(self.suite)),
            truth=np.frombuffer(row["semantics"], np.int8),
        )


def partition(key: str, model: str) -> str:
    """Return the partition of a benchmark and a model's slug."""
    return f"{key}--{model}"


def build_named(context: Context, key: str, slug: str) -> Artifact:
    """Build the scores of the suite's model with this slug."""
    return build(context, key, scorer_named(context.suite, slug))


def scorer_named(suite: Suite, slug: str) -> RoleSettings:
    """Return the settings of the suite's scorer with this slug."""
    scorers = {registry.ModelName.parse(s.model).slug: s for s in suite.profile.scorers}
    if slug not in scorers:
        raise unknown_name("model", slug, scorers, f"the scorers of suite {suite.name}")
    return scorers[slug]


def build(context: Context, key: str, model: RoleSettings) -> Artifact:
    """Build the scores of one model on a benchmark."""
    settings = {
        "code": CODE_VERSION,
        "scorer": registry.describe("scorer", model),
        "nouns": context.lexicon.nouns(get_benchmark(key).task).digest,
        "labels": context.lexicon.labels(get_benchmark(key).task).digest,
    }
    inputs = {name: context.current(name, key) for name in (negatives.NAME, images.NAME)}
    shards = aligned(settings, inputs)
    slug = registry.ModelName.parse(model.model).slug
    function = ScoreCandidates(context.suite, key, model)
    return context.build(NAME, partition(key, slug), SCHEMA, settings, shards, function)
