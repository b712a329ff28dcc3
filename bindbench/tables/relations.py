"""Table 15: accuracy by the relation that is asked about."""

from collections.abc import Iterator

from bindbench.analysis.accuracy import Accuracy
from bindbench.analysis.errors import accuracy_by_word
from bindbench.pipeline import negatives
from bindbench.pipeline.scored import scored_set
from bindbench.pipeline.tallies import MODES
from bindbench.storage.store import Artifact
from bindbench.tables.accuracy import CHANCE, accuracy_source, why_not
from bindbench.tables.inputs import Inputs
from bindbench.tables.number import Number, missing
from bindbench.tasks import TRACKS, Track, get_benchmark

KEY, FAMILY = "position-n2", "swap"  # two objects: an item asks about one relation


def table_15(inputs: Inputs) -> Iterator[Number]:
    """Yield each model's accuracy on the items of each relation."""
    if KEY not in inputs.benchmarks:
        yield missing("15", f"Suite {inputs.suite.name} has no {KEY}: add it to its benchmarks.")
        return
    candidates = inputs.get(negatives.NAME, KEY)
    if candidates is None:
        yield missing("15", f"{KEY} is not built: run {inputs.run_command}.")
        return
    for track in TRACKS:
        yield from _track(inputs, track, candidates)


def _track(inputs: Inputs, track: Track, candidates: Artifact) -> Iterator[Number]:
    found = {model: _by_relation(inputs, model, track, candidates) for model in inputs.models}
    relations = inputs.lexicon.labels(get_benchmark(KEY).task).names
    for mode in MODES:
        tables = [tables[mode] for tables in found.values() if tables]
        for relation in relations:
            row = next((t[relation] for t in tables if relation in t), None)
            if row and row.n_items:
                yield Number(*("15", track, CHANCE, relation, row.chance, "share"), semantics=mode)
        for model, tables in found.items():
            for relation in relations:
                row = tables[mode].get(relation) if tables else None
                yield _number(inputs, model, track, relation, mode, row)


def _by_relation(
    inputs: Inputs, model: str, track: Track, candidates: Artifact
) -> dict[str, dict[str, Accuracy]] | None:
    """Return the accuracies by semantics and relation; None without scores."""
    scores = inputs.scores(model, KEY)
    if scores is None:
        return None
    found = scored_set(KEY, track, candidates, scores, inputs.lexicon)
    rows = inputs.rows(negatives.NAME, KEY, ("track", "labels"))
    words = [row["labels"] for row in rows if row["track"] == track]
    items, subset = found.of(FAMILY), found.subsets[FAMILY]
    return {mode: accuracy_by_word(items, words, mode, subset) for mode in MODES}


def _number(
    inputs: Inputs, model: str, track: str, relation: str, mode: str, row: Accuracy | None
) -> Number:
    if row is None or not row.n_items:
        why = f"{KEY}, {track}: no accepted item says {relation!r}."
        if not inputs.scores(model, KEY):
            why = why_not(inputs, model, KEY, track)
        return Number("15", track, model, relation, None, "share", semantics=mode, note=why)
    return Number(
        *("15", track, model, relation, row.accuracy, "share"),
        semantics=mode,
        low=row.low,
        high=row.high,
        n_items=row.n_items,
        source=accuracy_source(model, KEY, track, FAMILY, mode, labels=relation),
    )
