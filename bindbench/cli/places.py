"""What the commands work on: the checkout, the suite, the store and the worker processes."""

import os
from pathlib import Path

from bindbench.engine.choice import open_engine
from bindbench.errors import UserError
from bindbench.suite import Suite, load_suite


def project_folder() -> Path:
    """Return the nearest folder, from here upwards, that holds a workspace.yaml."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "workspace.yaml").is_file() and (folder / "suites").is_dir():
            return folder
    raise UserError(
        f"No workspace.yaml in {here} or above it: run this command in a checkout of BindBench."
    )


def suite_of(source: str) -> Suite:
    """Return the suite of a file, or of a name in the checkout."""
    if source.endswith((".yaml", ".yml")):
        return load_suite(source)
    return load_suite(source, project_folder() / "suites")


def store_of(store: str | None) -> str:
    """Return the store that is named, else that of BINDBENCH_STORE, else the checkout's own."""
    return store or os.environ.get("BINDBENCH_STORE") or str(project_folder() / "store")


def workers_of(workers: int | None) -> int:
    """Return the number that is given, else that of BINDBENCH_WORKERS, else one for each core."""
    text = os.environ.get("BINDBENCH_WORKERS", "") if workers is None else str(workers)
    if text and (not text.isdecimal() or int(text) < 1):
        raise UserError(f"BINDBENCH_WORKERS (or --workers) is {text!r}: give a number from 1 up.")
    return int(text) if text else os.cpu_count() or 1


def use_engine(name: str | None) -> None:
    """Let what this process computes be computed by the engine that is named, if one is.

    Raises:
        UserError: there is no such engine, or its package is missing.
    """
    if name:
        os.environ["BINDBENCH_ENGINE"] = name
    open_engine(workers=1)
