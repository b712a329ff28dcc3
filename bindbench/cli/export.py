"""The command ``bindbench export``: a built suite in a format that another project reads."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bindbench.errors import unknown_name

FORMATS = ("huggingface", "lmms-eval", "clip-benchmark", "inspect")


def export(
    form: Annotated[str, typer.Argument(metavar="FORMAT", help=f"{', '.join(FORMATS)}.")],
    out: Annotated[Path, typer.Argument(help="A new folder.")],
    suite: Annotated[str, typer.Option(help="A suite's name or file.")] = "embedded",
    benchmark: Annotated[
        list[str] | None, typer.Option(help="Only these benchmarks; default: all that are built.")
    ] = None,
    store: Annotated[str | None, typer.Option(help="Where artifacts are kept.")] = None,
) -> None:
    """Write the accepted images and their candidates for another project's evaluation."""
    if form not in FORMATS:
        raise unknown_name("format", form, FORMATS)
    from bindbench.cli.places import store_of, suite_of
    from bindbench.exporting import clip_benchmark, huggingface, inspect_task, lmms_eval
    from bindbench.exporting.items import open_suite
    from bindbench.storage.store import Store

    opened = suite_of(suite)
    found = open_suite(opened, Store(store_of(store), opened.name), benchmark or [])

    def say(text: str) -> None:
        Console().print(text, highlight=False, markup=False, soft_wrap=True)

    if form == "huggingface":
        files = huggingface.export(found, out)
        say(f"{sum(file.rows for file in files):,} images in {len(files)} files: {out}")
    elif form == "lmms-eval":
        for name in lmms_eval.export(found, out):
            say(name)
        say(f"lmms-eval --include_path {out / 'tasks'} --tasks ... reads these tasks.")
    elif form == "clip-benchmark":
        for name, count in clip_benchmark.export(found, out).items():
            say(f"{out / name}: {count:,} images")
    else:
        for name, count in inspect_task.export(found, out).items():
            say(f"{name}: {count:,} samples")
        say(f"inspect eval {out / inspect_task.TASK} -T benchmark=... -T track=... -T family=...")
