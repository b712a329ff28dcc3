"""``bindbench external``: models on published sets, by the same scorers and rules as on our own."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

if TYPE_CHECKING:
    from bindbench.reporting.tables import Grid

external = typer.Typer(
    no_args_is_help=True,
    help="Published sets: SugarCrepe, ARO, What's Up, Winoground, and plain files.",
)

Form = Annotated[
    str, typer.Option("--format", help="plain, winoground, aro, whatsup or sugarcrepe.")
]
Data = Annotated[
    Path, typer.Option(help="The set's file; of sugarcrepe, a folder or a partition's file.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@external.command()
def evaluate(
    form: Form,
    data: Data,
    images: Annotated[Path, typer.Option(help="The folder that the pictures' paths begin in.")],
    model: Annotated[str, typer.Option(help="family:name@revision; see bindbench models.")],
    option: Annotated[
        list[str] | None, typer.Option(help="An option of the model's family, as name=value.")
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Items in one call of the model.")] = 16,
    out: Annotated[Path | None, typer.Option(help="Write all of it to this JSON file.")] = None,
    as_json: Json = False,
) -> None:
    """Score a model on a published set, and print its accuracies; a tie is a loss."""
    from bindbench.cli.evaluate import options_from
    from bindbench.external.evaluation import evaluate_set
    from bindbench.external.results import result_grid, write_result
    from bindbench.suite import RoleSettings, parse

    fields = {"model": model, "options": options_from(option or []), "batch_size": batch_size}
    settings = parse(RoleSettings, fields, f"scorer {model}")
    found = evaluate_set(form, data, images, settings)
    if out:
        write_result(found, out)
    if as_json:
        print(json.dumps(found.model_dump(mode="json"), indent=1, ensure_ascii=False))
    else:
        _show(result_grid(found))


@external.command()
def audit(form: Form, data: Data, as_json: Json = False) -> None:
    """Say which cues of the captions alone give the right ones away; needs no picture."""
    from dataclasses import asdict

    from bindbench.external.readers import read_items
    from bindbench.external.scores import blind_audit
    from bindbench.reporting.numbers import percent
    from bindbench.reporting.tables import Grid

    items = read_items(form, data)
    found = blind_audit(items)
    if as_json:
        cues = [asdict(cue) | {"leak": cue.leak} for cue in found]
        print(json.dumps({"items": len(items), "cues": cues}, indent=1))
        return
    apart = len({item.cluster for item in items})  # what is told from chance has one item of each
    leaks = sum(cue.leak for cue in found)
    said = f"{data}: {leaks} leaks in {len(items):,} items, {apart:,} independent ones"
    Console().print(said, highlight=False, markup=False, soft_wrap=True)
    rows = tuple(
        (
            f"{cue.direction} {cue.cue.replace('_', ' ')}",
            *(percent(share) for share in (cue.accuracy, cue.credit, cue.chance)),
            f"{cue.differs:,}",
        )
        for cue in found
        if cue.leak
    )
    if rows:
        headers = ("Cue", "Accuracy", "Credit", "Chance", "Told apart")
        _show(Grid("Right by one cue alone", headers, rows, names=1))


@external.command()
def leaderboard(
    results: Annotated[list[Path], typer.Argument(help="Files that evaluate --out wrote.")],
    suite: Annotated[
        str | None, typer.Option(help="Lay the leaderboard of this suite beside them.")
    ] = None,
    store: Annotated[str | None, typer.Option(help="Where artifacts are kept.")] = None,
    as_json: Json = False,
) -> None:
    """Lay models side by side on published sets, and on a suite's own benchmarks."""
    from bindbench.cli.places import store_of, suite_of
    from bindbench.errors import UserError
    from bindbench.external.results import leaderboard as lay
    from bindbench.external.results import read_result
    from bindbench.storage.store import Store

    own, name = [], ""
    if suite:
        name = suite_of(suite).name
        artifact = Store(store_of(store), name).current("leaderboard", "all")
        if artifact is None:
            raise UserError(f"The suite {name} has no leaderboard: build it with 'bindbench run'.")
        own = artifact.read().to_pylist()
    grid = lay([read_result(path) for path in results], name, own)
    if as_json:
        lines = [dict(zip(grid.headers, line, strict=True)) for line in grid.rows]
        print(json.dumps(lines, indent=1, ensure_ascii=False))
    else:
        _show(grid)


def _show(grid: "Grid") -> None:
    from bindbench.reporting.tables import to_table

    Console().print(to_table(grid))
