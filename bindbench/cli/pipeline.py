"""Drives the definitions of the nearest workspace: ``bindbench run`` and ``bindbench ui``.

The one place of the library that knows Dagster: it goes through the same definitions as the UI.
"""

import importlib.util
import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from rich.console import Console

from bindbench.cli.conme_run import converse
from bindbench.cli.places import project_folder, store_of, workers_of
from bindbench.cli.processes import PROCESS_TAG, release_dead_runs, this_process
from bindbench.errors import UserError
from bindbench.suite import MatchPrior, Suite, load_suite, read_yaml, resolve_suite, suite_fields
from bindbench.text_files import write_text

if TYPE_CHECKING:
    from dagster import DagsterInstance, Definitions, ExecuteInProcessResult

    from bindbench.pipeline.base import Context
    from bindbench.storage.store import Artifact

    Build = Callable[[Context], list[Artifact]]


logger = logging.getLogger(__name__)
# Sections of a suite that "only these benchmarks" leaves out.
SECTIONS = ("instabind", "conme", "finetuning")
WRITTEN = "# Written by bindbench run, which may replace it.\n"


@dataclass(frozen=True)
class Overrides:
    """What the command line changes in a suite."""

    benchmarks: tuple[str, ...] = ()
    concepts: int | dict[str, int] | None = None
    seed: int | None = None
    name: str | None = None
    match_prior: bool | None = None  # None: as the suite has it

    def apply(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Return a suite's fields with the changes, under a name of its own."""
        changes: dict[str, Any] = {}
        if self.benchmarks:
            changes["benchmarks"] = list(self.benchmarks)
            changes |= dict.fromkeys(name for name in SECTIONS if name in fields)
        if self.concepts is not None:
            changes["concepts"] = self.concepts
        if self.seed is not None:
            changes["seed"] = self.seed
        if self.match_prior is not None and self.match_prior != bool(fields.get("match_prior")):
            changes["match_prior"] = MatchPrior().model_dump() if self.match_prior else None
        if not changes and not self.name:
            return fields
        name = self.name or f"{fields['name'].removesuffix('-custom')}-custom"
        return {**fields, **changes, "name": name}


def changed_suite(source: str, overrides: Overrides) -> Suite:
    """Return the suite with its changes; nothing is written."""
    load_suite(source, project_folder() / "suites")
    return resolve_suite(overrides.apply(suite_fields(_file_of(source))), source)


def _file_of(source: str) -> Path:
    if source.endswith((".yaml", ".yml")):
        return Path(source)
    return project_folder() / f"suites/{source}.yaml"


def prepare(source: str, overrides: Overrides) -> Suite:
    """Validate the suite with its changes and write it to a suite file of its own."""
    folder = project_folder()
    suite = load_suite(source, folder / "suites")
    path = _file_of(source)
    fields = suite_fields(path)
    changed = overrides.apply(fields)
    if changed != fields:
        target = folder / "suites" / f"{changed['name']}.yaml"
        suite = resolve_suite(changed, str(target))
        if target.exists() and not target.read_text(encoding="utf-8").startswith(WRITTEN):
            raise UserError(
                f"{target} was written by hand and would be replaced: give another --name."
            )
        path = target
    validate(suite)
    if changed != fields:  # only now: a refused run leaves no suite file
        write_text(path, WRITTEN + yaml.safe_dump(changed, sort_keys=False))
    os.environ["BINDBENCH_SUITE"] = str(path.resolve())
    return suite


def validate(suite: Suite) -> None:
    """Check models, vocabularies, spaces and the store before anything starts."""
    from bindbench.pipeline.preflight import check_suite
    from bindbench.storage.store import Store

    check_suite(suite)
    Store(store_of(None), suite.name).check_writable()


def load_definitions(folder: Path) -> "Definitions":
    """Load the definitions that workspace.yaml names."""
    entry = read_yaml(folder / "workspace.yaml")["load_from"][0]["python_file"]
    path = folder / entry["relative_path"]
    spec = importlib.util.spec_from_file_location("bindbench_definitions", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.defs


def set_environment(folder: Path, store: str | None, workers: int | None) -> None:
    """Set what the definitions read: the store, the workers and Dagster's home."""
    home = Path(os.environ.get("DAGSTER_HOME") or folder / "dagster_home").resolve()
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"DAGSTER_HOME {home} is no folder ({error}): name one.") from None
    settings = home / "dagster.yaml"
    if not settings.exists():  # Dagster's own defaults have telemetry on and no pools
        write_text(settings, (folder / "dagster_home/dagster.yaml").read_text(encoding="utf-8"))
        logger.info("%s is new: it has the settings of this project's dagster_home", settings)
    os.environ["DAGSTER_HOME"] = str(home)
    if store:
        os.environ["BINDBENCH_STORE"] = store
    os.environ["BINDBENCH_WORKERS"] = str(workers_of(workers))


def run_suite(
    source: str,
    overrides: Overrides,
    store: str | None,
    workers: int | None,
    repair: bool,
    console: Console,
) -> bool:
    """Build a suite, print its tables, and return whether every step and check passed."""
    folder = project_folder()
    set_environment(folder, store, workers)
    suite = prepare(source, overrides)
    definitions = load_definitions(folder)
    from dagster import DagsterInstance

    from bindbench.cli.summary import print_summary

    with DagsterInstance.get() as instance:
        runner = Runner(definitions, instance, repair, console)
        refresh_releases(runner.context(), console)
        release_dead_runs(instance)
        good = runner.run(suite)
        print_summary(runner.context(), console)
    return good


def refresh_releases(context: "Context", console: Console) -> None:
    """Bring the record of releases up to date with the models file; print what stood in the way."""
    from bindbench.releases.record import read_record, write_record
    from bindbench.releases.refresh import refresh

    suite = load_suite(os.environ["BINDBENCH_SUITE"])
    found = refresh(suite, read_record(context.store), look=False)
    write_record(context.store, found.record)
    for problem in found.problems:
        console.print(problem, style="yellow", markup=False, soft_wrap=True)


@dataclass
class Runner:
    """Runs the jobs of a suite one after the other in this process."""

    definitions: "Definitions"
    instance: "DagsterInstance"
    repair: bool
    console: Console

    def context(self) -> "Context":
        """Return the library's context as the definitions make it."""
        return (self.definitions.resources or {})["bench"].context()

    def run(self, suite: Suite) -> bool:
        """Run every partition that is not up to date; one that fails does not stop the others."""
        from bindbench.pipeline import spine

        slugs = self.models()
        good, built = self.update("list_words", spine.build_vocabulary), []
        for number, key in enumerate(suite.benchmarks, 1):
            self.console.rule(f"{key} ({number}/{len(suite.benchmarks)})")
            if self.update("build_benchmark", partial(spine.build_benchmark, key=key), key):
                built.append(key)
                good &= self.score(key, slugs)
        good &= len(built) == len(suite.benchmarks)
        good &= self.finetune(suite, built, slugs)
        good &= self.instabind(suite)
        good &= converse(self, suite)
        return self.update("summarize", spine.summarize) and good

    def models(self) -> list[str]:
        """Return the partition keys of the models to evaluate, which exist then."""
        from bindbench.models.family import ModelName

        scorers = self.context().suite.profile.scorers  # with those of the models file
        slugs = [ModelName.parse(settings.model).slug for settings in scorers]
        self.instance.add_dynamic_partitions("model", slugs)
        return slugs

    def score(self, key: str, slugs: Sequence[str]) -> bool:
        """Score models on a benchmark."""
        from dagster import MultiPartitionKey

        from bindbench.pipeline import spine

        good = True
        for slug in slugs:
            cell = MultiPartitionKey({"benchmark": key, "model": slug})
            score = partial(spine.score_model, key=key, slug=slug)
            good &= self.update("score_model", score, cell)
        return good

    def finetune(self, suite: Suite, keys: Sequence[str], scored: Sequence[str]) -> bool:
        """Train as the suite's section says, if it has one, and score what comes out."""
        if suite.finetuning is None:
            return True
        self.console.rule("Fine-tuning")
        good = self.job("finetune")  # it keeps trainings that are finished
        new = [slug for slug in self.models() if slug not in scored]
        for key in keys:
            good &= self.score(key, new)
        return good

    def instabind(self, suite: Suite) -> bool:
        """Run InstaBind's sets, questions, answers and results, if the suite has them."""
        from dagster import MultiPartitionKey

        from bindbench.models.family import ModelName
        from bindbench.pipeline import instabind_answers, spine

        if suite.instabind is None:
            return True
        section, good = suite.instabind, True
        slugs = [ModelName.parse(one.model).slug for one in section.models]
        for number, (name, one) in enumerate(section.sets.items(), 1):
            self.console.rule(f"InstaBind: {name} ({number}/{len(section.sets)})")
            built = one.source != "generated" or self.update(
                "draw_instabind", partial(spine.draw_instabind, name=name), name
            )
            ask = partial(spine.ask_instabind, name=name)
            built = built and self.update("ask_instabind", ask, name)
            good &= built
            for setting in section.settings if built else ():
                place = instabind_answers.cell(name, setting)
                for slug in slugs:
                    cell = MultiPartitionKey({"set_setting": place, "model": slug})
                    answer = partial(spine.answer_instabind, place=place, slug=slug)
                    good &= self.update("answer_instabind", answer, cell)
        return self.update("summarize_instabind", spine.summarize_instabind) and good

    def update(self, name: str, build: "Build", partition: str | None = None) -> bool:
        """Run a job unless its last run succeeded with just what the library would build now."""
        if not self.repair and self.is_current(name, build, partition):
            self.console.print(f"{name} {partition or ''}: up to date", highlight=False)
            return True
        return self.job(name, partition)

    def is_current(self, name: str, build: "Build", partition: str | None) -> bool:
        """Whether nothing would be computed, and Dagster's last run recorded the same content."""
        from dagster import DagsterRunStatus, RunsFilter

        from bindbench.pipeline.spine import IdleEngine, Outdated

        try:
            artifacts = build(replace(self.context(), engine=IdleEngine(), on_progress=None))
        except (Outdated, UserError):
            return False
        tags = {"dagster/partition": partition} if partition else {}
        runs = self.instance.get_runs(RunsFilter(job_name=name, tags=tags), limit=1)
        if not runs or runs[0].status != DagsterRunStatus.SUCCESS:
            return False
        return all(self.recorded_digest(a.asset, partition) == a.digest for a in artifacts)

    def recorded_digest(self, asset: str, partition: str | None) -> str | None:
        """Return the data version of an asset's last materialization."""
        from dagster import AssetKey, AssetRecordsFilter

        wanted = AssetRecordsFilter(
            asset_key=AssetKey(asset), asset_partitions=[partition] if partition else None
        )
        records = self.instance.fetch_materializations(wanted, limit=1).records
        made = records[0].asset_materialization if records else None
        return (made.tags or {}).get("dagster/data_version") if made else None

    def job(self, name: str, partition: str | None = None) -> bool:
        """Run one job and print why it failed, if it did."""
        release_dead_runs(self.instance)  # one killed meanwhile would hold a pool's slot for ever
        result = self.definitions.resolve_job_def(name).execute_in_process(
            instance=self.instance,
            partition_key=partition,
            raise_on_error=False,
            tags={PROCESS_TAG: this_process()},
            run_config={
                "loggers": {"console": {"config": {"log_level": "CRITICAL"}}},
                "resources": {"bench": {"config": {"repair": self.repair}}},
            },
        )
        if interrupted(result):
            raise KeyboardInterrupt
        for line in failures(result):
            where = f" of {partition}" if partition else ""
            self.console.print(f"{name}{where}: {line}", style="red", markup=False)
        return result.success


def interrupted(result: "ExecuteInProcessResult") -> bool:
    """Whether the user stopped the job."""
    errors = [e.step_failure_data.error for e in result.all_events if e.is_step_failure]
    return any(error and error.cls_name == "DagsterExecutionInterruptedError" for error in errors)


# Errors whose message says it all; what caused them says less.
SPEAKING = ("UserError", "DamageError", "ShardError")


def failures(result: "ExecuteInProcessResult") -> list[str]:
    """Return one line for each failed step and each failed check, or why the run itself failed."""
    lines = []
    for event in result.all_events:
        if event.event_type_value == "PIPELINE_FAILURE" and event.job_failure_data.error:
            lines.append(event.job_failure_data.error.message.strip())
        if event.is_step_failure:
            error = event.step_failure_data.error
            while error and error.cause and error.cls_name not in SPEAKING:
                error = error.cause
            if error and error.cls_name == "DagsterAssetCheckFailedError":
                continue  # the check itself says more, below
            message = error.message if error else "a step failed"
            lines.append(message.split("Traceback")[0].strip().split(": ", 1)[-1])
    for check in result.get_asset_check_evaluations():
        if not check.passed:
            reasons = "; ".join(check.metadata["failed"].value)  # type: ignore[arg-type]
            asset = check.asset_key.to_user_string()
            lines.append(f"check {check.check_name} of {asset} failed: {reasons}")
    return lines


def open_ui(source: str, port: int) -> None:
    """Become Dagster's webserver and daemon on 127.0.0.1: what ends this process ends them."""
    folder = project_folder()
    set_environment(folder, None, None)
    prepare(source, Overrides())
    command = [sys.executable, "-m", "dagster", "dev", "-w", str(folder / "workspace.yaml")]
    # Scripts start what they put in the background with interrupts ignored, and Dagster then
    # ignores SIGTERM too.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.chdir(folder)
    os.execv(sys.executable, [*command, "-h", "127.0.0.1", "-p", str(port)])
