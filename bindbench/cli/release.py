"""The commands ``bindbench release``: freeze a suite, check it, correct it, and join its scores."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from bindbench.errors import UserError

release = typer.Typer(no_args_is_help=True, help="Frozen releases: version, checksum and errata.")
erratum = typer.Typer(no_args_is_help=True, help="Items withdrawn from a release.")
release.add_typer(erratum, name="erratum")

Folder = Annotated[Path, typer.Argument(help="The release's folder.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@release.command()
def make(
    folder: Annotated[Path, typer.Argument(help="A new folder.")],
    version: Annotated[str, typer.Option(help="Three numbers, such as 1.0.0.")],
    suite: Annotated[str, typer.Option(help="A suite's name or file.")] = "embedded",
    store: Annotated[str | None, typer.Option(help="Where artifacts are kept.")] = None,
    license_file: Annotated[
        Path | None, typer.Option("--license", help="Of the data; default: the checkout's own.")
    ] = None,
) -> None:
    """Freeze what a suite has built: all artifacts and settings, with a checksum."""
    from bindbench.cli.frozen import context_of
    from bindbench.cli.places import project_folder
    from bindbench.frozen import release as frozen

    path = license_file or project_folder() / "LICENSE"
    if not path.is_file():
        raise UserError(f"License {path} does not exist: name the file of the data's license.")
    context = context_of(suite, store)
    checksum = frozen.make(context, version, folder, path.read_text(encoding="utf-8"))
    _say(f"{folder}: {context.suite.name} {version}, checksum {checksum}")


@release.command()
def verify(
    folder: Folder,
    checksum: Annotated[str | None, typer.Option(help="As it was published.")] = None,
) -> None:
    """Compare every file with its checksum; the first wrong one is named."""
    from bindbench.frozen import checksums
    from bindbench.frozen.errata import read_errata
    from bindbench.frozen.release import Release

    opened = Release.open(folder)
    found = checksums.verify(folder, checksum)
    _say(f"{opened.title} is intact, checksum {found}")
    for one in read_errata(opened):
        _say(
            f"e{one.number}: {one.benchmark}, {len(one.concepts)} concepts withdrawn: {one.reason}"
        )


@erratum.command("add")
def add_erratum(
    folder: Folder,
    benchmark: Annotated[str, typer.Option(help="Such as color-n2.")],
    concept: Annotated[list[str], typer.Option(help="The id of a concept; repeat it for more.")],
    reason: Annotated[str, typer.Option(help="What is wrong with its items.")],
) -> None:
    """Withdraw the items of concepts; stored scores are aggregated without them from now on."""
    from bindbench.frozen import checksums, errata
    from bindbench.frozen.release import Release

    corrected = errata.add(Release.open(folder), benchmark, concept, reason)
    _say(f"{folder}: {corrected.title}, checksum {checksums.checksum(folder)}")


@release.command()
def leaderboard(
    folders: Annotated[list[Path], typer.Argument(help="Copies of one release, with scores.")],
    out: Annotated[Path | None, typer.Option(help="Also write a .parquet file of it.")] = None,
    as_json: Json = False,
) -> None:
    """Join the scores of copies of one release; protocols are not mixed."""
    from bindbench.frozen.joining import joined_rows
    from bindbench.frozen.release import Release
    from bindbench.reporting.tables import leaderboard_lines, to_table
    from bindbench.tasks import TRACKS

    if out and out.suffix != ".parquet":
        raise UserError(f"--out {out}: give the name of a file that ends with .parquet.")
    rows = joined_rows([Release.open(folder) for folder in folders])
    if out:
        _write(rows, out)
    if as_json:
        typer.echo(json.dumps(rows, indent=1, ensure_ascii=False))
        return
    for track in TRACKS:
        Console().print(to_table(leaderboard_lines(rows, track)))


@release.command()
def tables(
    folder: Folder,
    table: Annotated[list[str] | None, typer.Option(help="Only these; default: all.")] = None,
    form: Annotated[str, typer.Option("--format", help="text, csv, json or parquet.")] = "text",
    out: Annotated[Path | None, typer.Option(help="A file.")] = None,
) -> None:
    """Print the tables of a release; its leaderboard is made from the stored scores if need be."""
    from bindbench.cli.tables import Asked, run_tables
    from bindbench.frozen.release import STORE, SUITE, Release
    from bindbench.pipeline import leaderboard as board

    board.build(Release.open(folder).context)
    asked = Asked(tuple(table or ()), form, out)
    run_tables(asked, str(folder / SUITE), str(folder / STORE))


def _write(rows: list[dict[str, Any]], out: Path) -> None:
    import pyarrow.parquet as pq

    from bindbench.pipeline.base import table as as_table
    from bindbench.pipeline.leaderboard import SCHEMA

    out.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(as_table(rows, SCHEMA), out)


def _say(text: str) -> None:
    Console().print(text, markup=False, highlight=False, soft_wrap=True)
