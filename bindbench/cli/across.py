"""The command ``bindbench across``: suites side by side, on the concepts that all accepted."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from rich.console import Console

from bindbench.cli.places import store_of, suite_of
from bindbench.engine.local import LocalEngine
from bindbench.errors import UserError
from bindbench.pipeline.across import SCHEMA, Across, SharedSet, across
from bindbench.pipeline.base import Context, table
from bindbench.reporting.numbers import MISSING, interval, percent
from bindbench.reporting.tables import Grid, to_table
from bindbench.reporting.wording import TRACKS
from bindbench.storage.store import Store


def run_across(
    sources: Sequence[str],
    benchmarks: Sequence[str],
    store: str | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Print what becomes of each model's accuracy where only the images differ."""
    if out and out.suffix != ".parquet":
        raise UserError(f"--out {out}: give the name of a file that ends with .parquet.")
    suites = [suite_of(source) for source in sources]
    root = store_of(store)
    contexts = [Context(suite, Store(root, suite.name), LocalEngine(1)) for suite in suites]
    found = across(contexts, benchmarks)
    if out:
        out.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table(found.rows, SCHEMA), out)
    if as_json:
        print(json.dumps(asdict(found), indent=2, ensure_ascii=False))
    else:
        print_across(found, Console())


def print_across(found: Across, console: Console) -> None:
    """Print the shared sets, a table for each, and what was left out."""

    def say(text: str, style: str = "") -> None:
        console.print(text, style=style, soft_wrap=True, highlight=False, markup=False)

    for suite, generator in found.generators.items():
        say(f"{suite}: {generator}")
    console.print(to_table(survival_grid(found)))
    for shared in found.sets:
        if shared.shared and any(_of(found, shared)):
            console.print(to_table(accuracy_grid(found, shared)))
        if shared.captions_differ:
            say(
                f"The captions of {shared.captions_differ} of the {shared.shared} shared concepts "
                "differ between the suites: what differs is not the images alone.",
                "yellow",
            )
    for why in found.left_out:
        say(f"Left out: {why}")


def survival_grid(found: Across) -> Grid:
    """Return how many concepts each suite accepted, and how many all of them did."""
    rows = []
    for shared in found.sets:
        for suite, own in shared.survival.items():
            cells = (suite, str(own["passed"]), percent(own["share"]).rstrip("%"))
            bounds = interval(own["low"], own["high"])
            rows.append((f"{shared.benchmark}, {TRACKS[shared.track].lower()}", *cells, bounds))
        rows.append((rows[-1][0], "all", str(shared.shared), MISSING, MISSING))
    headers = ("Benchmark", "Suite", "Accepted", "%", "95%")
    return Grid("Accepted concepts", headers, tuple(rows), names=2, apart=True)


def accuracy_grid(found: Across, shared: SharedSet) -> Grid:
    """Return every model's accuracies on a shared set, a column for each suite."""
    cells = {(r["model"], r["family"], r["semantics"], r["suite"]): r for r in _of(found, shared)}
    lines = dict.fromkeys(key[:3] for key in cells)
    rows = []
    for model, family, mode in lines:
        own = [cells[model, family, mode, suite] for suite in found.generators]
        rows.append((model, f"{family}, {mode}", *(_accuracy(row) for row in own)))
    note = (
        f"Accuracy in % with its 95% interval, on the {shared.shared} concepts that all accepted."
    )
    title = f"{shared.benchmark}, {TRACKS[shared.track].lower()} track"
    headers = ("Model", "Candidates", *found.generators)
    return Grid(title, headers, tuple(rows), names=2, note=note, apart=True)


def _of(found: Across, shared: SharedSet) -> Iterator[dict[str, Any]]:
    wanted = (shared.benchmark, shared.track)
    return (row for row in found.rows if (row["benchmark"], row["track"]) == wanted)


def _accuracy(row: dict[str, Any]) -> str:
    if not row["n_items"]:
        return MISSING
    number = percent(row["accuracy"]).rstrip("%")
    return f"{number} ({interval(row['low'], row['high'])})"
