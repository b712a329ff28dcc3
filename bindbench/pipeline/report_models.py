"""What the stored scores of each model show beyond its accuracies.

Its hardest negatives, the families of its errors, what it loses to counting, and its accuracy by
mention order and by label.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bindbench.analysis.accuracy import Accuracy, outcomes_of, summarise
from bindbench.analysis.accuracy import negatives as rivals_of
from bindbench.analysis.errors import accuracy_by_word, family_errors, holds_close_pair
from bindbench.analysis.order import accuracy_by_concordance
from bindbench.candidates import ERROR_FAMILIES, candidate_space, candidate_texts, candidate_words
from bindbench.models.family import ModelName
from bindbench.pipeline import images, leaderboard, negatives, validated
from bindbench.pipeline.base import suite_lexicon
from bindbench.pipeline.report_kinds import counting_row, kind_of
from bindbench.pipeline.scored import ScoredSet, scored_set
from bindbench.reporting.data import HardNegative
from bindbench.reporting.marks import mark
from bindbench.storage.store import Artifact
from bindbench.suite import Suite
from bindbench.tasks import TRACKS, Track, get_benchmark
from bindbench.vocabulary import Lexicon

HARDEST = 4  # negatives shown for a model, benchmark and track
AXES = ("horizontal", "vertical")  # the columns of ``ScoredSet.places``
Rows = list[dict[str, Any]]


@dataclass
class Findings:
    """The rows and samples of all models."""

    kinds: dict[str, str] = field(default_factory=dict)  # model -> contrastive, generative, other
    error_families: Rows = field(default_factory=list)
    counting: Rows = field(default_factory=list)
    concordance: Rows = field(default_factory=list)
    by_label: Rows = field(default_factory=list)
    hardest: list[HardNegative] = field(default_factory=list)


@dataclass(frozen=True)
class Hard:
    """An item whose positive is beaten, and the candidate that beats it by most."""

    model: str
    key: str
    track: Track
    index: int
    candidate: int
    right_score: float
    chosen_score: float


def findings(suite: Suite, artifacts: Mapping[str, Artifact], keys: Collection[str]) -> Findings:
    """Return what the scores of the leaderboard's models show on some benchmarks.

    Tracks without an accepted item have no rows.
    """
    lexicon = suite_lexicon(suite)
    rows = artifacts[leaderboard.NAME].read(["model", "benchmark"]).to_pylist()
    listed = {(row["model"], row["benchmark"]) for row in rows}
    out, hard, labels = Findings(), [], _labels(artifacts, keys)
    for model, key, scores in leaderboard.scored_cells(suite, artifacts):
        if key not in keys or (model, key) not in listed:
            continue
        if model not in out.kinds and scores.rows:
            out.kinds[model] = kind_of(model, scores)
        candidates = artifacts[f"{negatives.NAME}/{key}"]
        for track in TRACKS:
            found = scored_set(key, track, candidates, scores, lexicon)
            if not len(found.items):
                continue
            where = {"model": model, "benchmark": key, "track": track}
            words = labels[key, track]
            out.error_families += [where | row for row in _error_families(found)]
            counting = counting_row(found)
            out.counting += [where | counting] if counting else []
            out.concordance += [where | row for row in _concordance(found, words, lexicon)]
            out.by_label += [where | row for row in _by_label(found, words, lexicon)]
            if ModelName.parse(model).family != "check":  # controls choose nothing
                hard += [Hard(model, key, track, *item) for item in hardest_items(found)]
    out.hardest = _shown(hard, artifacts, lexicon)
    return out


def _labels(
    artifacts: Mapping[str, Artifact], keys: Collection[str]
) -> dict[tuple[str, str], list[list[str]]]:
    """Return the labels of each item by (benchmark, track), in the order of a ``ScoredSet``."""
    found: dict[tuple[str, str], list[list[str]]] = {}
    for key in keys:
        for row in artifacts[f"{negatives.NAME}/{key}"].read(["track", "labels"]).to_pylist():
            found.setdefault((key, row["track"]), []).append(row["labels"])
    return found


def _error_families(found: ScoredSet) -> Iterator[dict[str, Any]]:
    """Yield each family's part in the errors (attribute tasks with several objects)."""
    if found.benchmark.task.axis != "attribute" or found.benchmark.n == 1:
        return
    codes = candidate_space("attribute", found.benchmark.n).errors
    families = family_errors(found.items, codes, ERROR_FAMILIES)
    lost = sum(family.errors for family in families)
    for family in families:
        against = outcomes_of(found.items, subset=codes == ERROR_FAMILIES.index(family.family))
        yield {
            "family": family.family,
            "errors": family.errors,
            "share": family.share if lost else None,
            "chance_share": family.chance_share if lost else None,
            "n_items": family.wins.n,
            "accuracy": family.wins.value,
            "low": family.wins.low,
            "high": family.wins.high,
            "chance": float(against.chance[against.included].mean()),
        }


def _concordance(
    found: ScoredSet, labels: Sequence[Sequence[str]], lexicon: Lexicon
) -> Iterator[dict[str, Any]]:
    """Yield the accuracy by mention order, along each axis that an item does not ask about."""
    if found.benchmark.n == 1:
        return
    for axis, name in enumerate(AXES):
        free = [not asks_about(name, found.benchmark.key, words, lexicon) for words in labels]
        part = found.only(found.index[np.array(free, bool)])
        if not len(part.items):
            continue
        outcomes = outcomes_of(part.of("swap"), subset=part.subsets["swap"])
        by_order = accuracy_by_concordance(outcomes, part.places[..., axis], part.items.design)
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
    found: ScoredSet, labels: Sequence[Sequence[str]], lexicon: Lexicon
) -> Iterator[dict[str, Any]]:
    """Yield the accuracy for each word of the vocabulary, and for pairs that look alike."""
    if found.benchmark.n == 1:
        return
    entries = lexicon.labels(found.benchmark.task).entries
    subset, items = found.subsets["swap"], found.of("swap")
    table = accuracy_by_word(items, labels, subset=subset)
    for entry in entries:
        yield {"slice": "label", "word": entry.name} | _measures(table.get(entry.name))
    close = [(entry.name, other) for entry in entries for other in entry.close]
    if close:
        outcomes, alike = outcomes_of(items, subset=subset), holds_close_pair(labels, close)
        for word, keep in (("look_alikes", alike), ("others", ~alike)):
            measured = summarise(outcomes, items.design, keep)
            yield {"slice": "close", "word": word} | _measures(measured)


def _measures(accuracy: Accuracy | None) -> dict[str, Any]:
    """Return the columns of an accuracy; what was not measured on any item is missing."""
    if accuracy is None or not accuracy.n_items:
        return {"n_items": 0, "accuracy": None, "low": None, "high": None, "chance": None}
    return {
        name: getattr(accuracy, name) for name in ("n_items", "accuracy", "low", "high", "chance")
    }


def hardest_items(found: ScoredSet) -> list[tuple[int, int, float, float]]:
    """Return the items on which a false candidate beats the positive by most.

    As (index, candidate, score of the positive, score of the candidate): the candidate is the
    false one with the highest score. Of equal leads the smaller index comes first.
    """
    items = found.items
    if not len(items):
        return []
    beaten = outcomes_of(items).beaten
    best = np.where(rivals_of(items.semantics), items.scores, -np.inf).argmax(axis=1)
    right, chosen = items.scores[:, 0], items.scores[np.arange(len(items)), best]
    lead = chosen - right
    order = sorted(np.flatnonzero(beaten), key=lambda i: (-lead[i], found.index[i]))
    return [
        (int(found.index[i]), int(best[i]), float(right[i]), float(chosen[i]))
        for i in order[:HARDEST]
    ]


def _shown(
    hard: Sequence[Hard], artifacts: Mapping[str, Artifact], lexicon: Lexicon
) -> list[HardNegative]:
    """Return the items with their captions and pictures, each benchmark read once."""
    shown = {}
    for key in dict.fromkeys(item.key for item in hard):
        chosen = [item for item in hard if item.key == key]
        wanted = {item.index for item in chosen}
        rows = rows_of(artifacts[f"{negatives.NAME}/{key}"], wanted)
        pixels = rows_of(artifacts[f"{images.NAME}/{key}"], wanted)
        pictures = {at: picture(pixels[at]) for at in {(item.index, item.track) for item in chosen}}
        for item in chosen:
            at = item.index, item.track
            shown[item] = _negative(item, rows[at], pictures[at], lexicon)
    return [shown[item] for item in hard]


def picture(row: dict[str, Any]) -> bytes:
    """Return a small picture of a row of the asset ``images``."""
    from bindbench.reporting.thumbnails import thumbnail

    return thumbnail(images.decode_png(row["image"]["bytes"]))


def _negative(item: Hard, row: dict[str, Any], picture: bytes, lexicon: Lexicon) -> HardNegative:
    concept, template = validated.concept_of(item.key, row), negatives.template_of(row)
    text = candidate_texts(template, concept, lexicon)[item.candidate]
    words = candidate_words(concept, lexicon)
    right, chosen = mark(template, words[0], text, words[item.candidate])
    return HardNegative(
        model=item.model,
        benchmark=item.key,
        track=item.track,
        image=picture,
        right=right,
        chosen=chosen,
        family=_family(item, words),
        right_score=item.right_score,
        chosen_score=item.chosen_score,
        concept_id=row["concept_id"],
    )


def _family(item: Hard, words: Sequence[tuple[tuple[str, ...], tuple[str, ...]]]) -> str:
    """Return the family of error of the chosen candidate."""
    benchmark = get_benchmark(item.key)
    if benchmark.n > 1:
        space = candidate_space(benchmark.task.axis, benchmark.n)
        return ERROR_FAMILIES[space.errors[item.candidate]]
    return "vary_color" if words[item.candidate][0] == words[0][0] else "vary_object"


def rows_of(artifact: Artifact, index: Collection[int]) -> dict[tuple[int, str], dict[str, Any]]:
    """Return the rows of some items by (index, track), of the shards that hold any."""
    wanted, found = set(index), {}
    for i in range(len(artifact.shards)):
        if wanted.isdisjoint(artifact.read_shard(i, ["index"])["index"].to_pylist()):
            continue
        for row in artifact.read_shard(i).to_pylist():
            if row["index"] in wanted:
                found[row["index"], row["track"]] = row
    return found
