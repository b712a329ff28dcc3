"""Fine-tuning on what a suite has built, and what it changed (Auto-Comp, Table 8).

Each training's checkpoint is a model like any other: it is scored by the code of the asset
``model_scores``, into partitions of its own. The results are of scenes that no training has seen.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa

from bindbench.analysis.accuracy import Design, Mode, outcomes_of
from bindbench.concepts import content_id
from bindbench.errors import UserError
from bindbench.pipeline import negatives, one_model
from bindbench.pipeline.base import UNPARTITIONED, Context, table
from bindbench.pipeline.progress import logger
from bindbench.pipeline.scored import ScoredSet, scored_set
from bindbench.releases.record import Release, read_record, write_record
from bindbench.storage.datasets import Shard
from bindbench.storage.paths import is_local
from bindbench.storage.store import Artifact
from bindbench.suite import RoleSettings, Suite, parse
from bindbench.tasks import TRACKS
from bindbench.training.finetuning.gains import Gain, gain, stacked
from bindbench.training.finetuning.parts import Split, scenes_of, split
from bindbench.training.finetuning.recipe import Negatives, Recipe
from bindbench.training.finetuning.splits import part_of

NAME = "finetuned"
CODE_VERSION = "1"
RESULT = "finetuning.json"
SCHEMA = pa.schema(
    [
        ("benchmark", pa.string()),
        ("track", pa.string()),
        ("family", pa.string()),
        ("semantics", pa.string()),
        ("change", pa.string()),  # by training on swap, on confusion; extra: of confusion over swap
        ("trained", pa.bool_()),
        ("n_items", pa.int64()),
        ("chance", pa.float64()),
        ("pretrained", pa.float64()),
        *((name, pa.float64()) for name in ("value", "low", "high", "wide_low", "wide_high")),
        ("seeds", pa.list_(pa.float64())),
    ]
)
BATCH_SIZE = 64  # items in one call of a scorer
MODES: tuple[Mode, ...] = get_args(Mode)


@dataclass(frozen=True)
class Trained:
    """The checkpoints of a recipe."""

    recipe: Recipe
    split: Split
    records: list[dict[str, Any]]  # of the trainings, each with the name of its model

    def models(self, kind: Negatives) -> list[str]:
        """Return the models of one kind, by seed."""
        return [r["model"] for r in self.records if r["negatives"] == kind]


def train_all(
    context: Context, recipe: Recipe, folder: Path, report: Callable[[str], None]
) -> Trained:
    """Train with each kind of negatives and each seed; finished trainings stay as they are.

    Args:
        context: the suite, of which the recipe's benchmarks are built.
        recipe: the settings.
        folder: for the trainings, each in a folder of its own.
        report: takes a line of progress.

    Raises:
        UserError: the model, the data or the folder is not fit for it; see what it calls.
    """
    from bindbench.training.finetuning.loop import MODEL, Training, finished, train
    from bindbench.training.finetuning.preparing import fingerprint, prepare

    folder = folder.resolve()
    if "@" in str(folder) or len(str(folder).split()) > 1:
        raise UserError(
            f"{folder} holds a blank or an @, which a model's name can't: give another folder."
        )
    built = one_model.built(context, recipe.benchmarks)
    if missing := [key for key in recipe.benchmarks if key not in built]:
        raise one_model.not_built(context, missing)
    parts = split(context, recipe)
    prepared = None  # not at all where everything is trained
    scenes = sorted({*parts.trained, *scenes_of(recipe.model)})
    records = []
    for seed in range(recipe.seeds):
        for kind in recipe.negatives:
            training = Training(
                kind,
                seed,
                folder / f"{kind}-seed{seed}",
                fingerprint(context, recipe, kind=kind, seed=seed),
                scenes,
            )
            record = finished(training, report)
            if record is None:
                prepared = prepared or prepare(context, recipe, parts)
                record = train(prepared, recipe, training, report)
            model = f"{record['family']}:{training.folder / MODEL}"
            records.append({"model": model} | record)
    return Trained(recipe, parts, records)


def measure(context: Context, trained: Trained, keys: Sequence[str]) -> dict[str, Any]:
    """Score the pretrained model and all checkpoints, and return the results as JSON data.

    Args:
        context: the suite.
        trained: the checkpoints.
        keys: the benchmarks to score, which are built.
    """
    recipe = trained.recipe
    # The suite's own settings where it lists the model: then its scores are there already.
    base = one_model.settings_of(context.suite, recipe.model, one_model.Changes(recipe.options))
    options = options_of(recipe)
    tuned = {
        record["model"]: RoleSettings(model=record["model"], options=options, batch_size=BATCH_SIZE)
        for record in trained.records
    }
    rows: list[dict[str, Any]] = []
    for key in keys:
        scores = {
            model: one_model.score(context, key, settings)
            for model, settings in {recipe.model: base, **tuned}.items()
        }
        for track in TRACKS:
            sets = {
                model: _held_out(
                    trained,
                    scored_set(
                        key,
                        track,
                        context.current(negatives.NAME, key),
                        artifact,
                        context.lexicon,
                    ),
                )
                for model, artifact in scores.items()
            }
            rows += _rows(key, track, trained, sets)
    return {
        "suite": context.suite.name,
        "recipe": recipe.model_dump(mode="json"),
        "split": trained.split.counts,
        "trainings": trained.records,
        "rows": rows,
    }


def _held_out(trained: Trained, scored: ScoredSet) -> ScoredSet:
    """Return the items that no training has seen: of trained benchmarks those held out."""
    scenes = scored.items.design.scenes.tolist()
    seen, recipe = set(trained.split.trained), trained.recipe
    keep = [scene not in seen for scene in scenes]
    if scored.benchmark.key in recipe.benchmarks:
        keep = [part_of(scene, recipe.split_seed) == "held_out" for scene in scenes]
        assert not any(k and scene in seen for k, scene in zip(keep, scenes, strict=True))
    return scored.only(scored.index[np.array(keep, bool)])


def _rows(
    key: str, track: str, trained: Trained, sets: Mapping[str, ScoredSet]
) -> list[dict[str, Any]]:
    """Return the results of one benchmark and track, a row for each family and mode."""
    recipe = trained.recipe
    base = sets[recipe.model]
    rows = []
    for family in base.subsets:
        for mode in MODES:
            outcomes = {
                m: outcomes_of(s.of(family), mode, s.subsets[family]) for m, s in sets.items()
            }
            of_base = outcomes[recipe.model]
            counted = of_base.included
            design = base.items.design.take(counted)
            wins = {
                kind: stacked([outcomes[m].win[counted] for m in trained.models(kind)])
                for kind in recipe.negatives
            }
            before = stacked([of_base.win[counted]])
            rows.append(
                {
                    "benchmark": key,
                    "track": track,
                    "family": family,
                    "semantics": mode,
                    "trained": key in recipe.benchmarks and track in recipe.tracks,
                    "n_items": len(design),
                    "chance": float(of_base.chance[counted].mean()) if len(design) else None,
                    "pretrained": float(before.mean()) if len(design) else None,
                    "gains": {k: _plain(gain(before, w, design)) for k, w in wins.items()},
                    "extra": _extra(wins, design),
                }
            )
    return rows


def _extra(wins: Mapping[str, np.ndarray], design: Design) -> dict[str, Any] | None:
    """Return what Confusion negatives gain beyond swap negatives, seed by seed."""
    if len(wins) < 2:
        return None
    return _plain(gain(wins["swap"], wins["confusion"], design))


def _plain(found: Gain | None) -> dict[str, Any] | None:
    return asdict(found) if found else None


@dataclass(frozen=True)
class AsTable:
    """The one shard of the asset: results that are there, as a table."""

    def __call__(self, rows: tuple[dict[str, Any], ...]) -> pa.Table:
        """Return one row for each benchmark, track, family, mode and change."""
        return table(rows, SCHEMA)


def recipe_of(suite: Suite) -> Recipe:
    """Return the recipe of a suite's section ``finetuning``.

    Raises:
        UserError: it has none, or a field of it is wrong.
    """
    if suite.finetuning is None:
        raise UserError(
            f"Suite {suite.name} has no section finetuning: add one with model and benchmarks."
        )
    return parse(Recipe, suite.finetuning, f"finetuning of suite {suite.name}")


def build(context: Context) -> Artifact:
    """Train as the suite says, let its models be evaluated like any other, and measure the gains.

    The checkpoints lie in the store's folder of this asset; the record of releases names them.

    Raises:
        UserError: the store is no local folder; or as ``train_all`` does.
    """
    recipe = recipe_of(context.suite)
    if not is_local(context.store.path):
        raise UserError(
            f"{context.store.path} is no local folder, which checkpoints are loaded from: use "
            "bindbench finetune with --out."
        )
    folder = Path(str(context.store.path)) / NAME / "checkpoints"
    trained = train_all(context, recipe, folder, logger.info)
    result = measure(context, trained, built_keys(context))
    release(context, result["trainings"], recipe)
    rows = tuple(_flat(result["rows"]))
    settings = {"code": CODE_VERSION, "recipe": recipe.model_dump(mode="json")}
    settings["trainings"] = [one["fingerprint"] for one in trained.records]
    shard = Shard(content_id([settings, rows]), rows)
    settings["rows"] = content_id(rows)
    return context.build(NAME, UNPARTITIONED, SCHEMA, settings, [shard], AsTable())


def release(context: Context, trainings: Sequence[Mapping[str, Any]], recipe: Recipe) -> None:
    """Add the checkpoints to the models that the suite evaluates."""
    record = read_record(context.store)
    known = {one.model for one in record.releases}
    new = [
        Release(
            model=training["model"],
            options=options_of(recipe),
            batch_size=BATCH_SIZE,
            origin=NAME,
            found=True,
        )
        for training in trainings
        if training["model"] not in known
    ]
    changed = record.model_copy(update={"releases": (*record.releases, *new)})
    write_record(context.store, changed)


def options_of(recipe: Recipe) -> dict[str, Any]:
    """Return the options that a checkpoint is evaluated with."""
    return {name: value for name, value in recipe.options.items() if name != "architecture"}


def _flat(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in rows:
        for change, found in {**row["gains"], "extra": row["extra"]}.items():
            if found is not None:
                yield {**row, **found, "change": change}


def to_json(result: Mapping[str, Any]) -> str:
    """Return the results as they are written."""
    return json.dumps(result, indent=1, ensure_ascii=False) + "\n"


def built_keys(context: Context) -> list[str]:
    """Return the suite's benchmarks that can be scored."""
    return one_model.built(context, context.suite.benchmarks)
