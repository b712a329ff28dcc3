"""The command ``bindbench compare``: two models on the same items."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.console import Console

from bindbench.errors import UserError, unknown_name

CARDS = 200  # items on the page


def compare(
    models: Annotated[list[str], typer.Argument(help="Two models: family:name@revision.")],
    suite: Annotated[
        list[str] | None,
        typer.Option(help="Name, file or release folder; a second one is the second model's."),
    ] = None,
    benchmark: Annotated[list[str] | None, typer.Option(help="Only these benchmarks.")] = None,
    track: Annotated[list[str] | None, typer.Option(help="minimal or contextual.")] = None,
    semantics: Annotated[list[str] | None, typer.Option(help="strict or paper.")] = None,
    family: Annotated[
        list[str] | None, typer.Option(help="swap, confusion, confusion_no_count, vary_color ...")
    ] = None,
    store: Annotated[str | None, typer.Option(help="Where artifacts are kept.")] = None,
    out: Annotated[Path, typer.Option(help="The page.")] = Path("compare.html"),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Compare two models: paired tests, and a page of the items that only one of them wins."""
    from bindbench.cli.frozen import context_of
    from bindbench.pipeline.comparing import Side, compare_models
    from bindbench.pipeline.flipped import cards
    from bindbench.reporting.comparison import NOTE, comparison_grids, comparison_page
    from bindbench.reporting.tables import to_table
    from bindbench.text_files import write_text

    suites = suite or ["embedded"]
    if len(models) != 2 or len(suites) > 2:
        raise UserError(
            f"Models given: {len(models)}, suites: {len(suites)}; name two models, and one suite "
            "for both or one for each."
        )
    first, second = (
        Side.of(context_of(source, store), model)
        for source, model in zip((suites[0], suites[-1]), models, strict=True)
    )
    found = compare_models(first, second, _wanted(benchmark, track, semantics, family))
    shown = cards(first, second, found.flips, CARDS)
    items = len({(flip.benchmark, flip.track, flip.index) for flip in found.flips})
    write_text(out, comparison_page(found, shown, items))
    if as_json:
        print(json.dumps(asdict(found), indent=2, ensure_ascii=False))
        return
    console = Console()
    for grid in comparison_grids(found):
        console.print(to_table(grid))
    console.print(NOTE, highlight=False)
    for why in found.left_out:
        console.print(f"Left out: {why}", markup=False, highlight=False, soft_wrap=True)
    console.print(
        f"{items} items that only one of them wins: {out}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def _wanted(
    benchmarks: Sequence[str] | None,
    tracks: Sequence[str] | None,
    semantics: Sequence[str] | None,
    families: Sequence[str] | None,
) -> Any:
    """Return what to compare.

    Raises:
        UserError: a name is unknown.
    """
    from bindbench.pipeline.comparing import FAMILIES, Wanted
    from bindbench.pipeline.tallies import MODES
    from bindbench.tasks import TRACKS

    given = (
        ("tracks", "track", tracks, TRACKS),
        ("semantics", "semantics", semantics, MODES),
        ("families", "family", families, FAMILIES),
    )
    chosen: dict[str, Any] = {"benchmarks": tuple(benchmarks or ())}
    for name, kind, values, known in given:
        for value in values or ():
            if value not in known:
                raise unknown_name(kind, value, known)
        if values:
            chosen[name] = cast(Any, tuple(dict.fromkeys(values)))
    return Wanted(**chosen)
