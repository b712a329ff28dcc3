"""The commands ``bindbench store``: what the store holds, whether it is intact, and cleaning up."""

import json
import time
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from bindbench.errors import UserError

if TYPE_CHECKING:
    from bindbench.storage.cleanup import Waste
    from bindbench.storage.inventory import Partition

HOUR = 3600
store = typer.Typer(no_args_is_help=True, help="Look after the store of artifacts.")

StoreOption = Annotated[str | None, typer.Option("--store", help="Where artifacts are kept.")]
SuiteOption = Annotated[str | None, typer.Option(help="Only the artifacts of this suite's name.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@store.command()
def ls(where: StoreOption = None, suite: SuiteOption = None, as_json: Json = False) -> None:
    """List what is in the store: sizes, rows, fingerprints, age, and what is current."""
    rows = [row for partition in _survey(where, suite) for row in _rows(partition)]
    if as_json:
        typer.echo(json.dumps(rows, indent=1))
    else:
        _print_rows(rows)


@store.command()
def verify(where: StoreOption = None, suite: SuiteOption = None, as_json: Json = False) -> None:
    """Compare everything with its digest; exit code 1 and a line for each damaged thing."""
    from bindbench.pipeline.progress import log_progress
    from bindbench.storage.inventory import damages

    partitions = _survey(where, suite)
    found = list(damages(partitions, log_progress("store", "verify")))
    if as_json:
        typer.echo(json.dumps({"damaged": found}, indent=1))
    else:
        for line in found:
            typer.echo(line)
        if not found:
            typer.echo("Nothing is damaged.")
    if found:
        raise typer.Exit(1)


@store.command()
def gc(
    where: StoreOption = None,
    suite: SuiteOption = None,
    delete: Annotated[
        bool, typer.Option("--delete", help="Delete it; without, only say what would go.")
    ] = False,
    hours: Annotated[
        float, typer.Option(min=0, max=1e6, help="Leave partitions alone that changed since.")
    ] = 24.0,
    as_json: Json = False,
) -> None:
    """Delete what no current pointer refers to; a dry run unless --delete is given."""
    from bindbench.storage import cleanup

    partitions = _survey(where, suite)
    found = list(cleanup.waste(partitions, hours))
    done = [_waste_row(w, not delete or cleanup.delete(w, hours)) for w in found]
    in_use = sum(cleanup.is_in_use(partition, hours) for partition in partitions)
    if as_json:
        typer.echo(json.dumps({"deleted": delete, "waste": done, "in_use": in_use}, indent=1))
    else:
        _print_waste(done, in_use, delete, hours)


def _survey(where: str | None, suite: str | None) -> "list[Partition]":
    from bindbench.cli.places import store_of
    from bindbench.storage.inventory import survey
    from bindbench.storage.paths import is_local, root_path

    root = store_of(where)
    path = root_path(root)
    if is_local(path) and not path.is_dir():
        raise UserError(f"There is no store {path}: give the folder that holds one by --store.")
    return survey(root, suite)


def _rows(partition: "Partition") -> list[dict[str, Any]]:
    now = time.time()
    return [
        {
            "suite": partition.suite,
            "asset": partition.asset,
            "partition": partition.partition,
            "fingerprint": held.fingerprint,
            "state": partition.state(held),
            "rows": held.artifact.rows if held.artifact else None,
            "shards": len(held.artifact.shards) if held.artifact else None,
            "bytes": held.bytes,
            "hours": round((now - held.modified) / HOUR, 2),
        }
        for held in partition.held.values()
        if held.files
    ]


def _print_rows(rows: list[dict[str, Any]]) -> None:
    from bindbench.reporting.numbers import MISSING, gigabytes
    from bindbench.reporting.tables import Grid, to_table

    headers = ("Suite", "Asset", "Partition", "Fingerprint", "State", "Rows", "Size", "Age")
    lines = [
        (
            *(row[name] for name in ("suite", "asset", "partition", "fingerprint", "state")),
            MISSING if row["rows"] is None else f"{row['rows']:,}",
            gigabytes(row["bytes"]),
            _age(row["hours"]),
        )
        for row in rows
    ]
    counts = Counter(row["state"] for row in rows)
    summed = ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))
    note = f"{gigabytes(sum(row['bytes'] for row in rows))}: {summed or 'no artifacts'}."
    wide = Console(width=max(100, *(sum(map(len, line)) + 24 for line in lines), 100))
    wide.print(to_table(Grid("Store", headers, tuple(lines), names=5, note=note)))


def _age(hours: float) -> str:
    return f"{hours / 24:.0f} d" if hours >= 48 else f"{hours:.1f} h"


def _waste_row(waste: "Waste", gone: bool) -> dict[str, Any]:
    return {
        "partition": waste.partition.name,
        "what": waste.what,
        "fingerprint": waste.fingerprint,
        "files": len(waste.files),
        "bytes": waste.bytes,
        "read_by": list(waste.read_by),
        "kept": not gone,
    }


def _print_waste(rows: list[dict[str, Any]], in_use: int, delete: bool, hours: float) -> None:
    from bindbench.reporting.numbers import gigabytes

    for row in rows:
        line = f"{row['partition']} {row['fingerprint'] or '-'}: {row['what']}, "
        line += f"{row['files']} files, {gigabytes(row['bytes'])}"
        if row["read_by"]:
            line += f"; what was made from it stays: {', '.join(row['read_by'])}"
        if row["kept"]:
            line += "; kept, as it came into use"
        typer.echo(line)
    size = gigabytes(sum(row["bytes"] for row in rows if not row["kept"]))
    if in_use:
        typer.echo(
            f"{in_use} partitions changed in the last {hours:g} hours and are left alone "
            "(--hours 0 if no run is going)."
        )
    typer.echo(
        f"{size} deleted." if delete else f"{size} would be deleted: give --delete to do it."
    )
