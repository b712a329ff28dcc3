"""``bindbench conme``: questions about images that models ask and other models get wrong."""

from typing import Annotated

import typer
from rich.console import Console

from bindbench.cli.conme_results import evaluate, report, sugarcrepe, taxonomy, verify

conme = typer.Typer(no_args_is_help=True, help="ConMe: models that find each other's blind spots.")
conme.command()(evaluate)
conme.command()(taxonomy)
conme.command()(report)
conme.command()(sugarcrepe)
conme.add_typer(verify, name="verify")


@conme.command()
def run(
    suite: Annotated[str, typer.Option(help="Suite name, or path of a suite file.")],
    store: Annotated[str | None, typer.Option(help="Where artifacts are kept.")] = None,
    workers: Annotated[int | None, typer.Option(help="Worker processes.")] = None,
    repair: Annotated[bool, typer.Option(help="Recompute damaged shards.")] = False,
) -> None:
    """Let the panels of a suite converse about its image sets, and print what came of it."""
    from bindbench.cli.conme_run import run_conme

    if not run_conme(suite, store, workers, repair, Console()):
        raise typer.Exit(1)
