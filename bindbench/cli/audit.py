"""``bindbench audit``: ask people about a benchmark's images and captions."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from bindbench.errors import UserError, unknown_name

if TYPE_CHECKING:
    from bindbench.pipeline.base import Context

audit = typer.Typer(no_args_is_help=True, help="Questions to people, and what they answered.")
Suite = Annotated[str, typer.Option(help="A suite's name or file.")]
Place = Annotated[str | None, typer.Option(help="Where artifacts are kept.")]


@audit.command("export")
def export(
    folder: Annotated[Path, typer.Argument(help="For the tasks, the page and the key.")],
    suite: Suite = "embedded",
    benchmark: Annotated[
        list[str] | None, typer.Option(help="Such as color-n2; none: all that are built.")
    ] = None,
    count: Annotated[
        int, typer.Option(min=1, help="Images of each benchmark, track and kind of question.")
    ] = 50,
    seed: Annotated[int, typer.Option(min=0, help="Of the draw.")] = 0,
    store: Place = None,
) -> None:
    """Draw images; write tasks for Label Studio and a plain page that works from disk."""
    from bindbench.cli.frozen import context_of
    from bindbench.pipeline import audit as stage

    context = context_of(suite, store)
    keys = _built(context, benchmark)
    drawn = stage.draw(context, keys, count, seed)
    files = stage.export(context, drawn, folder, seed)
    typer.echo(f"{len(drawn.questions)} questions about {', '.join(keys)}:")
    for file in files:
        typer.echo(f"  {file}")
    typer.echo(f"Give out all but {files[0].name}, which knows the right answers.")


@audit.command("import")
def import_(
    folder: Annotated[Path, typer.Argument(help="Of audit export.")],
    labels: Annotated[
        list[Path], typer.Option(help="An export of Label Studio (JSON), or what the page saved.")
    ],
    suite: Suite = "embedded",
    store: Place = None,
) -> None:
    """Read what people answered into the store, from where the tables take it."""
    from bindbench.cli.frozen import context_of
    from bindbench.pipeline import audit as stage

    artifact = stage.read(context_of(suite, store), folder, labels)
    people = len(set(artifact.read(["validator"])["validator"].to_pylist()))
    typer.echo(
        f"{artifact.rows} answers of {people} people are in the store: bindbench audit report"
    )


@audit.command("report")
def report(
    suite: Suite = "embedded",
    store: Place = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print how far people agree with the pipeline and with each other, and what they get right."""
    from bindbench.cli.frozen import context_of
    from bindbench.pipeline import audit as stage
    from bindbench.pipeline.base import UNPARTITIONED
    from bindbench.reporting.people import people_grid, summary_rows
    from bindbench.reporting.tables import to_table

    artifact = context_of(suite, store).store.current(stage.NAME, UNPARTITIONED)
    if artifact is None:
        raise UserError(
            f"Nobody has answered about suite {suite} yet: bindbench audit export, then import."
        )
    rows = summary_rows(stage.answers_of(artifact))
    if as_json:
        typer.echo(json.dumps([asdict(row) for row in rows], indent=2))
        return
    Console().print(to_table(people_grid(rows)))


def _built(context: "Context", wanted: list[str] | None) -> list[str]:
    """Return the benchmarks to ask about.

    Raises:
        UserError: one is not the suite's, or not built.
    """
    from bindbench.pipeline import one_model

    keys = list(context.suite.benchmarks)
    for key in wanted or ():
        if key not in keys:
            raise unknown_name("benchmark", key, keys, f"suite {context.suite.name}")
    asked = wanted or keys
    built = one_model.built(context, asked)
    missing = [key for key in asked if key not in built]
    if missing and (wanted or not built):
        raise one_model.not_built(context, missing)
    return built
