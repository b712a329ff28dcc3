"""Tables 4 and 16: how far the checks moved labels and objects from the target distribution."""

from collections.abc import Iterator, Mapping
from typing import Any

from bindbench.pipeline import filter_shift
from bindbench.tables.inputs import Inputs
from bindbench.tables.number import Number, Source, Unit, missing
from bindbench.tasks import TRACKS, get_benchmark

# The measures of the artifact, by the columns that show them.
DISTANCES = {"label TV": "label_tv", "object TV": "object_tv", "pair TV": "pair_tv"}
SHARES = {
    "labels within": "labels_within",
    "labels below": "labels_below",
    "objects within": "objects_within",
    "objects below": "objects_below",
}
# What stands beside a distance: it is large in small samples.
PARTS = {
    "": "value",
    " sampled": "sampled",
    " excess": "excess",
    " chance low": "null_low",
    " chance high": "null_high",
}
HARDEST = 3  # the number of objects that Table 4 is of


def table_16(inputs: Inputs) -> Iterator[Number]:
    """Yield every measure of each benchmark and track."""
    for key in inputs.benchmarks:
        found = _measured(inputs, key)
        if not found:
            yield missing("16", f"{key} is not built: run {inputs.run_command}.")
            continue
        for track in TRACKS:
            if not found[track, "label_tv"]["mentions"]:
                yield missing("16", f"{key}, {track}: no image was accepted.", track)
                continue
            for column, measure, name, unit in _columns():
                row = found[track, measure]
                source = Source(filter_shift.NAME, key, {"track": track, "measure": measure})
                yield Number(
                    *("16", track, key, column, row[name], unit),
                    n_items=row["mentions"],
                    source=source,
                )


def table_4(inputs: Inputs) -> Iterator[Number]:
    """Yield the measures of the benchmarks with three objects, as the mean of both tracks."""
    for key in (key for key in inputs.benchmarks if get_benchmark(key).n == HARDEST):
        found = _measured(inputs, key)
        if not found:
            yield missing("4", f"{key} is not built: run {inputs.run_command}.")
            continue
        if not all(found[track, "label_tv"]["mentions"] for track in TRACKS):
            yield missing("4", f"{key}: no image of one of its tracks was accepted.")
            continue
        for column, measure, name, unit in _columns():
            values = [found[track, measure][name] for track in TRACKS]
            where = {"track": list(TRACKS), "measure": measure}
            yield Number(
                *("4", "", key, column, sum(values) / len(values), unit),
                source=Source(filter_shift.NAME, key, where),
            )


def _measured(inputs: Inputs, key: str) -> dict[tuple[str, str], Mapping[str, Any]]:
    rows = inputs.rows(filter_shift.NAME, key)
    return {(row["track"], row["measure"]): row for row in rows}


def _columns() -> Iterator[tuple[str, str, str, Unit]]:
    """Yield (column, measure, what of it, unit)."""
    for title, measure in DISTANCES.items():
        for part, name in PARTS.items():
            yield f"{title}{part}", measure, name, "number"
    for title, measure in SHARES.items():
        yield title, measure, "value", "share"
