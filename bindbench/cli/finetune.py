"""The command ``bindbench finetune``: Confusion as a training signal (Auto-Comp, Table 8)."""

import json
import logging
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from bindbench.text_files import write_text

log = logging.getLogger(__name__)


def finetune(
    model: Annotated[str, typer.Option(help="A contrastive model, as family:name@revision.")],
    benchmark: Annotated[list[str], typer.Option(help="To train on, such as color-n2.")],
    negatives: Annotated[
        list[str] | None, typer.Option(help="swap or confusion; default: both, for comparison.")
    ] = None,
    suite: Annotated[str, typer.Option(help="A suite's name or file.")] = "embedded",
    out: Annotated[Path, typer.Option(help="Folder for checkpoints and results.")] = Path(
        "finetuned"
    ),
    seeds: Annotated[int | None, typer.Option(help="Trainings of each kind; default 3.")] = None,
    track: Annotated[
        list[str] | None, typer.Option(help="To train on; default: minimal, as in the paper.")
    ] = None,
    semantics: Annotated[
        str | None, typer.Option(help="strict (default): no true caption is a negative; or paper.")
    ] = None,
    hard: Annotated[int | None, typer.Option(help="Hard negatives of a positive; 3.")] = None,
    samples: Annotated[int | None, typer.Option(help="Of each benchmark, at most; 5000.")] = None,
    split_seed: Annotated[int | None, typer.Option(help="Of the split by scenes; 0.")] = None,
    steps: Annotated[int | None, typer.Option(help="At most; 5000.")] = None,
    batch: Annotated[
        int | None, typer.Option(help="Positives; 2048, of sigmoid losses 4096.")
    ] = None,
    chunk: Annotated[
        int | None, typer.Option(help="Images or captions in memory with gradients; 256.")
    ] = None,
    rate: Annotated[float | None, typer.Option(help="Highest learning rate; 1e-6.")] = None,
    warm_up: Annotated[int | None, typer.Option(help="Steps; 500.")] = None,
    weight_decay: Annotated[float | None, typer.Option(help="Of matrices; 0.1.")] = None,
    check_every: Annotated[int | None, typer.Option(help="Steps between validations; 100.")] = None,
    patience: Annotated[
        int | None, typer.Option(help="Validations without a better one; 10.")
    ] = None,
    precision: Annotated[
        str | None, typer.Option(help="Of activations: float32 (default) or bfloat16.")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="An option of the model's family, as name=value.")
    ] = None,
    store: Annotated[str | None, typer.Option(help="Where artifacts are kept.")] = None,
    workers: Annotated[int | None, typer.Option(help="Worker processes that score.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Fine-tune a contrastive model on hard negatives, and print what that changed."""
    from bindbench.cli.evaluate import options_from
    from bindbench.suite import parse
    from bindbench.training.finetuning.recipe import Recipe

    given = {
        "negatives": negatives or None,
        "seeds": seeds,
        "tracks": track or None,
        "semantics": semantics,
        "hard": hard,
        "samples": samples,
        "split_seed": split_seed,
        "steps": steps,
        "batch": batch,
        "chunk": chunk,
        "rate": rate,
        "warm_up": warm_up,
        "weight_decay": weight_decay,
        "check_every": check_every,
        "patience": patience,
        "precision": precision,
    }
    fields: dict[str, Any] = {
        "model": model,
        "options": options_from(option or ()),
        "benchmarks": benchmark,
        **{name: value for name, value in given.items() if value is not None},
    }
    run_finetuning(parse(Recipe, fields, "finetune"), suite, out, store, workers, as_json)


def run_finetuning(
    recipe: Any, source: str, out: Path, store: str | None, workers: int | None, as_json: bool
) -> None:
    """Train, measure, write the results beside the checkpoints, and print them."""
    from bindbench.cli.places import store_of, suite_of, workers_of
    from bindbench.engine.local import LocalEngine
    from bindbench.pipeline.base import Context
    from bindbench.pipeline.finetuned import RESULT, built_keys, measure, to_json, train_all
    from bindbench.pipeline.progress import log_progress
    from bindbench.reporting.finetuning import facts, gain_grid
    from bindbench.reporting.tables import to_table
    from bindbench.storage.store import Store

    suite = suite_of(source)
    engine = LocalEngine(workers_of(workers))
    context = Context(suite, Store(store_of(store), suite.name), engine, log_progress)
    say = Console(stderr=as_json)
    try:
        trained = train_all(context, recipe, out, log.info)
        result = measure(context, trained, built_keys(context))
    finally:
        engine.close()
    write_text(out / RESULT, to_json(result))
    if as_json:
        print(json.dumps(result, indent=2, ensure_ascii=False))
        return
    say.print(to_table(gain_grid(result)))
    for line in (*facts(result), *(f"Model: {one['model']}" for one in result["trainings"])):
        say.print(line, soft_wrap=True, highlight=False)
    say.print(f"Results: {out / RESULT}", soft_wrap=True, highlight=False)
