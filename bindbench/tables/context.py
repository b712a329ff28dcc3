"""Table 6: what context does to each model, on the concepts that both tracks accepted."""

from collections.abc import Iterator
from typing import Final

from bindbench.pipeline import leaderboard, paired_set
from bindbench.pipeline.tallies import MODES
from bindbench.tables.accuracy import CHANCE, FAMILIES, accuracy, accuracy_source, why_not
from bindbench.tables.inputs import Inputs
from bindbench.tables.number import Number, Source, missing
from bindbench.tasks import TRACKS

DIFFERENCE: Final = "difference"  # a track of the leaderboard, and a unit


def table_6(inputs: Inputs) -> Iterator[Number]:
    """Yield both tracks' accuracies on the paired set, and contextual minus minimal."""
    if not inputs.get(leaderboard.NAME):
        yield missing("6", f"There is no leaderboard: run {inputs.run_command}.")
        return
    for key in inputs.several:
        pairs = inputs.get(paired_set.NAME, key)
        if pairs is None:
            yield missing("6", f"{key} is not built: run {inputs.run_command}.")
            continue
        if not pairs.rows:
            yield missing("6", f"{key}: no concept was accepted in both tracks.", key)
            continue
        for mode in MODES:
            for family in FAMILIES:
                yield from _chance(inputs, key, family, mode)
                for model in inputs.models:
                    yield from _cells(inputs, model, key, family, mode)


def _cells(inputs: Inputs, model: str, key: str, family: str, mode: str) -> Iterator[Number]:
    for track in TRACKS:
        source = accuracy_source(model, key, track, family, mode, paired=True)
        yield accuracy(
            ("6", key, model, f"{track} {family}"),
            mode,
            inputs.board.get((model, key, track, "paired", family, mode)),
            source,
            why_not(inputs, model, key, track),
        )
    yield from _difference(inputs, model, key, family, mode)


def _difference(inputs: Inputs, model: str, key: str, family: str, mode: str) -> Iterator[Number]:
    row = inputs.board.get((model, key, DIFFERENCE, "paired", family, mode))
    place = ("6", key, model, f"{DIFFERENCE} {family}")
    if row is None:
        why = f"{key}: no paired item has a wrong caption to beat in both tracks."
        if not inputs.scores(model, key):
            why = why_not(inputs, model, key, DIFFERENCE)
        yield Number(*place, None, DIFFERENCE, semantics=mode, note=why)
        return
    where = {"model": model, "benchmark": key, "track": DIFFERENCE, "family": family}
    source = Source(leaderboard.NAME, "all", where | {"semantics": mode, "readout": "score"})
    yield Number(
        *(*place, row["accuracy"], DIFFERENCE),
        semantics=mode,
        low=row["low"],
        high=row["high"],
        n_items=row["n_items"],
        p_value=row["p_value"],
        source=source,
    )
    yield Number(
        *("6", key, model, f"detectable {family}", row["detectable"], DIFFERENCE),
        semantics=mode,
        n_items=row["n_items"],
        source=source,
    )


def _chance(inputs: Inputs, key: str, family: str, mode: str) -> Iterator[Number]:
    """Yield what guessing reaches, as the first model's rows have it."""
    for track in TRACKS:
        cells = (inputs.board.get((m, key, track, "paired", family, mode)) for m in inputs.models)
        cell = next(filter(None, cells), None)
        if cell:
            column = f"{track} {family}"
            yield Number("6", key, CHANCE, column, cell["chance"], "share", semantics=mode)
