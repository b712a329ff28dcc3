"""The asset ``api_drift``: whether models behind servers still answer as they did.

Their weights change unseen. The first items of each benchmark, always the same, are asked about
again, and compared with the scores in the store. Answers are kept under a label of their own, so
that the cache of answers is not asked, and a check that broke off pays for nothing twice.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from bindbench.analysis.accuracy import evaluate
from bindbench.concepts import content_id
from bindbench.errors import UserError
from bindbench.evaluation import BuiltBenchmark, score_items
from bindbench.models import registry
from bindbench.models.family import ModelName
from bindbench.pipeline import images, leaderboard, negatives
from bindbench.pipeline.base import Context, suite_lexicon, table
from bindbench.pipeline.scored import assemble
from bindbench.storage.datasets import Shard
from bindbench.storage.store import Artifact
from bindbench.suite import RoleSettings, Suite
from bindbench.tasks import TRACKS, Track, get_benchmark

NAME = "api_drift"
CODE_VERSION = "1"
SAMPLE = 8  # items of each benchmark and track
SCHEMA = pa.schema(
    [
        ("model", pa.string()),
        ("benchmark", pa.string()),
        ("track", pa.string()),
        ("items", pa.int64()),
        ("changed", pa.float64()),  # share of items on which another candidate is chosen
        ("before", pa.float64()),  # strict accuracy on these items, by the scores in the store
        ("now", pa.float64()),
    ]
)


@dataclass(frozen=True)
class Cell:
    """A model on a benchmark, with what was scored."""

    settings: RoleSettings
    key: str
    candidates: Artifact
    pictures: Artifact
    scores: Artifact


def api_models(suite: Suite) -> list[RoleSettings]:
    """Return the models under evaluation that are behind servers."""
    return [s for s in suite.profile.scorers if ModelName.parse(s.model).family == "api"]


def cells(context: Context) -> Iterator[Cell]:
    """Yield the cells of models behind servers that have been scored."""
    read = leaderboard.inputs(context)
    for settings in api_models(context.suite):
        for key in context.suite.benchmarks:
            if scores := read.get(leaderboard.cell_of(key, settings)):
                pictures = context.current(images.NAME, key)
                yield Cell(settings, key, read[f"{negatives.NAME}/{key}"], pictures, scores)


def build(context: Context, label: str) -> Artifact:
    """Build the table of drift.

    Args:
        context: with the suite.
        label: of this check, such as its date; the same label asks nothing again.

    Raises:
        UserError: no model behind a server has been scored, or a server gives no answers.
    """
    found = list(cells(context))
    if not found:
        raise UserError(
            f"No model behind a server has scores in suite {context.suite.name}: there is nothing "
            "to compare with."
        )
    settings = {"code": CODE_VERSION, "label": label, "sample": SAMPLE}
    shards = [
        Shard(content_id([settings, cell.key, cell.scores.digest, cell.settings.model]), cell)
        for cell in found
    ]
    settings["cells"] = {f"{c.settings.model} on {c.key}": c.scores.digest for c in found}
    function = AskAgain(context.suite, label)
    return context.build(NAME, label, SCHEMA, settings, shards, function, summarize)


@dataclass(frozen=True)
class AskAgain:
    """Asks a model about the first items of a benchmark again."""

    suite: Suite
    label: str

    def __call__(self, cell: Cell) -> pa.Table:
        """Return a row for each track that has items."""
        lexicon = suite_lexicon(self.suite)
        built = BuiltBenchmark(cell.key, lexicon, cell.candidates, cell.pictures)
        name = ModelName.parse(cell.settings.model)
        fresh = replace(name, revision="-".join(filter(None, (name.revision, "drift", self.label))))
        settings = cell.settings.model_copy(update={"model": str(fresh)})
        scorer = registry.load("scorer", settings, self.suite.profile.vocabularies)
        rows = []
        for track in TRACKS:
            items = built.first(track, SAMPLE)
            if not items:
                continue
            asked, now = score_items(scorer, cell.key, items, settings.batch_size)
            before = stored(cell.scores, track, [row["index"] for row in asked])
            where = {"model": cell.settings.model, "benchmark": cell.key, "track": track}
            both = [assemble(cell.key, asked, scores, lexicon) for scores in (before, now)]
            rows.append(where | compared(cell.key, both))
        return table(rows, SCHEMA)


def stored(scores: Artifact, track: Track, index: Sequence[int]) -> dict[int, dict[str, Any]]:
    """Return the rows of some items from the scores in the store, by index."""
    wanted, found = set(index), {}
    for i in range(len(scores.shards)):
        for row in scores.read_shard(i).to_pylist():
            if row["track"] == track and row["index"] in wanted:
                found[row["index"]] = row
        if len(found) == len(wanted):
            break
    return found


def compared(key: str, both: Sequence[Any]) -> dict[str, Any]:
    """Return how the choices and the accuracy differ between two sets of scores of the same items.

    The accuracy is against all confusions, or at N=1 against another object.
    """
    family = "confusion" if get_benchmark(key).n > 1 else "vary_object"
    before, now = (choices(one.items.scores) for one in both)
    accuracy = [evaluate(one.items, "strict", one.subsets[family]).accuracy for one in both]
    return {
        "items": len(before),
        "changed": float((before != now).mean()),
        "before": accuracy[0],
        "now": accuracy[1],
    }


def choices(scores: np.ndarray) -> np.ndarray:
    """Return the candidate with the best score of each item (items,); the first of equal ones."""
    return np.where(np.isnan(scores), -np.inf, scores).argmax(axis=1)


def summarize(artifact: Artifact) -> dict[str, Any]:
    """Return for each model the share of changed choices and the change of accuracy."""
    rows = artifact.read().to_pylist()
    summary = {}
    for model in dict.fromkeys(row["model"] for row in rows):
        own = [row for row in rows if row["model"] == model]
        items = sum(row["items"] for row in own)
        summary[model] = {
            "items": items,
            "changed": sum(row["changed"] * row["items"] for row in own) / items,
            "accuracy_change": sum((r["now"] - r["before"]) * r["items"] for r in own) / items,
        }
    return summary


def worst(artifact: Artifact) -> dict[str, float]:
    """Return the largest share of changed choices and the largest loss of accuracy of a model."""
    found = artifact.summary.values()
    return {
        "changed": max(one["changed"] for one in found),
        "accuracy_change": min(one["accuracy_change"] for one in found),
    }
