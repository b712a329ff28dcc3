"""Accuracies on the target prior: what the checks did to the mixture of words is undone."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bindbench.analysis.reweighting import Margin, Weights, rake, reweighted
from bindbench.pipeline import negatives
from bindbench.pipeline.tallies import MODES, Measured, measure
from bindbench.tables.accuracy import FAMILIES, SINGLE, accuracy_source, why_not
from bindbench.tables.inputs import Inputs
from bindbench.tables.number import Number, missing
from bindbench.tasks import TRACKS, Track, get_benchmark

TABLE = "reweighted"


def table_reweighted(inputs: Inputs) -> Iterator[Number]:
    """Yield each model's accuracy on the prior, as it is, and how many items that is worth."""
    for key in inputs.benchmarks:
        candidates = inputs.get(negatives.NAME, key)
        if candidates is None:
            yield missing(TABLE, f"{key} is not built: run {inputs.run_command}.")
            continue
        rakes = {track: _Rake(_margins(inputs, key, track)) for track in TRACKS}
        for model in inputs.models:
            scores = inputs.scores(model, key)
            if scores is None:
                yield missing(TABLE, why_not(inputs, model, key, ""), key)
                continue
            found = measure(key, candidates, scores, np.zeros(0, np.int64), inputs.lexicon)
            for track in TRACKS:
                yield from _of(found, rakes[track], (model, key, track))


@dataclass(frozen=True)
class _Rake:
    """The weights of a track's items, which all models share where they have the same items."""

    margins: tuple[Margin, Margin]
    known: dict[bytes, Weights] = field(default_factory=dict)

    def weights(self, kept: np.ndarray) -> Weights:
        """Return the weights of some of the items (bool)."""
        name = kept.tobytes()
        if name not in self.known:
            chosen = [Margin(margin.mentions[kept], margin.n_words) for margin in self.margins]
            self.known[name] = rake(chosen)
        return self.known[name]


def _margins(inputs: Inputs, key: str, track: Track) -> tuple[Margin, Margin]:
    """Return what the items of a track mention, in the order of their index."""
    rows = inputs.rows(negatives.NAME, key, ("track", "objects", "labels"))
    own, task = [row for row in rows if row["track"] == track], get_benchmark(key).task
    labels, nouns = inputs.lexicon.labels(task).names, inputs.lexicon.nouns(task).names
    return _margin(own, "labels", labels), _margin(own, "objects", nouns)


def _margin(rows: Sequence[Mapping[str, Any]], column: str, names: tuple[str, ...]) -> Margin:
    place = {name: i for i, name in enumerate(names)}
    table = [[place[word] for word in row[column]] for row in rows]
    width = len(table[0]) if table else 1
    return Margin(np.array(table, np.int64).reshape(-1, width), len(names))


def _of(found: Measured, raking: _Rake, where: tuple[str, str, Track]) -> Iterator[Number]:
    model, key, track = where
    families = SINGLE if get_benchmark(key).n == 1 else FAMILIES
    for mode in MODES:
        place = (TABLE, f"{key}, {track}", model)
        weights: Weights | None = None
        for family in families:
            outcomes = found.tallies[track].outcomes[family, mode]
            kept = outcomes.included
            if not kept.any():
                continue
            weights = raking.weights(kept)
            scenes = found.designs[track].scenes[kept]
            result = reweighted(outcomes.win[kept], scenes, weights)
            source = accuracy_source(model, key, track, family, mode)
            yield Number(
                *(*place, family, result.value, "share", mode),
                low=result.low,
                high=result.high,
                n_items=result.n_items,
                source=source,
            )
            yield Number(*place, f"{family} as filtered", result.plain, "share", mode)
        if weights:  # those of the last family; hardly any item has no caption to beat
            yield Number(*place, "effective items", weights.effective, "number", mode)
            for name, value in zip(("label", "object"), weights.tv, strict=True):
                yield Number(*place, f"{name} TV left", value, "number", mode)
