"""Tables 2 and 3: how many samples there are, and what share each check lets through."""

from collections.abc import Iterator

from bindbench.pipeline import captions, concept_set, paired_set, validated
from bindbench.pipeline.survival import survival_rows
from bindbench.tables.inputs import Inputs
from bindbench.tables.number import Number, Source, missing
from bindbench.tasks import TRACKS

COUNTED = (concept_set.NAME, captions.NAME, validated.NAME)


def table_2(inputs: Inputs) -> Iterator[Number]:
    """Yield how many samples of each benchmark are accepted in each track, and in both."""
    for key in inputs.benchmarks:
        if not inputs.has((validated.NAME, paired_set.NAME), key):
            yield missing("2", f"{key} is not built: run {inputs.run_command}.")
            continue
        rows = inputs.rows(validated.NAME, key, ("track", "accepted"))
        for track in TRACKS:
            where = {"track": track, "accepted": True}
            count = sum(row == where for row in rows)
            yield _count(key, track, count, Source(validated.NAME, key, where))
        pairs = inputs.artifacts[f"{paired_set.NAME}/{key}"].rows
        yield _count(key, "paired", pairs, Source(paired_set.NAME, key))


def _count(key: str, column: str, count: int, source: Source) -> Number:
    return Number("2", "", key, column, count, "count", source=source)


def table_3(inputs: Inputs) -> Iterator[Number]:
    """Yield each check's share of those that reached it, and the share that passes all."""
    for key in inputs.benchmarks:
        if not inputs.has(COUNTED, key):
            yield missing("3", f"{key} is not built: run {inputs.run_command}.")
            continue
        for row in survival_rows(inputs.artifacts, key):
            check = row["check"]
            asset = captions.NAME if check == captions.NAME else validated.NAME
            yield Number(
                *("3", row["track"], key, check, row["share_of_reached"], "share"),
                low=row["low"],
                high=row["high"],
                n_items=row["reached"],
                source=Source(asset, key, {"track": row["track"]}),
            )
