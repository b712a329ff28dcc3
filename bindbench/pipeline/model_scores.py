"""The asset ``model_scores``: one model's score of every candidate of a benchmark."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from bindbench.candidates import candidate_families, candidate_texts
from bindbench.errors import UserError, unknown_name
from bindbench.models import registry
from bindbench.models.base import Image, Scorer, ScoreRequest, Scores
from bindbench.models.family import ModelName
from bindbench.pipeline import images, negatives, validated
from bindbench.pipeline.asking import ask_all, usage_summary
from bindbench.pipeline.base import Context, ShardInputs, aligned, suite_lexicon, table
from bindbench.pipeline.scored import item_key
from bindbench.scoring.checked import checked_scores
from bindbench.storage.store import Artifact
from bindbench.suite import RoleSettings, Suite
from bindbench.tasks import get_benchmark
from bindbench.vocabulary import Lexicon

NAME = "model_scores"
CODE_VERSION = "2"
SCHEMA = pa.schema(
    [
        ("index", pa.int64()),
        ("concept_id", pa.string()),
        ("scene_id", pa.string()),
        ("track", pa.string()),
        ("scores", pa.list_(pa.float64())),
        # Of log-likelihoods, else null: see bindbench.models.base.Scores.
        ("tokens", pa.list_(pa.int32())),
        ("image_free", pa.list_(pa.float64())),
        ("mean", pa.list_(pa.float64())),
        ("subtracted", pa.list_(pa.float64())),
        ("raw", pa.string()),
        ("asked", pa.list_(pa.bool_())),  # null: all
        ("swap", pa.list_(pa.float64())),  # of choices among the swaps, else null
        ("dtype", pa.string()),
        ("method", pa.string()),
    ]
)
NUMBERS = ("scores", "tokens", "image_free", "mean", "subtracted", "swap")


@dataclass(frozen=True)
class ScoreCandidates:
    """Scores the candidates of a shard's items, batch by batch."""

    suite: Suite
    key: str
    settings: RoleSettings

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return one row for each item.

        Raises:
            Unfinished: a server gave no answer for some items. The others were still asked for, so
                that another run finds their answers.
        """
        scorer: Scorer = registry.load("scorer", self.settings, self.suite.profile.vocabularies)
        lexicon = suite_lexicon(self.suite)
        rows = task.rows(negatives.NAME)
        pixels = {
            at(row): row["image"]["bytes"]
            for row in task.rows(images.NAME, ["index", "track", "image"])
        }

        def score(batch: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
            requests = [
                request(self.key, row, decoded(self.key, row, pixels[at(row)]), lexicon)
                for row in batch
            ]
            found = checked_scores(scorer, requests, self.settings.model, self.key)
            return [
                {name: row[name] for name in ("index", "concept_id", "scene_id", "track")}
                | columns_of(scores, scorer)
                for row, scores in zip(batch, found, strict=True)
            ]

        return table(ask_all(rows, self.settings.batch_size, score, item_key), SCHEMA)


def at(row: dict[str, Any]) -> tuple[int, str]:
    """Return the index and the track of a row."""
    return row["index"], row["track"]


def request(key: str, row: dict[str, Any], image: Image, lexicon: Lexicon) -> ScoreRequest:
    """Return what a scorer is asked about an item, from its row of the asset ``negatives``."""
    concept = validated.concept_of(key, row)
    return ScoreRequest(
        key=item_key(row),
        image=image,
        texts=candidate_texts(negatives.template_of(row), concept, lexicon),
        truth=np.frombuffer(row["semantics"], np.int8),
        families=candidate_families(concept, lexicon),
    )


def decoded(key: str, row: dict[str, Any], data: bytes) -> Image:
    """Return the image of an item.

    Raises:
        UserError: it can't be read; the item is named.
    """
    try:
        return images.decode_png(data)
    except UserError as error:
        raise UserError(f"{key}, item {item_key(row)}: {error}") from error


def columns_of(scores: Scores, scorer: Scorer) -> dict[str, Any]:
    """Return the columns of an item that hold its scores."""
    columns = {
        "scores": scores.values,
        "tokens": scores.tokens,
        "image_free": scores.image_free,
        "mean": scores.mean,
        "subtracted": scores.subtracted,
    }
    return {
        **{name: _asked(column, scores.asked) for name, column in columns.items()},
        "raw": scores.raw,
        "asked": scores.asked,
        "swap": _asked(scores.swap, None if scores.swap is None else np.isfinite(scores.swap)),
        "dtype": scorer.dtype,
        "method": scorer.method,
    }


def _asked(column: np.ndarray | None, asked: np.ndarray | None) -> Any:
    """Return a column with null in place of what was not asked."""
    if column is None or asked is None:
        return column
    return [value if known else None for value, known in zip(column, asked, strict=True)]


def partition(key: str, model: str) -> str:
    """Return the partition of a benchmark and a model's slug."""
    return f"{key}--{model}"


def build_named(context: Context, key: str, slug: str) -> Artifact:
    """Build the scores of the suite's model with this slug."""
    return build(context, key, scorer_named(context.suite, slug))


def scorer_named(suite: Suite, slug: str) -> RoleSettings:
    """Return the settings of the suite's scorer with this slug."""
    scorers = {ModelName.parse(s.model).slug: s for s in suite.profile.scorers}
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
    slug = ModelName.parse(model.model).slug
    stored = context.store.current(NAME, partition(key, slug)) if context.store.frozen else None
    if stored and stored.settings.items() >= (settings | {"inputs": _digests(inputs)}).items():
        return stored  # of a release, maybe without the items that an erratum withdrew
    shards = aligned(settings, inputs)
    function = ScoreCandidates(context.suite, key, model)
    summary = functools.partial(summarize, model=model)
    context = context.holding("scorer", model)
    return context.build(NAME, partition(key, slug), SCHEMA, settings, shards, function, summary)


def _digests(inputs: Mapping[str, Artifact]) -> dict[str, str]:
    return {name: artifact.digest for name, artifact in inputs.items()}


def summarize(artifact: Artifact, model: RoleSettings) -> dict[str, Any]:
    """Count the items, say which numbers the scorer gave, and what the answers of a server took.

    Raises:
        UserError: it gave a number for some items and none for others.
    """
    missing = dict.fromkeys(NUMBERS, 0)
    for i in range(len(artifact.shards)):
        shard = artifact.read_shard(i, NUMBERS)
        for name in NUMBERS:
            missing[name] += shard[name].null_count
    for name, count in missing.items():
        if 0 < count < artifact.rows:
            raise UserError(
                f"{artifact.partition} has no {name} for {count} of {artifact.rows} items: a "
                "scorer must give it for all items or for none."
            )
    columns = [name for name in NUMBERS if not missing[name]] if artifact.rows else []
    shards = (artifact.read_shard(i, ["raw"])["raw"] for i in range(len(artifact.shards)))
    raws = (raw for shard in shards for raw in shard.to_pylist())
    return {"items": artifact.rows, "columns": columns} | usage_summary("scorer", model, raws)
