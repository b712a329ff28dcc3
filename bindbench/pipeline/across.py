"""Suites side by side, on the concepts that all of them accepted (Auto-Comp, Table 9).

Suites of one seed and the same vocabularies have the same concepts. What differs in the accuracy
of a model on the shared ones is then due to the images, and not to which concepts a generator can
draw.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from bindbench.analysis.accuracy import summarise
from bindbench.errors import UserError
from bindbench.pipeline import captions, concept_set, leaderboard, negatives, validated
from bindbench.pipeline.base import Context, suite_lexicon
from bindbench.pipeline.survival import survival_rows
from bindbench.pipeline.tallies import Measured, measure
from bindbench.storage.store import Artifact
from bindbench.suite import Suite
from bindbench.tasks import TRACKS, Track, get_benchmark

Item = tuple[str, int]  # concept id, replicate
SCHEMA = pa.schema(
    [
        ("benchmark", pa.string()),
        ("track", pa.string()),
        ("model", pa.string()),
        ("suite", pa.string()),
        ("generator", pa.string()),
        ("family", pa.string()),
        ("semantics", pa.string()),
        ("shared", pa.int64()),  # items that every suite accepted
        ("n_items", pa.int64()),  # those of them with a candidate to beat
        ("accuracy", pa.float64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("tie_rate", pa.float64()),
        ("chance", pa.float64()),
    ]
)
MEASURED = ("accuracy", "low", "high", "tie_rate", "chance")
READ = (concept_set.NAME, captions.NAME, validated.NAME, negatives.NAME)  # of a benchmark


@dataclass(frozen=True)
class SharedSet:
    """What the suites share of one benchmark and track."""

    benchmark: str
    track: Track
    shared: int  # items that every suite accepted
    captions_differ: int  # those of them whose caption is not the same in all suites
    survival: dict[str, dict[str, Any]]  # by suite: passed, total, share, low, high


@dataclass
class Across:
    """Suites side by side."""

    generators: dict[str, str]  # by suite
    sets: list[SharedSet] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)  # of SCHEMA
    left_out: list[str] = field(default_factory=list)  # why a benchmark or model is not compared


@dataclass(frozen=True)
class Built:
    """A suite and its artifacts by ``asset/partition``: those of ``READ``, and fresh scores."""

    suite: Suite
    artifacts: Mapping[str, Artifact]

    def has(self, key: str) -> bool:
        """Whether a benchmark is built."""
        return all(f"{name}/{key}" in self.artifacts for name in READ)


@dataclass(frozen=True)
class _Side:
    """One suite and what it has of one benchmark."""

    built: Built
    key: str

    @property
    def name(self) -> str:
        return self.built.suite.name

    def artifact(self, asset: str) -> Artifact:
        return self.built.artifacts[f"{asset}/{self.key}"]

    def scores(self) -> dict[str, Artifact]:
        """Return the scores of this benchmark by model."""
        cells = leaderboard.scored_cells(self.built.suite, self.built.artifacts)
        return {model: scores for model, key, scores in cells if key == self.key}

    def items(self) -> dict[Track, list[tuple[Item, str]]]:
        """Return each track's items with their captions, in the order of their index."""
        concepts = self.artifact(concept_set.NAME).read(["index", "replicate"])
        replicates = {row["index"]: row["replicate"] for row in concepts.to_pylist()}
        found: dict[Track, list[tuple[Item, str]]] = {track: [] for track in TRACKS}
        columns = ["index", "concept_id", "track", "caption"]
        for row in self.artifact(negatives.NAME).read(columns).to_pylist():
            item = row["concept_id"], replicates[row["index"]]
            found[row["track"]].append((item, row["caption"]))
        return found

    def survival(self) -> dict[str, dict[str, Any]]:
        """Return how many of the concepts were accepted, by track."""
        return {
            row["track"]: {
                "passed": row["passed"],
                "total": row["total"],
                "share": row["share_of_all"],
                "low": row["low"],
                "high": row["high"],
            }
            for row in survival_rows(self.built.artifacts, self.key)
            if row["check"] == "accepted"
        }


def across(contexts: Sequence[Context], keys: Sequence[str] = ()) -> Across:
    """Measure every model on the items that all suites accepted.

    A model is compared where all suites scored it with the same settings, apart from the batch
    size. What is left out is named.

    Args:
        contexts: of the suites, at least two; nothing is built.
        keys: the benchmarks; none: all that every suite has built.

    Raises:
        UserError: a suite is given twice, there is only one, or they share no built benchmark.
    """
    names = [context.suite.name for context in contexts]
    if len(set(names)) < max(len(names), 2):
        raise UserError(f"Suites {', '.join(names)}: give two or more, each of another name.")
    found = side_by_side([built(context) for context in contexts], keys)
    if not found.sets:
        raise UserError(
            f"Suites {', '.join(names)} share no built benchmark ({'; '.join(found.left_out)}): "
            "build one in all of them with 'bindbench run'."
        )
    return found


def built(context: Context) -> Built:
    """Return what a suite has built so far."""
    found = leaderboard.inputs(context)
    for key in context.suite.benchmarks:
        parts = {name: context.store.current(name, key) for name in READ}
        found |= {f"{name}/{key}": part for name, part in parts.items() if part}
    return Built(context.suite, found)


def side_by_side(suites: Sequence[Built], keys: Sequence[str] = ()) -> Across:
    """Measure every model on the items that all suites accepted, and name what is left out.

    Args:
        suites: at least two, each of another name.
        keys: the benchmarks; none: all that any suite has.
    """
    found = Across({one.suite.name: one.suite.profile.generator.model for one in suites})
    wanted = [get_benchmark(key).key for key in keys] or _all_benchmarks(suites)
    for key in wanted:
        without = [one.suite.name for one in suites if not one.has(key)]
        if without:
            found.left_out.append(f"{key}: not built in {', '.join(without)}")
        else:
            _compare(key, [_Side(one, key) for one in suites], found)
    return found


def _all_benchmarks(suites: Sequence[Built]) -> list[str]:
    return list(dict.fromkeys(key for one in suites for key in one.suite.benchmarks))


def _compare(key: str, sides: Sequence[_Side], found: Across) -> None:
    """Add what the suites share of a benchmark, and each model's accuracies on it."""
    items = {side.name: side.items() for side in sides}
    survival = {side.name: side.survival() for side in sides}
    shared: dict[Track, set[Item]] = {}
    for track in TRACKS:
        texts = [dict(items[side.name][track]) for side in sides]
        shared[track] = set(texts[0]).intersection(*texts[1:])
        differ = sum(len({text[item] for text in texts}) > 1 for item in shared[track])
        shares = {side.name: survival[side.name][track] for side in sides}
        found.sets.append(SharedSet(key, track, len(shared[track]), differ, shares))
    for model, scores in _common(key, sides, found):
        for side in sides:
            lexicon, none = suite_lexicon(side.built.suite), np.zeros(0, np.int64)
            candidates = side.artifact(negatives.NAME)
            measured = measure(key, candidates, scores[side.name], none, lexicon)
            for track in TRACKS:
                keep = np.array([i in shared[track] for i, _ in items[side.name][track]], bool)
                common = {
                    "benchmark": key,
                    "model": model,
                    "suite": side.name,
                    "generator": found.generators[side.name],
                    "shared": len(shared[track]),
                }
                found.rows += [common | row for row in _accuracies(measured, track, keep)]


def _common(
    key: str, sides: Sequence[_Side], found: Across
) -> Iterator[tuple[str, dict[str, Artifact]]]:
    """Yield (model, its scores by suite) where all suites scored it alike; name the others."""
    scores = {side.name: side.scores() for side in sides}
    for model in dict.fromkeys(model for own in scores.values() for model in own):
        without = [name for name, own in scores.items() if model not in own]
        if without:
            found.left_out.append(f"{key}: {model} has no scores in {', '.join(without)}")
            continue
        alike = [_settings(own[model]) for own in scores.values()]
        if any(other != alike[0] for other in alike):
            found.left_out.append(f"{key}: {model} was scored with other settings in each suite")
            continue
        yield model, {name: own[model] for name, own in scores.items()}


def _settings(scores: Artifact) -> dict[str, Any]:
    return {k: v for k, v in scores.settings["scorer"].items() if k != "batch_size"}


def _accuracies(measured: Measured, track: Track, keep: np.ndarray) -> Iterator[dict[str, Any]]:
    tally, kept = measured.tallies[track], np.flatnonzero(keep)
    design = measured.designs[track].take(kept)
    for (family, mode), outcomes in tally.outcomes.items():
        accuracy = summarise(outcomes.take(kept), design)
        row = {"track": track, "family": family, "semantics": mode, "n_items": accuracy.n_items}
        yield row | {n: getattr(accuracy, n) if accuracy.n_items else None for n in MEASURED}
