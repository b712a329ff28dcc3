"""What the stored scores of each model show beyond its accuracies.

Its hardest negatives, the families of its errors, what it loses to counting, and its accuracy by
mention order and by label.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bindbench.analysis.accuracy import Accuracy, Design, summarise
from bindbench.analysis.errors import by_word, holds_close_pair
from bindbench.analysis.order import accuracy_by_concordance
from bindbench.models.family import ModelName
from bindbench.pipeline import leaderboard, negatives
from bindbench.pipeline.base import suite_lexicon
from bindbench.pipeline.report_hardest import Hard, hardest_negatives
from bindbench.pipeline.report_kinds import counting_row, kind_of
from bindbench.pipeline.report_tallies import Findings, labels_of, tally
from bindbench.reporting.samples import HardNegative
from bindbench.storage.store import Artifact
from bindbench.suite import Suite
from bindbench.tasks import get_benchmark
from bindbench.vocabulary import Lexicon

AXES = ("horizontal", "vertical")  # the columns of ``Findings.places``
Rows = list[dict[str, Any]]
Labels = Sequence[Sequence[str]]


@dataclass
class ModelRows:
    """The rows and samples of all models."""

    kinds: dict[str, str] = field(default_factory=dict)  # model -> contrastive, generative, other
    error_families: Rows = field(default_factory=list)
    counting: Rows = field(default_factory=list)
    concordance: Rows = field(default_factory=list)
    by_label: Rows = field(default_factory=list)
    hardest: list[HardNegative] = field(default_factory=list)


def model_rows(suite: Suite, artifacts: Mapping[str, Artifact], keys: Collection[str]) -> ModelRows:
    """Return what the scores of the leaderboard's models show on some benchmarks.

    Tracks without an accepted item have no rows.
    """
    lexicon, out, hard = suite_lexicon(suite), ModelRows(), list[Hard]()
    for model, key, scores in listed_cells(suite, artifacts, keys):
        if model not in out.kinds and scores.rows:
            out.kinds[model] = kind_of(model, scores)
        candidates = artifacts[f"{negatives.NAME}/{key}"]
        labels = labels_of(key, candidates)
        for track, (found, design) in tally(key, candidates, scores, lexicon).items():
            where = {"model": model, "benchmark": key, "track": track}
            out.error_families += [where | row for row in _error_families(found, design)]
            counting = counting_row(found.outcomes, design)
            out.counting += [where | counting] if counting else []
            words = labels[track]
            out.concordance += [where | r for r in _concordance(key, found, design, words, lexicon)]
            out.by_label += [where | r for r in _by_label(key, found, design, words, lexicon)]
            if not is_control(model):  # controls choose nothing
                hard += [Hard(model, key, track, item) for item in found.hardest]
    out.hardest = hardest_negatives(hard, artifacts, lexicon)
    return out


def listed_cells(
    suite: Suite, artifacts: Mapping[str, Artifact], keys: Collection[str]
) -> Iterator[tuple[str, str, Artifact]]:
    """Yield (model, benchmark, scores) of the cells on the leaderboard, of some benchmarks."""
    rows = artifacts[leaderboard.NAME].read(["model", "benchmark"]).to_pylist()
    listed = {(row["model"], row["benchmark"]) for row in rows}
    for model, key, scores in leaderboard.scored_cells(suite, artifacts):
        if key in keys and (model, key) in listed:
            yield model, key, scores


def is_control(model: str) -> bool:
    """Whether a model is a control of the machinery."""
    return ModelName.parse(model).family == "check"


def _error_families(found: Findings, design: Design) -> Iterator[dict[str, Any]]:
    """Yield each family's part in the errors (attribute tasks with several objects)."""
    parts = [(part, part.summed(name, design.scenes)) for name, part in found.errors.items()]
    lost = sum(summed.errors for _, summed in parts if summed)
    for part, summed in parts:
        if summed is None:
            continue
        yield {
            "family": summed.family,
            "errors": summed.errors,
            "share": summed.share if lost else None,
            "chance_share": summed.chance_share if lost else None,
            "n_items": summed.wins.n,
            "accuracy": summed.wins.value,
            "low": summed.wins.low,
            "high": summed.wins.high,
            "chance": float(part.against.chance[part.against.included].mean()),
        }


def _concordance(
    key: str, found: Findings, design: Design, labels: Labels, lexicon: Lexicon
) -> Iterator[dict[str, Any]]:
    """Yield the accuracy by mention order, along each axis that an item does not ask about."""
    if get_benchmark(key).n == 1:
        return
    for axis, name in enumerate(AXES):
        free = np.array([not asks_about(name, key, words, lexicon) for words in labels], bool)
        if not free.any():
            continue
        outcomes, places = found.outcomes["swap"].take(free), found.places[free, :, axis]
        by_order = accuracy_by_concordance(outcomes, places, design.take(free))
        for order, measured in by_order.items():
            yield {"axis": name, "order": order} | _measures(measured)


def asks_about(axis: str, key: str, labels: Sequence[str], lexicon: Lexicon) -> bool:
    """Whether a concept with these labels asks about an axis of the image."""
    task = get_benchmark(key).task
    if task.axis == "attribute":
        return False
    relations = lexicon.labels(task)
    return any(relations[label].axis == axis for label in labels)


def _by_label(
    key: str, found: Findings, design: Design, labels: Labels, lexicon: Lexicon
) -> Iterator[dict[str, Any]]:
    """Yield the accuracy for each word of the vocabulary, and for pairs that look alike."""
    benchmark = get_benchmark(key)
    if benchmark.n == 1:
        return
    entries, outcomes = lexicon.labels(benchmark.task).entries, found.outcomes["swap"]
    table = by_word(outcomes, design, labels)
    for entry in entries:
        yield {"slice": "label", "word": entry.name} | _measures(table.get(entry.name))
    close = [(entry.name, other) for entry in entries for other in entry.close]
    if close:
        alike = holds_close_pair(labels, close)
        for word, keep in (("look_alikes", alike), ("others", ~alike)):
            measured = summarise(outcomes, design, keep)
            yield {"slice": "close", "word": word} | _measures(measured)


def _measures(accuracy: Accuracy | None) -> dict[str, Any]:
    """Return the columns of an accuracy; what was not measured on any item is missing."""
    if accuracy is None or not accuracy.n_items:
        return {"n_items": 0, "accuracy": None, "low": None, "high": None, "chance": None}
    return {
        name: getattr(accuracy, name) for name in ("n_items", "accuracy", "low", "high", "chance")
    }
