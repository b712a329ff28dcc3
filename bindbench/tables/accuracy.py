"""Tables 5, 12, 13 and 14: every model's accuracy, with chance, from the leaderboard."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bindbench.pipeline import leaderboard, model_scores, negatives
from bindbench.pipeline.report_kinds import kind_of
from bindbench.pipeline.tallies import MODES
from bindbench.tables.inputs import Inputs, scores_partition
from bindbench.tables.number import Number, Source, missing
from bindbench.tasks import TRACKS, get_benchmark

FAMILIES = ("swap", "confusion")
SINGLE = ("vary_color", "vary_object")
ONE = "color-n1"
CHANCE, CEILING = "chance", "ceiling"  # rows


def table_5(inputs: Inputs) -> Iterator[Number]:
    """Yield every model on every benchmark of several objects."""
    return accuracies("5", inputs, inputs.models, inputs.several, FAMILIES)


def table_12(inputs: Inputs) -> Iterator[Number]:
    """Yield the contrastive models on Color and Position."""
    return _contrastive("12", inputs, ("color", "position"))


def table_13(inputs: Inputs) -> Iterator[Number]:
    """Yield the contrastive models on Shape-Color and Relative Size."""
    return _contrastive("13", inputs, ("shape_color", "relative_size"))


def table_14(inputs: Inputs) -> Iterator[Number]:
    """Yield every model on single objects."""
    if ONE not in inputs.benchmarks:
        yield missing("14", f"Suite {inputs.suite.name} has no {ONE}: add it to its benchmarks.")
        return
    # One benchmark: it need not stand in each column.
    yield from accuracies("14", inputs, inputs.models, [ONE], SINGLE, named=False)


def _contrastive(table: str, inputs: Inputs, tasks: Sequence[str]) -> Iterator[Number]:
    keys = [key for key in inputs.several if get_benchmark(key).task.name in tasks]
    if not keys:
        yield missing(table, f"Suite {inputs.suite.name} has no benchmark of {' or '.join(tasks)}.")
        return
    models = contrastive_models(inputs)
    if not models:
        yield missing(table, "No contrastive model has been scored: add one to the scorers.")
        return
    yield from accuracies(table, inputs, models, keys, FAMILIES)


def contrastive_models(inputs: Inputs) -> list[str]:
    """Return the models that embed images and texts apart, as their scores say."""
    return [
        model
        for model in inputs.models
        for scores in [next(filter(None, (inputs.scores(model, k) for k in inputs.several)), None)]
        if scores and kind_of(model, scores) == "contrastive"
    ]


def accuracies(
    table: str,
    inputs: Inputs,
    models: Sequence[str],
    keys: Sequence[str],
    families: Sequence[str],
    named: bool = True,
) -> Iterator[Number]:
    """Yield models on benchmarks: for both tracks and semantics chance, ceiling and each model.

    Args:
        table: its number.
        inputs: with the leaderboard.
        models: its rows.
        keys: benchmarks.
        families: of wrong captions.
        named: whether a column bears its benchmark's name.
    """
    built = [key for key in keys if inputs.get(negatives.NAME, key)]
    for key in keys:
        if key not in built:
            yield missing(table, f"{key} is not built: run {inputs.run_command}.")
    if not inputs.get(leaderboard.NAME):
        yield missing(table, f"There is no leaderboard: run {inputs.run_command}.")
        return
    columns = {(key, f): f"{key} {f}" if named else f for key in built for f in families}
    for track in TRACKS:
        for mode in MODES:
            where = (table, track, mode)
            cells = {
                (model, *at): inputs.board.get((model, at[0], track, "all", at[1], mode))
                for model in models
                for at in columns
            }
            yield from _references(where, models, columns, cells)
            for model in models:
                for (key, family), column in columns.items():
                    cell = cells[model, key, family]
                    source = accuracy_source(model, key, track, family, mode)
                    yield accuracy(
                        (table, track, model, column),
                        mode,
                        cell,
                        source,
                        why_not(inputs, model, key, track),
                    )


def accuracy(
    place: tuple[str, str, str, str],
    mode: str,
    cell: Mapping[str, Any] | None,
    source: Source,
    why: str,
) -> Number:
    """Return the number of a leaderboard's row.

    Args:
        place: table, block, row and column.
        mode: strict or paper.
        cell: the row; None if there is none.
        source: the rows that it was computed from.
        why: there may be none.
    """
    if cell is None:
        return Number(*place, None, "share", semantics=mode, note=why)
    return Number(
        *(*place, cell["accuracy"], "share"),
        semantics=mode,
        low=cell["low"],
        high=cell["high"],
        n_items=cell["n_items"],
        source=source,
    )


def why_not(inputs: Inputs, model: str, key: str, track: str) -> str:
    """Say why the leaderboard may have no accuracy of a model."""
    if inputs.scores(model, key):
        return f"{key}, {track}: no item has a wrong caption to beat."
    return f"{model} is not scored on {key}: run {inputs.run_command}."


def accuracy_source(
    model: str, key: str, track: str, family: str, mode: str, **more: Any
) -> Source:
    """Return the items that an accuracy is the share of those won of."""
    where = {"track": track, "family": family, "semantics": mode} | more
    return Source(model_scores.NAME, scores_partition(model, key), where)


def _references(
    where: tuple[str, str, str],
    models: Sequence[str],
    columns: Mapping[tuple[str, str], str],
    cells: Mapping[tuple[str, ...], Mapping[str, Any] | None],
) -> Iterator[Number]:
    """Yield what guessing reaches, and the most that can be reached, where that is less than all.

    A model that was offered only some of the candidates has a chance of its own.
    """
    table, track, mode = where
    for name in (CHANCE, CEILING):
        for at, column in columns.items():
            known: list[float] = []
            for model in models:
                cell = cells[model, *at]
                value = cell[name] if cell else None
                if value is None or value in known:
                    continue
                row = f"{name} of {model}" if known else name
                known.append(value)
                yield Number(table, track, row, column, value, "share", semantics=mode)
