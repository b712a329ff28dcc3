"""What matching the prior brought, and what it took."""

from collections.abc import Iterator, Mapping
from typing import Any

from bindbench.pipeline import top_up
from bindbench.pipeline.top_up_ledger import KINDS
from bindbench.tables.inputs import Inputs
from bindbench.tables.number import Number, Source, Unit, missing

TABLE = "match prior"
Row = Mapping[str, Any]


def table_match_prior(inputs: Inputs) -> Iterator[Number]:
    """Yield the distances before and after, the words given up, and the cost."""
    if inputs.suite.match_prior is None:
        yield missing(
            TABLE,
            f"Suite {inputs.suite.name} does not match the prior: run "
            f"'bindbench run --suite {inputs.suite.name} --match-prior'.",
        )
        return
    for key in inputs.benchmarks:
        found = inputs.get(top_up.NAME, key)
        if found is None:
            yield missing(TABLE, f"{key} is not built: run {inputs.run_command}.")
            continue
        yield from _benchmark(key, found.summary)


def _benchmark(key: str, summary: Row) -> Iterator[Number]:
    before, after = summary["rounds"][0], summary["rounds"][-1]
    for name in after["sets"]:
        for kind in KINDS:
            first, last = before["sets"][name][kind], after["sets"][name][kind]
            title = f"{kind.removesuffix('s')} TV"
            cells: tuple[tuple[str, float, Unit], ...] = (
                (f"{title} before", first["tv"], "number"),
                (f"{title} after", last["tv"], "number"),
                (f"{title} chance high", last["null_high"], "number"),
            )
            for column, value, unit in cells:
                yield _number(key, name, column, value, unit)
    cost: tuple[tuple[str, float, Unit], ...] = (
        ("concepts before", before["concepts"], "count"),
        ("concepts after", after["concepts"], "count"),
        ("images before", before["images"], "count"),
        ("images after", after["images"], "count"),
        ("rounds", len(summary["rounds"]) - 1, "count"),
        ("words given up", sum(map(len, summary["given_up"].values())), "count"),
    )
    for column, value, unit in cost:
        yield _number(key, "cost", column, value, unit, f"it ended because {summary['why']}")


def _number(key: str, block: str, column: str, value: float, unit: Unit, note: str = "") -> Number:
    return Number(
        TABLE, block, key, column, value, unit, note=note, source=Source(top_up.NAME, key)
    )
