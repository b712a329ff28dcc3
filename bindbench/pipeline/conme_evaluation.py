"""The asset ``conme_evaluation``: one model on the samples of a set and a panel, in every mode."""

import functools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from bindbench.conme.choices import Ballots
from bindbench.conme.modes import Case, Vote, Votes, blind_vote, modes_of, vote
from bindbench.conme.samples import Sample, plain
from bindbench.conme.settings import Evaluation
from bindbench.errors import Unfinished, unknown_name
from bindbench.models import registry
from bindbench.pipeline import conme_first_round, conme_images, conme_second_round
from bindbench.pipeline.asking import usage_summary
from bindbench.pipeline.base import Context, ShardInputs, aligned, strings, table
from bindbench.pipeline.conme_cells import models_of, settings_of, split, targets_of
from bindbench.pipeline.conme_images import shown
from bindbench.pipeline.conme_rounds import COLUMNS
from bindbench.pipeline.conme_targets import load_target
from bindbench.storage.store import Artifact
from bindbench.suite import RoleSettings, Suite

NAME = "conme_evaluation"
CODE_VERSION = "1"
SCHEMA = pa.schema(
    [
        ("sample_id", pa.string()),
        ("image_id", pa.string()),
        ("round", pa.int8()),  # 0: an item of the benchmark that the images come from
        ("question", pa.string()),
        ("answer", pa.string()),
        ("negative", pa.string()),
        ("kept", pa.bool_()),  # by the targets, after its round; items of the source always are
        ("reading", pa.string()),  # of a mode's answer, see bindbench.conme.modes
        ("places", pa.list_(pa.int8())),  # in both orders; null: can't be read, or a tie
        ("scores", pa.list_(pa.list_(pa.float64()))),  # of both places, in both orders
        ("texts", strings()),
        ("raws", strings()),
    ]
)
CAPTION = "Which caption describes the image?"  # what an item of the source benchmark asks
ROUNDS = {1: conme_first_round.NAME, 2: conme_second_round.NAME}


def partition(where: str, slug: str) -> str:
    """Return the partition of a set with its panel and a model's slug."""
    return f"{where}--{slug}"


@dataclass(frozen=True)
class EvaluateModel:
    """Puts the samples of a shard to one model."""

    suite: Suite
    slug: str
    settings: RoleSettings
    modes: tuple[Evaluation, ...]
    answered: bool  # as a target the model has made its choices in the mode ``generate``

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return one row for each sample and reading.

        Raises:
            Unfinished: a server gave no answer for some samples; the other modes were still asked.
        """
        samples, kept, known = _samples(task, self.slug if self.answered else "")
        if not samples:
            return table([], SCHEMA)
        model = load_target(self.suite, self.slug, self.settings)
        _, _, options = registry.named("answerer", self.settings)
        dtype = getattr(options, "dtype", "float32")
        images, section = shown(task), settings_of(self.suite)
        rows, failures = [], list[Unfinished]()
        for mode in self.modes:
            done = known if mode == "generate" else {}
            left = [one for one in samples if one.id not in done]
            case = Case(left, images, section.tokens.choice, dtype, model.wording)
            try:
                if mode == "blind":
                    found = blind_vote(section.filter, model.reply, case)
                else:
                    found = vote(mode, model.reply, case)
            except Unfinished as error:
                failures.append(error)
                continue
            rows += _rows(samples, kept, left, found, done)
        if failures:
            raise Unfinished.all_of(failures, [], len(samples) * len(self.modes))
        return table(rows, SCHEMA)


def _samples(
    task: ShardInputs, target: str
) -> tuple[list[Sample], dict[str, bool], dict[str, Vote]]:
    """Return a shard's samples, whether each was kept, and what a target chose already."""
    items = task.rows(conme_images.NAME, ["image_id", "items"])
    found = {one.id: one for row in items for one in source_samples(row)}
    kept, known = dict.fromkeys(found, True), dict[str, Vote]()
    for asset in ROUNDS.values():
        for row in task.rows(asset):
            one = Sample(**{name: row[name] for name in COLUMNS})
            found[one.id], kept[one.id] = one, row["kept"]
            if target in row["models"]:
                at = row["models"].index(target)
                known[one.id] = Vote(
                    tuple(row["places"][at]),
                    texts=tuple(row["texts"][at]),
                    raws=tuple(row["raws"][at]),
                )
    return list(found.values()), kept, known


def source_samples(row: Mapping[str, Any]) -> list[Sample]:
    """Return the items of the source benchmark on an image, as choices between two captions."""
    return [
        Sample(row["image_id"], 0, CAPTION, item["caption"], item["negative"])
        for item in row["items"]
        if plain(item["caption"]) != plain(item["negative"])
    ]


def _rows(
    samples: Sequence[Sample],
    kept: Mapping[str, bool],
    asked: Sequence[Sample],
    votes: Votes,
    known: Mapping[str, Vote],
) -> Iterable[dict[str, Any]]:
    for reading, own in votes.items():
        by_id = {**known, **dict(zip((one.id for one in asked), own, strict=True))}
        for sample in samples:
            given = by_id[sample.id]
            yield {
                "sample_id": sample.id,
                **{name: getattr(sample, name) for name in COLUMNS},
                "kept": kept[sample.id],
                "reading": reading,
                "places": given.places,
                "scores": given.scores,
                "texts": given.texts,
                "raws": given.raws,
            }


def model_of(suite: Suite, where: str, slug: str) -> RoleSettings:
    """Return a model that is evaluated on a set and panel, or raise with the nearest names."""
    models = models_of(suite, where)
    if slug not in models:
        raise unknown_name("model", slug, models, f"conme of suite {suite.name}")
    return models[slug]


def build(
    context: Context, where: str, slug: str, settings: RoleSettings | None = None
) -> Artifact:
    """Build one model's choices.

    Args:
        context: of the build.
        where: the image set and the panel.
        slug: the model's.
        settings: of a model that the suite does not list.
    """
    model = settings or model_of(context.suite, where, slug)
    able, _ = _possible(context.suite, model)
    answered = is_answered(context.suite, where, slug, model)
    fields = describe(context.suite, model) | {"answered": answered}
    inputs = {
        conme_images.NAME: context.current(conme_images.NAME, split(where)[0]),
        **{asset: context.current(asset, where) for asset in ROUNDS.values()},
    }
    return context.holding("answerer", model).build(
        NAME,
        partition(where, slug),
        SCHEMA,
        fields,
        aligned(fields, inputs),
        EvaluateModel(context.suite, slug, model, able, answered),
        functools.partial(_summary, suite=context.suite, model=model),
    )


def _possible(
    suite: Suite, model: RoleSettings
) -> tuple[tuple[Evaluation, ...], tuple[Evaluation, ...]]:
    """Return the suite's modes that a model can be asked in, and the others."""
    section = settings_of(suite)
    _, _, options = registry.named("answerer", model)
    own = modes_of(model.model, options)
    able: list[Evaluation] = []
    others: list[Evaluation] = []
    for mode in section.modes:
        needed = section.filter if mode == "blind" else mode
        (able if needed in own else others).append(mode)
    return tuple(able), tuple(others)


def is_answered(suite: Suite, where: str, slug: str, model: RoleSettings) -> bool:
    """Whether the rounds hold what a model says in the mode ``generate``."""
    return settings_of(suite).filter == "generate" and targets_of(suite, where).get(slug) == model


def describe(suite: Suite, model: RoleSettings) -> dict[str, Any]:
    """Return what determines a model's choices beside the samples."""
    section = settings_of(suite)
    return {
        "code": CODE_VERSION,
        "answerer": registry.describe("answerer", model),
        "modes": section.modes,
        "blind": section.filter,
        "tokens": section.tokens.choice,
    }


def _summary(artifact: Artifact, suite: Suite, model: RoleSettings) -> dict[str, Any]:
    rows = artifact.read(["sample_id", "reading", "places", "raws"]).to_pylist()
    able, not_possible = _possible(suite, model)
    unread = Counter(row["reading"] for row in rows for place in row["places"] if place is None)
    found = {
        "samples": len({row["sample_id"] for row in rows}),
        "modes": able,
        "not_possible": not_possible,
        "no_choice": dict(sorted(unread.items())),
    }
    return found | usage_summary("answerer", model, (raw for r in rows for raw in r["raws"]))


@dataclass(frozen=True, eq=False)
class Evaluated:
    """A model's choices on a set and panel."""

    samples: list[Sample]
    kept: list[bool]
    ballots: dict[str, Ballots]  # by reading, on the same samples


def evaluated_in(artifact: Artifact) -> Evaluated:
    """Return the choices that an artifact holds."""
    rows = artifact.read(["sample_id", "kept", "reading", "places", *COLUMNS]).to_pylist()
    found = {row["sample_id"]: Sample(**{name: row[name] for name in COLUMNS}) for row in rows}
    kept = {row["sample_id"]: row["kept"] for row in rows}
    places: dict[str, dict[str, list[int | None]]] = {}
    for row in rows:
        places.setdefault(row["reading"], {})[row["sample_id"]] = row["places"]
    samples = list(found.values())
    ballots = {r: Ballots.of(samples, [own[key] for key in found]) for r, own in places.items()}
    return Evaluated(samples, [kept[key] for key in found], ballots)
