"""``bindbench conme evaluate``, ``taxonomy``, ``report`` and ``verify``: what models make of it."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from bindbench.errors import UserError

if TYPE_CHECKING:
    from bindbench.models.family import Role
    from bindbench.pipeline.base import Context
    from bindbench.suite import RoleSettings

Suite = Annotated[str, typer.Option(help="Suite name, or path of a suite file.")]
Place = Annotated[str | None, typer.Option(help="Where artifacts are kept.")]
Workers = Annotated[int | None, typer.Option(help="Worker processes.")]
Cell = Annotated[
    str | None, typer.Option(help="Image set and panel, as SET--PANEL; none: all of the suite.")
]
OneCell = Annotated[str, typer.Option("--cell", help="Image set and panel, as SET--PANEL.")]
Options = Annotated[
    list[str] | None, typer.Option(help="Option of the model's family, as name=value.")
]
Batch = Annotated[int, typer.Option(min=1, help="Questions in one call.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

verify = typer.Typer(no_args_is_help=True, help="Samples for people, in Label Studio's JSON.")


def evaluate(
    suite: Suite,
    model: Annotated[
        str | None, typer.Option(help="family:name@revision; none: all of the suite's models.")
    ] = None,
    cell: Cell = None,
    option: Options = None,
    batch_size: Batch = 16,
    store: Place = None,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Put the samples of conversations to models in every mode, and print their accuracy."""
    from bindbench.pipeline import conme_evaluation, conme_results
    from bindbench.pipeline.conme_cells import models_of, slug
    from bindbench.reporting.conme_results import choice_grid, results_grid
    from bindbench.reporting.tables import to_table

    with _Work(suite, store, workers) as context:
        given = _model(model, option, batch_size) if model else None
        found = []
        for where in _cells(context, cell):
            listed = models_of(context.suite, where)
            chosen = {slug(given): given} if given else listed
            for name, settings in chosen.items():
                own = None if listed.get(name) == settings else settings
                # Other settings of a model that the suite lists don't take its place there.
                library = replace(context, make_current=own is None or name not in listed)
                artifact = conme_evaluation.build(library, where, name, own)
                found += conme_results.choice_rows(where, name, artifact)
        rows = conme_results.build(context).read().to_pylist()
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    Console().print(to_table(choice_grid(found)))
    Console().print(to_table(results_grid(rows)))


def taxonomy(
    suite: Suite,
    model: Annotated[
        str | None, typer.Option(help="Who labels; none: the suite's labeller.")
    ] = None,
    cell: Cell = None,
    option: Options = None,
    batch_size: Batch = 16,
    store: Place = None,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Let a chat model say what the samples are about, and count its labels."""
    from bindbench.pipeline import conme_labels
    from bindbench.pipeline.conme_cells import settings_of
    from bindbench.pipeline.conme_preflight import check_labels

    with _Work(suite, store, workers) as context:
        given = _labeller(model, option, batch_size) if model else None
        section = settings_of(context.suite)
        if given is None and section.labeller is None:
            raise UserError(
                "Nobody labels the samples: give --model, or conme.labeller in the suite."
            )
        check_labels(section.model_copy(update={"labeller": given or section.labeller}), "conme")
        counts = {
            where: conme_labels.build(context, where, given).summary["labels"]
            for where in _cells(context, cell)
        }
    if as_json:
        typer.echo(json.dumps(counts, indent=2))
        return
    for where, taxonomies in counts.items():
        for name, own in taxonomies.items():
            listed = ", ".join(f"{label} {count:,}" for label, count in own.items())
            typer.echo(f"{where}, {name}: {listed}")


def report(suite: Suite, store: Place = None) -> None:
    """Write the tables and the page from what has been evaluated."""
    from bindbench.pipeline import conme_report, conme_results

    with _Work(suite, store, 1) as context:
        conme_results.build(context)
        typer.echo(conme_report.export(context, conme_report.build(context)))


@verify.command("export")
def export(
    suite: Suite,
    cell: OneCell,
    out: Annotated[Path, typer.Option(help="Tasks to import into Label Studio (.json).")],
    size: Annotated[int, typer.Option(min=1, help="Samples that people see.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sample.")] = 0,
    store: Place = None,
) -> None:
    """Draw samples of the final set for people, with the labeling config (.xml) beside them."""
    from bindbench.pipeline import conme_verification

    with _Work(suite, store, 1) as context:
        count = conme_verification.export(context, cell, size, seed, out)
    typer.echo(f"{count} tasks: {out}; labeling config: {out.with_suffix('.xml')}")


@verify.command("import")
def import_(
    suite: Suite,
    cell: OneCell,
    labels: Annotated[Path, typer.Option(help="Label Studio's export (JSON).")],
    store: Place = None,
    as_json: Json = False,
) -> None:
    """Read what people said: the error rate, and each model's accuracy on what is in order."""
    from bindbench.conme.review import QUESTIONS
    from bindbench.people.agreement import pair_agreement
    from bindbench.pipeline import conme_verification

    with _Work(suite, store, 1) as context:
        found = conme_verification.read(context, cell, labels)
    agreement = {name: asdict(pair_agreement(found.judgements, name)) for name in QUESTIONS}
    rate = found.verified.error_rate
    if as_json:
        said: dict[str, Any] = asdict(found.verified) | {"faults": found.found.faults}
        typer.echo(json.dumps(said | {"agreement": agreement}, indent=2))
        return
    typer.echo(
        f"{found.verified.n:,} samples judged, {rate.value:.1%} of them wrong "
        f"({rate.low:.1%} to {rate.high:.1%})"
    )
    for name, (whole, part) in found.verified.accuracy.items():
        right = f"{part.accuracy.value:.1%}" if part else "none"
        typer.echo(f"{name}: {whole.accuracy.value:.1%} of all, {right} of what is in order")


def sugarcrepe(
    annotations: Annotated[Path, typer.Option(help="Folder of SugarCrepe's JSON files.")],
    images: Annotated[Path | None, typer.Option(help="COCO's folder val2017.")] = None,
    model: Annotated[
        str | None, typer.Option(help="A scorer, as family:name@revision; none: audit the text.")
    ] = None,
    option: Options = None,
    batch_size: Batch = 16,
    as_json: Json = False,
) -> None:
    """Audit SugarCrepe for cues that give its captions away, or score it with a model."""
    from bindbench.cli.conme_sugarcrepe import run

    run(
        annotations, images, _model(model, option, batch_size, "scorer") if model else None, as_json
    )


class _Work:
    """A context to build in, whose workers end with it."""

    def __init__(self, source: str, store: str | None, workers: int | None) -> None:
        from bindbench.cli.places import store_of, suite_of, workers_of
        from bindbench.engine.choice import open_engine
        from bindbench.pipeline.base import Context
        from bindbench.pipeline.conme_cells import settings_of
        from bindbench.pipeline.progress import log_progress
        from bindbench.releases.record import joined, read_record
        from bindbench.storage.store import Store

        suite = suite_of(source)
        settings_of(suite)
        place = Store(store_of(store), suite.name)
        suite = joined(suite, read_record(place))
        self._engine = open_engine(workers_of(workers))
        self._context = Context(suite, place, self._engine, log_progress)

    def __enter__(self) -> "Context":
        return self._context

    def __exit__(self, *_: object) -> None:
        self._engine.close()


def _labeller(model: str, options: list[str] | None, batch_size: int) -> "RoleSettings":
    from bindbench.conme.settings import WORDING
    from bindbench.suite import RoleSettings

    return RoleSettings(model=model) if model == WORDING else _model(model, options, batch_size)


def _model(
    model: str, options: list[str] | None, batch_size: int, role: "Role" = "answerer"
) -> "RoleSettings":
    from bindbench.cli.evaluate import options_from
    from bindbench.models import registry
    from bindbench.suite import RoleSettings, parse

    fields = {"model": model, "options": options_from(options or []), "batch_size": batch_size}
    settings = parse(RoleSettings, fields, f"{role} {model}")
    name, family, parsed = registry.resolve(role, settings)
    family.ready(name, parsed)
    return settings


def _cells(context: "Context", cell: str | None) -> list[str]:
    """Return the conversations that were asked for, or all that have been held."""
    from bindbench.errors import unknown_name
    from bindbench.pipeline import conme_second_round
    from bindbench.pipeline.conme_cells import cells_of

    known = cells_of(context.suite)
    if cell and cell not in known:
        raise unknown_name("conversation", cell, known, f"conme of suite {context.suite.name}")
    held = [w for w in known if context.store.current(conme_second_round.NAME, w)]
    if not held or (cell and cell not in held):
        asked = f"The conversation {cell}" if cell else "Every conversation"
        raise UserError(
            f"{asked} of suite {context.suite.name} is still to be held: run bindbench conme run "
            f"--suite {context.suite.name}."
        )
    return [cell] if cell else held
