"""The command ``bindbench backfill``: some partitions of a suite, by task, N and model."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from rich.console import Console

from bindbench.cli.pipeline import (
    Overrides,
    Runner,
    load_definitions,
    prepare,
    refresh_releases,
    set_environment,
)
from bindbench.cli.places import project_folder
from bindbench.cli.processes import release_dead_runs
from bindbench.errors import UserError, unknown_name
from bindbench.models.family import ModelName
from bindbench.pipeline import one_model, spine
from bindbench.suite import Suite
from bindbench.tasks import TASKS

if TYPE_CHECKING:
    from bindbench.cli.pipeline import Build

SPARED = "its benchmark failed"


@dataclass(frozen=True)
class Wanted:
    """What the command line asks for; nothing means all."""

    tasks: tuple[str, ...] = ()
    ns: tuple[int, ...] = ()
    models: tuple[str, ...] = ()  # only scores then: benchmarks are not built

    def benchmarks(self, suite: Suite) -> list[str]:
        """Return the benchmarks of a suite that are asked for.

        Raises:
            UserError: a task does not exist, or the suite has no such benchmark.
        """
        for task in self.tasks:
            if task not in TASKS:
                raise unknown_name("task", task, TASKS)
        found = [
            benchmark.key
            for benchmark in suite.resolved_benchmarks
            if (not self.tasks or benchmark.task.name in self.tasks)
            and (not self.ns or benchmark.n in self.ns)
        ]
        if not found:
            asked = f"--task {' '.join(self.tasks) or 'any'}, --n {_text(self.ns) or 'any'}"
            raise UserError(
                f"Suite {suite.name} has no benchmark of {asked}: it has "
                f"{', '.join(suite.benchmarks)}."
            )
        return found

    def slugs(self, suite: Suite) -> list[str]:
        """Return the partition keys of the models that are asked for.

        A model is named as in the suite, without its revision, or by its partition key.

        Raises:
            UserError: the suite evaluates no such model.
        """
        names = [ModelName.parse(settings.model) for settings in suite.profile.scorers]
        spellings = {n.slug: {str(n), n.slug, f"{n.family}:{n.name}"} for n in names}
        for model in self.models:
            if not any(model in known for known in spellings.values()):
                where = f"the models that suite {suite.name} evaluates"
                raise unknown_name("model", model, map(str, names), where)
        wanted = set(self.models)
        return [slug for slug, known in spellings.items() if not wanted or wanted & known]


def _text(numbers: Sequence[int]) -> str:
    return " ".join(map(str, numbers))


@dataclass(frozen=True)
class Step:
    """One partition of one job."""

    job: str
    key: str  # the benchmark
    partition: str
    build: "Build"

    @property
    def title(self) -> str:
        """The step in words."""
        return f"{self.job} {self.partition}"


def run_backfill(
    source: str,
    wanted: Wanted,
    store: str | None,
    workers: int | None,
    repair: bool,
    console: Console,
) -> bool:
    """Bring partitions up to date, print a summary, and return whether none failed."""
    folder = project_folder()
    set_environment(folder, store, workers)
    prepare(source, Overrides())
    definitions = load_definitions(folder)
    from dagster import DagsterInstance

    with DagsterInstance.get() as instance:
        runner = Runner(definitions, instance, repair, console)
        refresh_releases(runner.context(), console)
        suite = runner.context().suite
        steps = list(plan(suite, wanted))
        release_dead_runs(instance)
        instance.add_dynamic_partitions("model", Wanted().slugs(suite))
        runner.update("list_words", spine.build_vocabulary)
        failed = run_steps(runner, steps)
        if not runner.update("summarize", spine.summarize):
            failed["summarize"] = "see above"
    print_summary(steps, failed, console)
    return not failed


def plan(suite: Suite, wanted: Wanted) -> Iterator[Step]:
    """Yield the steps: each benchmark before its scores."""
    from dagster import MultiPartitionKey

    keys, slugs = wanted.benchmarks(suite), wanted.slugs(suite)
    for key in keys:
        if not wanted.models:
            yield Step("build_benchmark", key, key, partial(spine.build_benchmark, key=key))
        for slug in slugs:
            cell = MultiPartitionKey({"benchmark": key, "model": slug})
            yield Step("score_model", key, cell, partial(spine.score_model, key=key, slug=slug))


def run_steps(runner: Runner, steps: Sequence[Step]) -> dict[str, str]:
    """Run the steps and return why some failed; one that fails stops only what needs it."""
    failed: dict[str, str] = {}
    started = time.monotonic()
    for number, step in enumerate(steps):
        left = (time.monotonic() - started) / number * (len(steps) - number) if number else 0
        about = f", about {left / 60:.0f} min left" if left >= 60 else ""
        runner.console.rule(f"{step.title} ({number + 1}/{len(steps)}{about})")
        why = obstacle(runner, step, failed)
        if why:
            runner.console.print(f"{step.title}: {why}", style="red", markup=False)
        elif not runner.update(step.job, step.build, step.partition):
            why = "see above"
        if why:
            failed[step.title] = why
    return failed


def obstacle(runner: Runner, step: Step, failed: dict[str, str]) -> str:
    """Return why a step can't run, "" if it can."""
    if step.job != "score_model":
        return ""
    if f"build_benchmark {step.key}" in failed:
        return SPARED
    context = runner.context()
    if not one_model.built(context, [step.key]):
        return str(one_model.not_built(context, [step.key]))
    return ""


def print_summary(steps: Sequence[Step], failed: dict[str, str], console: Console) -> None:
    """Print how many partitions are up to date now, and which are not."""
    good = sum(step.title not in failed for step in steps)
    console.rule("Backfill")
    console.print(f"{good} of {len(steps)} partitions are up to date.", highlight=False)
    for title, why in failed.items():
        console.print(f"{title} failed: {why}", style="red", markup=False, soft_wrap=True)
