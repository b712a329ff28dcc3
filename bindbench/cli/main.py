"""The command ``bindbench``: parses arguments and calls the library."""

import json
import logging
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.logging import RichHandler

from bindbench.cli.audit import audit
from bindbench.cli.compare import compare
from bindbench.cli.conme import conme
from bindbench.cli.export import export
from bindbench.cli.external import external
from bindbench.cli.finetune import finetune
from bindbench.cli.instabind import instabind
from bindbench.cli.places import use_engine
from bindbench.cli.release import release
from bindbench.cli.store import store as store_commands
from bindbench.errors import UserError

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Compositional-binding benchmarks for vision-language models.",
)
train = typer.Typer(no_args_is_help=True, help="Rebuild the models that the project ships.")
app.add_typer(train, name="train")
app.add_typer(instabind, name="instabind")
app.add_typer(conme, name="conme")
app.add_typer(external, name="external")
app.add_typer(store_commands, name="store")
app.add_typer(release, name="release")
app.add_typer(audit, name="audit")
app.command()(compare)
app.command()(finetune)
app.command()(export)

EngineName = Annotated[
    str | None, typer.Option("--engine", help="local, ray or ray:HOST:PORT, where shards go.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def run(
    suite: Annotated[str, typer.Option(help="A suite's name or file.")] = "embedded",
    benchmark: Annotated[
        list[str] | None, typer.Option(help="Only these; no InstaBind, no ConMe.")
    ] = None,
    concepts: Annotated[int | None, typer.Option(help="Concepts for each benchmark.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of everything that is drawn.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the suite with these changes.")] = None,
    store: Annotated[str | None, typer.Option(help="Where artifacts are kept.")] = None,
    workers: Annotated[int | None, typer.Option(help="Worker processes.")] = None,
    engine: EngineName = None,
    repair: Annotated[bool, typer.Option(help="Recompute damaged shards.")] = False,
    match_prior: Annotated[
        bool, typer.Option("--match-prior", help="Add concepts for words that the checks remove.")
    ] = False,
    pilot: Annotated[
        bool, typer.Option("--pilot", help="Build 50 concepts, and project the whole suite.")
    ] = False,
    gpu_price: Annotated[
        float | None, typer.Option(min=0, help="With --pilot: the price of a GPU for an hour.")
    ] = None,
) -> None:
    """Build a suite: benchmarks, scores, leaderboard and report."""
    from bindbench.cli.pipeline import Overrides, run_suite

    use_engine(engine)
    overrides = Overrides(tuple(benchmark or ()), concepts, seed, name, match_prior or None)
    how = (store, workers, repair)
    if pilot:
        from bindbench.cli.pilot import run_pilot

        good = run_pilot(suite, overrides, *how, gpu_price, Console())
    elif gpu_price is not None:
        raise UserError("--gpu-price is for --pilot: give both, or leave it out.")
    else:
        good = run_suite(suite, overrides, *how, Console())
    if not good:
        raise typer.Exit(1)


@app.command()
def ui(
    suite: Annotated[str, typer.Option(help="A suite's name or file.")] = "embedded",
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1.")] = 3000,
) -> None:
    """Open Dagster's UI and daemon on this machine."""
    from bindbench.cli.pipeline import open_ui

    open_ui(suite, port)


@app.command()
def backfill(
    suite: Annotated[str, typer.Option(help="A suite's name or file.")] = "embedded",
    task: Annotated[list[str] | None, typer.Option(help="Only benchmarks of these tasks.")] = None,
    n: Annotated[list[int] | None, typer.Option(help="Only benchmarks of so many objects.")] = None,
    model: Annotated[
        list[str] | None, typer.Option(help="Only the scores of these models; builds no benchmark.")
    ] = None,
    store: Annotated[str | None, typer.Option(help="Where artifacts are kept.")] = None,
    workers: Annotated[int | None, typer.Option(help="Worker processes.")] = None,
    repair: Annotated[bool, typer.Option("--repair", help="Recompute damaged shards.")] = False,
) -> None:
    """Bring some partitions of a suite up to date, with the leaderboard and the report."""
    from bindbench.cli.backfill import Wanted, run_backfill

    wanted = Wanted(tuple(task or ()), tuple(n or ()), tuple(model or ()))
    if not run_backfill(suite, wanted, store, workers, repair, Console()):
        raise typer.Exit(1)


@app.command()
def candidates(
    task: Annotated[str, typer.Option(help="color, shape_color, position or relative_size.")],
    objects: Annotated[list[str], typer.Option(help="The objects, in order of mention.")],
    labels: Annotated[list[str], typer.Option(help="Their attributes or relations.")],
    as_json: Json = False,
    vocabulary: Annotated[
        list[str] | None, typer.Option(help="kind=name or kind=file, such as objects=mine.yaml.")
    ] = None,
) -> None:
    """Print one concept's captions and candidates with their semantics."""
    from bindbench.cli.candidates import candidates_table, print_candidates, sources_from
    from bindbench.vocabulary_files import load_lexicon

    lexicon = load_lexicon(sources_from(vocabulary or []))
    found = candidates_table(task, objects, labels, lexicon)
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        print_candidates(found, Console())


@app.command()
def evaluate(
    model: Annotated[str, typer.Option(help="family:name@revision; see bindbench models.")],
    benchmark: Annotated[
        list[str] | None, typer.Option(help="Only these benchmarks; default: all that are built.")
    ] = None,
    suite: Annotated[str, typer.Option(help="A suite's name or file.")] = "embedded",
    option: Annotated[
        list[str] | None, typer.Option(help="An option of the model's family, as name=value.")
    ] = None,
    batch_size: Annotated[int | None, typer.Option(help="Items in one call of the model.")] = None,
    prompts: Annotated[bool, typer.Option("--prompts", help="Compare three prompts.")] = False,
    repair: Annotated[bool, typer.Option("--repair", help="Score damaged shards again.")] = False,
    store: Annotated[str | None, typer.Option(help="Where artifacts are kept.")] = None,
    workers: Annotated[int | None, typer.Option(help="Worker processes.")] = None,
    engine: EngineName = None,
    as_json: Json = False,
) -> None:
    """Score a model on the built benchmarks of a suite, and print its accuracies."""
    from bindbench.cli.evaluate import Asked, run_evaluation

    use_engine(engine)
    changes = (tuple(option or ()), batch_size)
    asked = Asked(model, tuple(benchmark or ()), *changes, prompts, repair)
    if not run_evaluation(asked, suite, store, workers, as_json):
        raise typer.Exit(1)


@app.command("across")
def across_command(
    suites: Annotated[list[str], typer.Argument(help="Two suites or more: names or files.")],
    benchmark: Annotated[
        list[str] | None, typer.Option(help="Only these; default: all that every suite has.")
    ] = None,
    store: Annotated[str | None, typer.Option(help="Where artifacts are kept.")] = None,
    out: Annotated[Path | None, typer.Option(help="Also write a .parquet file of it.")] = None,
    as_json: Json = False,
) -> None:
    """Lay suites side by side, on the concepts that all of them accepted."""
    from bindbench.cli.across import run_across

    run_across(suites, benchmark or [], store, out, as_json)


@app.command("tables")
def tables_command(
    suite: Annotated[str, typer.Option(help="A suite's name or file.")] = "embedded",
    number: Annotated[
        list[str] | None, typer.Option("--table", help="Only this table of the paper, as 5.")
    ] = None,
    form: Annotated[str, typer.Option("--format", help="text, csv, json or parquet.")] = "text",
    out: Annotated[Path | None, typer.Option(help="Write to this file.")] = None,
    published: Annotated[
        bool, typer.Option("--published", help="Lay the paper's values beside these.")
    ] = False,
    rows: Annotated[
        str | None,
        typer.Option(help="The rows behind numbers, named as '5: nano:clip, color-n2 swap'."),
    ] = None,
    store: Annotated[str | None, typer.Option(help="Where artifacts are kept.")] = None,
) -> None:
    """Print Auto-Comp's tables from whatever has been built."""
    from bindbench.cli.tables import Asked, run_tables

    run_tables(Asked(tuple(number or ()), form, out, published, rows), suite, store)


@app.command()
def models(
    family: Annotated[str | None, typer.Option(help="Only this one, with every name.")] = None,
    as_json: Json = False,
) -> None:
    """List the model families: their names, how each is scored and what it needs."""
    from bindbench.cli.models import models_table, print_models

    found = models_table(family)
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    else:
        print_models(found, Console())


@app.command()
def doctor(
    suite: Annotated[str, typer.Option(help="A suite's name or file.")] = "embedded",
    store: Annotated[str | None, typer.Option(help="Where artifacts are kept.")] = None,
    workers: Annotated[int | None, typer.Option(help="Worker processes.")] = None,
    as_json: Json = False,
) -> None:
    """Say whether a suite can run on this machine, and what a run costs."""
    from bindbench.cli.doctor import run_doctor

    if not run_doctor(suite, store, workers, as_json):
        raise typer.Exit(1)


@train.command("validator")
def train_validator_command(
    out: Annotated[Path, typer.Option(help="Folder for the weights.")] = Path("validator"),
    scenes: Annotated[int | None, typer.Option(help="Rendered training scenes.")] = None,
    steps: Annotated[int | None, typer.Option(help="Training steps.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of scenes and training.")] = 0,
    workers: Annotated[int, typer.Option(help="Processes that render.")] = 2,
) -> None:
    """Rebuild the embedded detector from nothing, on its own renders."""
    from bindbench.training.validator import train_validator

    given: dict[str, Any] = {"scenes": scenes, "steps": steps}
    train_validator(
        out, seed=seed, workers=workers, **{k: v for k, v in given.items() if v is not None}
    )


@train.command("nano-clip")
def train_nano_clip_command(
    out: Annotated[Path, typer.Option(help="Folder for the two models' folders.")] = Path("nano"),
    scenes: Annotated[int | None, typer.Option(help="Rendered training scenes.")] = None,
    steps: Annotated[int | None, typer.Option(help="Contrastive steps; the rest scales.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of scenes and training.")] = 0,
    workers: Annotated[int, typer.Option(help="Processes that render.")] = 2,
    cache: Annotated[
        Path | None, typer.Option(help="Folder for the rendered scenes; default: in --out.")
    ] = None,
) -> None:
    """Rebuild the contrastive encoders nano:clip and nano:negclip from nothing."""
    from bindbench.training.nano_clip import Recipe, train_nano_clip

    recipe = Recipe() if steps is None else Recipe().shortened(steps)
    given: dict[str, Any] = {} if scenes is None else {"scenes": scenes}
    cache = cache or out / "scenes"
    train_nano_clip(out, cache=cache, seed=seed, workers=workers, recipe=recipe, **given)


@train.command("nano-vlm")
def train_nano_vlm_command(
    out: Annotated[Path, typer.Option(help="Folder for the two models' folders.")] = Path("nano"),
    scenes: Annotated[int | None, typer.Option(help="Scenes of distinct objects.")] = None,
    rows: Annotated[int | None, typer.Option(help="Scenes of like objects.")] = None,
    steps: Annotated[int | None, typer.Option(help="Steps with texts; the rest scales.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of scenes and training.")] = 0,
    workers: Annotated[int, typer.Option(help="Processes that render.")] = 2,
    cache: Annotated[
        Path | None, typer.Option(help="Folder for the rendered scenes; default: in --out.")
    ] = None,
) -> None:
    """Rebuild the generative models nano:vlm and nano:vlm-small from nothing."""
    from bindbench.training.nano_vlm import Recipe, train_nano_vlm

    recipe = Recipe() if steps is None else Recipe().shortened(steps)
    given: dict[str, Any] = {"scenes": scenes, "rows": rows}
    train_nano_vlm(
        out,
        cache=cache or out / "scenes",
        seed=seed,
        workers=workers,
        recipe=recipe,
        **{name: count for name, count in given.items() if count is not None},
    )


def list_options(arguments: list[str]) -> list[str]:
    """Let ``--objects cup chair`` stand for ``--objects cup --objects chair``."""
    out: list[str] = []
    option = None
    for argument in arguments:
        if argument.startswith("-"):
            option = argument if argument in ("--objects", "--labels") else None
            out.append(argument)
        elif option and out[-1] != option:
            out += [option, argument]
        else:
            out.append(argument)
    return out


class Plain(logging.Formatter):
    """Shows a record as the library wrote it, without what Dagster adds for its own log."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the message."""
        meta = getattr(record, "dagster_meta", None)
        return str(meta["orig_message"]) if meta else super().format(record)


def main() -> None:
    """Run the command; a user's mistake is one sentence and exit code 2."""
    # Beside what a command prints, so that --json is JSON.
    stderr = Console(stderr=True, soft_wrap=True)
    handler = RichHandler(
        console=stderr, show_time=False, show_level=False, show_path=False, markup=False
    )
    handler.setFormatter(Plain("%(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger("bindbench").setLevel(logging.INFO)
    try:
        app(args=list_options(sys.argv[1:]))
    except UserError as error:
        stderr.print(f"bindbench: {error}", style="red", markup=False, highlight=False)
        sys.exit(2)
    except (FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError) as error:
        if error.filename is None:
            raise
        reason = f"bindbench: {error.filename} can't be used here ({error.strerror}): give another."
        stderr.print(reason, style="red", markup=False, highlight=False)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
