"""ConMe's part of ``bindbench run``, and ``bindbench conme run``."""

from functools import partial
from typing import TYPE_CHECKING

from rich.console import Console

from bindbench.errors import UserError
from bindbench.suite import Suite

if TYPE_CHECKING:
    from bindbench.cli.pipeline import Runner


def converse(runner: "Runner", suite: Suite) -> bool:
    """Let each panel converse about each set; return whether every step passed."""
    from dagster import MultiPartitionKey

    from bindbench.pipeline import spine
    from bindbench.pipeline.conme_cells import cell

    if suite.conme is None:
        return True
    good = True
    for number, name in enumerate(suite.conme.sets, 1):
        runner.console.rule(f"ConMe: {name} ({number}/{len(suite.conme.sets)})")
        shown = runner.update("show_conme", partial(spine.show_conme, name=name), name)
        good &= shown
        for panel in suite.conme.panels if shown else ():
            key = MultiPartitionKey({"set": name, "panel": panel})
            where = cell(name, panel)
            held = runner.update("converse", partial(spine.converse, where=where), key)
            good &= held and _evaluate(runner, suite, where, key)
    return runner.update("summarize_conme", spine.summarize_conme) and good


def _evaluate(runner: "Runner", suite: Suite, where: str, key: str) -> bool:
    """Look again at a conversation's samples and put them to every model."""
    from dagster import MultiPartitionKey

    from bindbench.pipeline import spine
    from bindbench.pipeline.conme_cells import models_of

    good = runner.update("review_conme", partial(spine.review_conme, where=where), key)
    for name in models_of(suite, where):
        step = partial(spine.evaluate_conme, where=where, slug=name)
        model = MultiPartitionKey({"conversation": where, "model": name})
        good &= runner.update("evaluate_conme", step, model)
    return good


def run_conme(
    source: str, store: str | None, workers: int | None, repair: bool, console: Console
) -> bool:
    """Build what a suite's section ``conme`` needs and says; return whether every step passed.

    Raises:
        UserError: the suite has no such section, or something in it can't be.
    """
    from bindbench.cli import pipeline

    folder = pipeline.project_folder()
    pipeline.set_environment(folder, store, workers)
    suite = pipeline.prepare(source, pipeline.Overrides())
    if suite.conme is None:
        raise UserError(
            f"The suite {suite.name} has no section conme: add one with its sets and panels."
        )
    definitions = pipeline.load_definitions(folder)
    from dagster import DagsterInstance

    with DagsterInstance.get() as instance:
        runner = pipeline.Runner(definitions, instance, repair, console)
        pipeline.release_dead_runs(instance)
        good = _benchmarks(runner, suite) and converse(runner, suite)
        print_conversations(runner, console)
    return good


def _benchmarks(runner: "Runner", suite: Suite) -> bool:
    """Build the benchmarks that the sets take their images from."""
    from bindbench.pipeline import spine

    assert suite.conme is not None
    sets = suite.conme.sets.values()
    keys = dict.fromkeys(one.benchmark for one in sets if one.source == "validated")
    good = not keys or runner.update("list_words", spine.build_vocabulary)
    for key in keys if good else ():
        good &= runner.update("build_benchmark", partial(spine.build_benchmark, key=key), key)
    return good


def print_conversations(runner: "Runner", console: Console) -> None:
    """Print how many questions each conversation led to, if any, and how many were truly right."""
    from bindbench.pipeline.conme_conversations import conversation_rows
    from bindbench.reporting.conme_stages import conversation_grid
    from bindbench.reporting.tables import to_table

    if rows := conversation_rows(runner.context()):
        console.print(to_table(conversation_grid(rows)))
