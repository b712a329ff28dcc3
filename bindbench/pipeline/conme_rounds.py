"""A round of choices: every sample put to every target in both orders, and what is kept of it."""

import functools
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from bindbench.conme.choices import Ballots, hard
from bindbench.conme.modes import READINGS, Case, vote
from bindbench.conme.samples import Round, Sample, samples_of
from bindbench.pipeline import conme_images
from bindbench.pipeline.base import Context, ShardInputs, strings, table
from bindbench.pipeline.conme_cells import settings_of, split, targets_of
from bindbench.pipeline.conme_images import shown
from bindbench.pipeline.conme_questions import sets_in, sets_of
from bindbench.pipeline.conme_targets import Stage, load_target, usage_by_target
from bindbench.storage.store import Artifact
from bindbench.suite import RoleSettings, Suite

CODE_VERSION = "1"
SCHEMA = pa.schema(
    [
        ("sample_id", pa.string()),
        ("image_id", pa.string()),
        ("round", pa.int8()),
        ("question", pa.string()),
        ("answer", pa.string()),
        ("negative", pa.string()),
        ("kept", pa.bool_()),  # at least one target misses it
        ("models", strings()),  # the targets, whose choices follow
        ("places", pa.list_(pa.list_(pa.int8()))),  # in both orders; null: can't be read
        ("texts", pa.list_(strings())),  # of the replies
        ("raws", pa.list_(strings())),
    ]
)
COLUMNS = ("image_id", "round", "question", "answer", "negative")  # of a sample


CHOICES = pa.schema(  # of one target
    [
        ("sample_id", pa.string()),
        ("places", pa.list_(pa.int8())),
        ("texts", strings()),
        ("raws", strings()),
    ]
)


@dataclass(frozen=True)
class Questions:
    """The samples that a round's questions lead to.

    Attributes:
        asset: that holds the question sets.
        round: 1 or 2.
    """

    asset: str
    round: Round

    def samples(self, task: ShardInputs) -> list[Sample]:
        """Return the samples of a shard."""
        sets = sets_of(task.rows(self.asset, ["image_id", "sets"]))
        return [s for key, own in sets.items() for s in samples_of(key, self.round, own).kept]


@dataclass(frozen=True)
class Choose:
    """Puts the samples of a shard to a target."""

    suite: Suite
    questions: Questions
    name: str
    settings: RoleSettings

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return one row for each sample.

        Raises:
            Unfinished: a server gave no answer for some samples.
        """
        samples = self.questions.samples(task)
        if not samples:
            return table([], CHOICES)
        section, target = settings_of(self.suite), load_target(self.suite, self.name, self.settings)
        case = Case(samples, shown(task), section.tokens.choice, target.dtype, target.wording)
        votes = vote(section.filter, target.reply, case)[READINGS[section.filter][0]]
        rows = [
            {"sample_id": sample.id, "places": one.places, "texts": one.texts, "raws": one.raws}
            for sample, one in zip(samples, votes, strict=True)
        ]
        return table(rows, CHOICES)


@dataclass(frozen=True)
class Filter:
    """Lays the targets' choices side by side, and says which samples are kept."""

    questions: Questions
    names: tuple[str, ...]

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return one row for each sample."""
        samples = self.questions.samples(task)
        given = {name: task.rows(name) for name in self.names}
        chosen = {
            name: Ballots.of(samples, [row["places"] for row in rows])
            for name, rows in given.items()
        }
        kept = hard(chosen)
        return table(
            [
                _row(sample, bool(keep), {name: rows[i] for name, rows in given.items()})
                for i, (sample, keep) in enumerate(zip(samples, kept, strict=True))
            ],
            SCHEMA,
        )


def _row(sample: Sample, keep: bool, given: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    return {
        "sample_id": sample.id,
        **{name: getattr(sample, name) for name in COLUMNS},
        "kept": keep,
        "models": list(given),
        **{name: [row[name] for row in given.values()] for name in ("places", "texts", "raws")},
    }


def build_round(context: Context, where: str, asset: str, questions: str, round: Round) -> Artifact:
    """Build a round of choices.

    Args:
        context: of the build.
        where: the partition: an image set and a panel.
        asset: what is built.
        questions: the asset that holds the round's question sets.
        round: 1 or 2.
    """
    section = settings_of(context.suite)
    settings = {
        "code": CODE_VERSION,
        "round": round,
        "mode": section.filter,
        "tokens": section.tokens.choice,
    }
    inputs = {
        conme_images.NAME: context.current(conme_images.NAME, split(where)[0]),
        questions: context.current(questions, where),
    }
    asked = Questions(questions, round)
    stage = Stage(asset, where, settings, inputs, targets_of(context.suite, where))
    parts = stage.ask(context, CHOICES, functools.partial(Choose, context.suite, asked))
    summary = functools.partial(
        _summary, questions=inputs[questions], round=round, targets=stage.targets
    )
    return stage.join(context, SCHEMA, parts, Filter(asked, tuple(parts)), summary)


def _summary(
    artifact: Artifact, questions: Artifact, round: Round, targets: Mapping[str, RoleSettings]
) -> dict[str, Any]:
    rows = artifact.read(["image_id", "kept", "models", "places", "raws"]).to_pylist()
    refused: Counter[str] = Counter()
    for key, sets in sets_in(questions).items():
        refused.update(samples_of(key, round, sets).refused)
    kept = [row for row in rows if row["kept"]]
    pairs = [(name, places) for row in rows for name, places in _by_model(row, "places")]
    found = {
        "samples": len(rows),
        "kept": len(kept),
        "images": len({row["image_id"] for row in rows}),
        "images_kept": len({row["image_id"] for row in kept}),
        "refused": dict(sorted(refused.items())),
        "unreadable": {
            name: sum(place is None for own, places in pairs if own == name for place in places)
            for name in targets
        },
    }
    raws = ((name, raw) for row in rows for name, own in _by_model(row, "raws") for raw in own)
    return found | usage_by_target(targets, raws)


def _by_model(row: dict[str, Any], column: str) -> list[tuple[str, list[Any]]]:
    return list(zip(row["models"], row[column], strict=True))


def samples_in(artifact: Artifact) -> list[Sample]:
    """Return all samples of a round, in the order of its rows."""
    return [Sample(**row) for row in artifact.read(list(COLUMNS)).to_pylist()]


def kept_in(artifact: Artifact) -> np.ndarray:
    """Return which samples of a round were kept, bool (samples,)."""
    return np.array(artifact.read(["kept"])["kept"].to_pylist(), bool)


def ballots_in(artifact: Artifact) -> dict[str, Ballots]:
    """Return the targets' choices in a round, on all of its samples; {} without samples."""
    samples = samples_in(artifact)
    rows = artifact.read(["models", "places"]).to_pylist()
    found: dict[str, list[list[int | None]]] = {}
    for row in rows:
        for name, places in _by_model(row, "places"):
            found.setdefault(name, []).append(places)
    return {name: Ballots.of(samples, own) for name, own in found.items()}
