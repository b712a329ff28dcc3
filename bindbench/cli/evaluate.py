"""The command ``bindbench evaluate``: one model on the built benchmarks of a suite."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console

from bindbench.cli.places import store_of, suite_of, workers_of
from bindbench.engine.base import ShardError
from bindbench.engine.choice import open_engine
from bindbench.errors import UserError, unknown_name
from bindbench.pipeline import negatives, one_model, prompt_check
from bindbench.pipeline.base import Context
from bindbench.pipeline.progress import log_progress
from bindbench.releases.record import joined, read_record
from bindbench.reporting.evaluation import model_grid, prompt_grid, readout_grid
from bindbench.reporting.tables import to_table
from bindbench.storage.store import Artifact, Store
from bindbench.suite import RoleSettings
from bindbench.tasks import TRACKS, get_benchmark

BASE = ""  # in place of a prompt's name: the settings as they are


@dataclass(frozen=True)
class Asked:
    """What the command line asks for."""

    model: str
    benchmarks: tuple[str, ...] = ()  # none: all that are built
    options: tuple[str, ...] = ()  # name=value
    batch_size: int | None = None
    prompts: bool = False
    repair: bool = False  # score damaged shards again


@dataclass
class Found:
    """What was scored: by the name of a prompt, ``BASE`` if there is only one."""

    settings: dict[str, RoleSettings]
    scores: dict[str, dict[str, Artifact]] = field(default_factory=dict)  # by benchmark
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # of the leaderboard
    prompts: list[dict[str, Any]] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)  # benchmark -> why


def run_evaluation(
    asked: Asked, source: str, store: str | None, workers: int | None, as_json: bool
) -> bool:
    """Score a model, print its accuracies, and return whether every benchmark was scored."""
    place = Store(store_of(store), suite_of(source).name)
    suite = joined(suite_of(source), read_record(place))
    changes = one_model.Changes(options_from(asked.options), asked.batch_size)
    settings = one_model.settings_of(suite, asked.model, changes)
    engine = open_engine(workers_of(workers))
    context = Context(suite, place, engine, log_progress, asked.repair)
    say = Console(stderr=as_json)
    try:
        keys = choose(context, asked.benchmarks, say)
        found = evaluate(context, keys, settings, asked.prompts, say)
    finally:
        engine.close()
    if as_json:
        print(json.dumps(to_json(context, found), indent=2, ensure_ascii=False))
    else:
        print_found(found, say)
    for key, why in found.failures.items():
        say.print(f"{key}: {why}", style="red", markup=False, highlight=False, soft_wrap=True)
    return not found.failures


def options_from(texts: Sequence[str]) -> dict[str, Any]:
    """Return a family's options from texts such as ``dtype=bfloat16``.

    A value that is JSON is read as such: true, 0.5, null, ["a"]. Any other is a text.

    Raises:
        UserError: a text is not of the form name=value.
    """
    options = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UserError(f"Option {text!r} is not of the form name=value.")
        try:
            options[name] = json.loads(value)
        except ValueError:
            options[name] = value
    return options


def choose(context: Context, wanted: Sequence[str], say: Console) -> list[str]:
    """Return the benchmarks to score: those asked for, or all of the suite that are built.

    Raises:
        UserError: one that was asked for is not of the suite or not built, or none is built.
    """
    known = context.suite.benchmarks
    for key in wanted:
        if get_benchmark(key).key not in known:
            raise unknown_name("benchmark", key, known, f"suite {context.suite.name}")
    keys = list(dict.fromkeys(wanted)) or list(known)
    built = one_model.built(context, keys)
    missing = [key for key in keys if key not in built]
    if missing and (wanted or not built):
        raise one_model.not_built(context, missing)
    if missing:
        say.print(f"Not built yet, left out: {', '.join(missing)}", highlight=False)
    return built


def evaluate(
    context: Context, keys: Sequence[str], settings: RoleSettings, prompts: bool, say: Console
) -> Found:
    """Score a model on benchmarks; one that fails does not stop the others."""
    variants = prompt_check.variants(settings) if prompts else {BASE: settings}
    found = Found(variants)
    for number, key in enumerate(keys, 1):
        say.rule(f"{key}: {_size(context, key)} ({number}/{len(keys)})")
        try:
            cells = {
                prompt: one_model.score(context, key, variant, base=settings)
                for prompt, variant in variants.items()
            }
        except (UserError, ShardError) as error:
            found.failures[key] = str(error)
            say.print(f"{key} failed", style="red")
            continue
        for prompt, artifact in cells.items():
            found.scores.setdefault(prompt, {})[key] = artifact
    for prompt, scores in found.scores.items():
        found.rows[prompt] = one_model.rows_of(context, settings, scores)
    if prompts and found.scores:
        found.prompts = list(prompt_check.prompt_rows(context, found.scores, found.rows))
    return found


def _size(context: Context, key: str) -> str:
    """Return how much there is to score."""
    items = context.current(negatives.NAME, key)
    captions = items.rows + sum(items.summary["candidates"].values())
    return f"{items.rows:,} images, {captions:,} captions"


def to_json(context: Context, found: Found) -> dict[str, Any]:
    """Return everything that was scored, as JSON data."""
    return {
        "suite": context.suite.name,
        "store": str(context.store.root),
        "runs": [
            {
                "prompt": prompt or None,
                **found.settings[prompt].model_dump(mode="json"),
                "scores": {key: _place(artifact) for key, artifact in scores.items()},
                "rows": found.rows[prompt],
            }
            for prompt, scores in found.scores.items()
        ],
        "prompts": found.prompts,
        "failures": found.failures,
    }


def _place(artifact: Artifact) -> dict[str, Any]:
    return {
        "path": str(artifact.path),
        "partition": artifact.partition,
        "fingerprint": artifact.fingerprint,
        "items": artifact.rows,
        "summary": artifact.summary,
    }


def print_found(found: Found, say: Console) -> None:
    """Print the tables, and where the scores are."""
    if found.prompts:
        say.print(to_table(prompt_grid(found.prompts)))
    elif found.scores:
        print_rows(found.rows[BASE], say)
    for prompt, scores in found.scores.items():
        of = f" under the prompt {prompt!r}" if prompt else ""
        for artifact in scores.values():
            say.print(f"Scores{of}: {artifact.path}", soft_wrap=True, highlight=False)
            if usage := artifact.summary.get("usage"):
                say.print(f"  {_usage(usage)}", soft_wrap=True, highlight=False)


def _usage(usage: Mapping[str, Any]) -> str:
    """Say what the answers of a server took, as ``bindbench.scoring.choice.usage_of`` counts."""
    cost = f", cost {usage['cost']:,.4g}" if "cost" in usage else ""
    return (
        f"{usage['answers']:,} answers, {usage['input_tokens']:,} tokens read, "
        f"{usage['output_tokens']:,} written{cost}; {usage['unreadable']:,} questions without a "
        "readable answer"
    )


def print_rows(rows: Sequence[dict[str, Any]], say: Console) -> None:
    """Print the accuracies of both tracks, and by every readout."""
    say.rule(rows[0]["model"])
    for track in TRACKS:
        say.print(to_table(model_grid(rows, track)))
    if grid := readout_grid(rows):
        say.print(to_table(grid))
