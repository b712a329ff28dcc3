"""How good is the embedded validation of rows of like things? Measured on fresh seeds.

Half of the rows have a fault, each kind of fault alike. "faultless": the share of the rows that
show what was asked for that is accepted; "faulty": the share of the others that is caught. The
rows' truth is the ray tracer's own; no check reads it. Bounds are one-sided, 95% (Clopper-Pearson).

    python benchmarks/row_validation.py --groups 200 --workers 2
"""

import argparse
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scipy.stats import beta

from bindbench.engine.local import LocalEngine
from bindbench.pipeline import instabind_groups, instabind_images, instabind_validated
from bindbench.pipeline.base import Context
from bindbench.rendering.rows import FAULTS
from bindbench.storage.store import Store
from bindbench.suite import Suite, load_suite, resolve_suite, suite_fields

SEED = 1_000_003  # of no suite
Rows = list[dict[str, Any]]


def suite_of(path: Path, groups: int) -> Suite:
    """Return the suite's sets with as many groups each, half of them faulty, on a fresh seed."""
    own = load_suite(str(path)).instabind
    assert own is not None
    sets = {
        name: {"source": "generated", "kind": one.kind, "groups": groups}
        for name, one in own.sets.items()
        if one.source == "generated"
    }
    fields = suite_fields(path) | {"name": "row-validation", "seed": SEED}
    fields["instabind"] = {**fields["instabind"], "sets": sets, "models": ()}
    faults = dict.fromkeys(FAULTS, 0.5 / len(FAULTS))
    overrides = fields.setdefault("overrides", {})
    overrides["generator"] = {"options": {"resolution": 128, "samples": 8, "faults": faults}}
    return resolve_suite(fields, str(path))


def measured(context: Context, name: str) -> Rows:
    """Build a set; return its verdicts, each with the fault that was drawn."""
    for stage in (instabind_groups, instabind_images, instabind_validated):
        stage.build(context, name)
    truths = context.current(instabind_images.NAME, name).read(["truth"]).to_pylist()
    columns = ["n", "track", "presence", "label", "accepted"]
    rows = context.current(instabind_validated.NAME, name).read(columns).to_pylist()
    return [
        row | {"fault": json.loads(truth["truth"])["fault"] or "faultless"}
        for row, truth in zip(rows, truths, strict=True)
    ]


def line(name: str, rows: Rows, right: Callable[[dict[str, Any]], bool]) -> str:
    """Return a row of the table."""
    n, good = len(rows), sum(right(row) for row in rows)
    low = float(beta.ppf(0.05, good, n - good + 1)) if good else 0.0
    return f"| {name} | {n} | {good / n:.1%} | {low:.1%} |"


def table(name: str, rows: Rows) -> list[str]:
    """Return the table of a set."""
    fine = [row for row in rows if row["fault"] == "faultless"]
    bad = [row for row in rows if row["fault"] != "faultless"]
    out = [f"**{name}**", "", "| rows | items | right | at least |", "|---|---|---|---|"]
    out.append(line("faultless, accepted", fine, lambda row: row["accepted"]))
    for n in sorted({row["n"] for row in rows}):
        for track in ("minimal", "contextual"):
            some = [row for row in fine if (row["n"], row["track"]) == (n, track)]
            if some:
                out.append(line(f"N={n}, {track}, accepted", some, lambda row: row["accepted"]))
    out.append(line("faulty, caught", bad, lambda row: not row["accepted"]))
    for fault in FAULTS:
        some = [row for row in bad if row["fault"] == fault]
        if some:
            out.append(line(f"{fault}, caught", some, lambda row: not row["accepted"]))
    return [*out, ""]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", type=Path, default=Path("suites/embedded.yaml"))
    parser.add_argument("--groups", type=int, default=200)
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    suite = suite_of(given.suite, given.groups)
    assert suite.instabind is not None
    with tempfile.TemporaryDirectory() as folder:
        context = Context(suite, Store(folder, suite.name), LocalEngine(given.workers))
        for name in suite.instabind.sets:
            print("\n".join(table(name, measured(context, name))), flush=True)


if __name__ == "__main__":
    main()
