"""The asset ``leaderboard``: every model's accuracy, both semantics side by side."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa

from bindbench.analysis.accuracy import Accuracy, Design, Mode, summarise
from bindbench.analysis.paired import Comparison, compare
from bindbench.analysis.readouts import READOUTS
from bindbench.analysis.resampling import holm
from bindbench.models import registry
from bindbench.models.family import ModelName
from bindbench.pipeline import model_scores, negatives, paired_set
from bindbench.pipeline.base import UNPARTITIONED, Context, ShardInputs, suite_lexicon, table, whole
from bindbench.pipeline.concept_set import has_counterparts
from bindbench.pipeline.scored import readouts_of
from bindbench.pipeline.tallies import MODES, Measured, Pairs, Tally, measure
from bindbench.pipeline.winoground import winoground_rows
from bindbench.storage.store import Artifact
from bindbench.suite import RoleSettings, Suite
from bindbench.tasks import TRACKS, get_benchmark

NAME = "leaderboard"
CODE_VERSION = "4"
MEASURED = (
    *("accuracy", "low", "high", "wide_low", "wide_high"),
    *("credit", "tie_rate", "chance"),
)
FAMILIES = {1: ("vary_color", "vary_object"), 2: ("swap", "confusion")}  # by N; 2: and more
SCHEMA = pa.schema(
    [
        ("model", pa.string()),
        ("retired", pa.bool_()),  # scored no more
        ("benchmark", pa.string()),
        ("track", pa.string()),
        ("set", pa.string()),
        ("readout", pa.string()),
        ("family", pa.string()),
        ("semantics", pa.string()),
        ("n_items", pa.int64()),
        ("n_excluded", pa.int64()),
        ("accuracy", pa.float64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("wide_low", pa.float64()),
        ("wide_high", pa.float64()),
        ("credit", pa.float64()),
        ("tie_rate", pa.float64()),
        ("undecided", pa.float64()),
        ("chance", pa.float64()),
        ("ceiling", pa.float64()),
        ("p_value", pa.float64()),
        ("detectable", pa.float64()),
    ]
)


@dataclass(frozen=True)
class MeasureModels:
    """Measures every model on every benchmark that it was scored on."""

    suite: Suite

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return one row for each model, benchmark, track, set, readout, family and semantics."""
        retired = {settings.model for settings in self.suite.profile.retired}
        rows = [*self._rows(task), *_missing_rows(self.suite, task.artifacts)]
        for row in rows:
            row["retired"] = row["model"] in retired
        tested = [row for row in rows if "p_value" in row]
        for mode in MODES:  # each readout is a table of its own
            for name in READOUTS:
                same = {"semantics": mode, "readout": name}
                _correct([row for row in tested if row.items() >= same.items()])
        return table(rows, SCHEMA)

    def _rows(self, task: ShardInputs) -> Iterator[dict[str, Any]]:
        lexicon = suite_lexicon(self.suite)
        for model, key, scores in scored_cells(self.suite, task.artifacts):
            candidates = task.artifacts[f"{negatives.NAME}/{key}"]
            paired = task.artifacts[f"{paired_set.NAME}/{key}"].read(["index"])["index"].to_numpy()
            common = {"model": model, "benchmark": key}
            for readout in readouts_of(key, scores.summary["columns"]):
                found = measure(key, candidates, scores, paired, lexicon, readout)
                for row in _measured(found, paired, self.suite.seed):
                    yield common | {"readout": readout} | row
            if has_counterparts(self.suite, key):
                for row in winoground_rows(key, candidates, scores):
                    yield common | {"readout": "score", "track": "minimal", "set": "all"} | row


def _measured(found: Measured, paired: np.ndarray, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the accuracies of both tracks and sets, and the differences on the paired set."""
    for track, tally in found.tallies.items():
        design = found.designs[track]
        for name, keep in (("all", None), ("paired", np.isin(tally.index, paired))):
            for row in _accuracies(tally, design, keep):
                yield {"track": track, "set": name} | row
    first = TRACKS[0]
    design = found.designs[first].take(np.isin(found.tallies[first].index, paired))
    for row in _differences(found.pairs, design, seed):
        yield {"track": "difference", "set": "paired"} | row


def _correct(rows: list[dict[str, Any]]) -> None:
    """Correct the p-values of one table of differences by Holm's method."""
    for row, p_value in zip(rows, holm([row["p_value"] for row in rows]), strict=True):
        row["p_value"] = p_value


def scored_cells(suite: Suite, artifacts: Any) -> Iterator[tuple[str, str, Artifact]]:
    """Yield (model, benchmark key, scores) for the cells that exist, in the suite's order."""
    for settings in suite.profile.listed:
        for key in suite.benchmarks:
            name = cell_of(key, settings)
            if name in artifacts:
                yield settings.model, key, artifacts[name]


def missing_cells(suite: Suite, artifacts: Any) -> Iterator[tuple[str, str]]:
    """Yield (model, benchmark key) for the cells of built benchmarks that have no scores."""
    for settings in suite.profile.scorers:
        for key in suite.benchmarks:
            if f"{negatives.NAME}/{key}" in artifacts and cell_of(key, settings) not in artifacts:
                yield settings.model, key


def _missing_rows(suite: Suite, artifacts: Any) -> Iterator[dict[str, Any]]:
    """Yield rows without items for the missing cells, so that a table shows that they are."""
    for model, key in missing_cells(suite, artifacts):
        families = FAMILIES[min(get_benchmark(key).n, 2)]
        for track, family, mode in product(TRACKS, families, MODES):
            yield {
                "model": model,
                "benchmark": key,
                "track": track,
                "set": "all",
                "readout": "score",
                "family": family,
                "semantics": mode,
                "n_items": 0,
                "n_excluded": 0,
            }


def cell_of(key: str, settings: RoleSettings) -> str:
    """Return the name of a model's scores among the artifacts."""
    slug = ModelName.parse(settings.model).slug
    return f"{model_scores.NAME}/{model_scores.partition(key, slug)}"


def _accuracies(tally: Tally, design: Design, keep: np.ndarray | None) -> Iterator[dict[str, Any]]:
    """Yield the accuracies of the items of ``keep`` (bool), or of all."""
    kept = np.ones(len(design), bool) if keep is None else keep
    for family, mode in tally.outcomes:
        outcomes = tally.outcomes[family, mode].take(kept)
        measured = summarise(outcomes, design.take(kept))
        row = {"family": family, "semantics": mode} | _measures(measured, mode)
        if tally.close is not None and measured.n_items:
            close = tally.close[family, mode][kept]
            row["undecided"] = float(close[outcomes.included].mean())
        yield row


def _measures(accuracy: Accuracy, mode: Mode) -> dict[str, Any]:
    """Return the columns of an accuracy; what was not measured on any item is missing."""
    counts = {"n_items": accuracy.n_items, "n_excluded": accuracy.n_excluded}
    if not accuracy.n_items:
        return counts
    ceiling = accuracy.ceiling if mode == "paper" and accuracy.ceiling < 1 else None
    columns = {name: getattr(accuracy, name) for name in MEASURED}
    return counts | columns | {"ceiling": ceiling}


def _differences(pairs: Pairs, design: Design, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the differences of the tracks on the paired set, whose design is given."""
    for (family, mode), wins in pairs.wins.items():
        counted = wins.counted
        excluded = int((~counted).sum())
        found = compare(wins.first, wins.second, design.take(counted), seed, excluded)
        if found:
            yield {"family": family, "semantics": mode} | _difference(found)


def _difference(found: Comparison) -> dict[str, Any]:
    return {
        "n_items": found.n_items,
        "n_excluded": found.n_excluded,
        "accuracy": found.difference.value,
        "low": found.difference.low,
        "high": found.difference.high,
        "p_value": found.p_value,
        "detectable": found.detectable,
    }


def build(context: Context) -> Artifact:
    """Build the leaderboard from the cells that have been scored."""
    settings = {
        "code": CODE_VERSION,
        "seed": context.suite.seed,
        "models": [scorer.model for scorer in context.suite.profile.scorers],
        "retired": [scorer.model for scorer in context.suite.profile.retired],
    }
    read = inputs(context)
    missing = [f"{model} on {key}" for model, key in missing_cells(context.suite, read)]
    scored = sum(1 for _ in scored_cells(context.suite, read))
    return context.build(
        NAME,
        UNPARTITIONED,
        SCHEMA,
        settings,
        whole(settings, read),
        MeasureModels(context.suite),
        summarize=lambda _: {"scored": scored, "missing": missing},
    )


def inputs(context: Context) -> dict[str, Artifact]:
    """Return the artifacts of the suite's benchmarks and of the cells scored so far."""
    found: dict[str, Artifact] = {}
    for key in context.suite.benchmarks:
        for name in (negatives.NAME, paired_set.NAME):
            artifact = context.store.current(name, key)
            if artifact:
                found[f"{name}/{key}"] = artifact
        candidates = found.get(f"{negatives.NAME}/{key}")
        for settings in context.suite.profile.listed:
            cell = model_scores.partition(key, ModelName.parse(settings.model).slug)
            artifact = context.store.current(model_scores.NAME, cell)
            if artifact and _fits(artifact, candidates):
                stands = context.store.frozen or settings in context.suite.profile.retired
                if stands or _is_of(artifact, settings):
                    found[f"{model_scores.NAME}/{cell}"] = artifact
    return found


def _fits(scores: Artifact, candidates: Artifact | None) -> bool:
    """Whether scores are of the candidates as they are now; else they are missing."""
    if candidates is None or scores.settings["inputs"][negatives.NAME] != candidates.digest:
        return False
    return scores.settings["code"] == model_scores.CODE_VERSION


def _is_of(scores: Artifact, settings: RoleSettings) -> bool:
    """Whether scores are of the model as it is now. One that is retired may be gone."""
    return scores.settings["scorer"] == registry.describe("scorer", settings)
