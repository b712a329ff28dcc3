"""Table 21: how far two judges decide alike about the same images."""

from collections.abc import Iterator

from bindbench.pipeline import second_opinion
from bindbench.tables.inputs import Inputs
from bindbench.tables.number import Number, Source, Unit, missing
from bindbench.tables.sources import EVERY

# Column -> the measure of ``agreement_rows``, its unit and the prefix of its interval's bounds.
COLUMNS: dict[str, tuple[str, Unit, str | None]] = {
    "agreement": ("agreement", "share", ""),
    "kappa": ("kappa", "number", "kappa_"),
    "disagreement": ("disagree", "share", None),
    "only first": ("only_first", "share", "first_"),
    "only second": ("only_second", "share", "second_"),
}


def table_21(inputs: Inputs) -> Iterator[Number]:
    """Yield agreement, kappa and the directions of disagreement, of each benchmark and of all."""
    if inputs.suite.profile.second_judge is None:
        yield missing(
            "21",
            f"Suite {inputs.suite.name} has one judge: name another as second_judge in its "
            f"overrides (docs/judges.md), and run {inputs.run_command}.",
        )
        return
    opinions = {}
    for key in inputs.benchmarks:
        found = inputs.get(second_opinion.NAME, key)
        if found is None:
            yield missing("21", f"{key} has no second opinion: run {inputs.run_command}.")
        else:
            opinions[key] = found
    for row in second_opinion.agreement_rows(opinions):
        key = row["benchmark"]
        source = Source(second_opinion.NAME, EVERY if key == "all" else key)
        for column, (measure, unit, prefix) in COLUMNS.items():
            value = row[measure]
            if value is None:
                note = "Both judges decide everything the same way."
                yield Number("21", "", key, column, None, unit, note=note)
                continue
            low, high = _bounds(row, prefix)
            yield Number(
                *("21", "", key, column, value, unit),
                low=low,
                high=high,
                n_items=row["images"],
                source=source,
            )


def _bounds(row: dict, prefix: str | None) -> tuple[float | None, float | None]:
    if prefix is None:  # 1 - agreement
        return 1 - row["high"], 1 - row["low"]
    return row[f"{prefix}low"], row[f"{prefix}high"]
