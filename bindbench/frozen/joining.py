"""One leaderboard from several copies of a release, each with scores of its own.

Protocols are not mixed: what decides a score besides the model must be the same everywhere.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from bindbench.errors import UserError
from bindbench.frozen import checksums
from bindbench.frozen.release import Release
from bindbench.pipeline import leaderboard, model_scores, negatives, paired_set
from bindbench.pipeline.base import Context, ShardInputs
from bindbench.storage.store import Artifact
from bindbench.strict import RoleSettings

SIMILARITY = ("similarity", "check")  # methods that ask nothing of a model: they go with any other


@dataclass(frozen=True)
class Scored:
    """One model's scores on one benchmark, in one copy of the release."""

    release: Release
    key: str
    model: str
    scores: Artifact

    @property
    def where(self) -> str:
        """What it is and where it lies."""
        return f"{self.model} on {self.key} in {self.release.folder}"

    def protocol(self) -> Iterator[tuple[str, Any]]:
        """Yield what must be the same for all scores of a leaderboard, by its name."""
        settings = self.scores.settings
        yield "code version of scores", settings["code"]
        method = self.method
        if method not in SIMILARITY:
            yield "method", method
            options = settings["scorer"].get("options", {})
            for name in ("prompt", "mode"):
                if name in options:
                    yield name, options[name]

    def own(self) -> Iterator[tuple[str, Any]]:
        """Yield what must be the same for all scores of one benchmark."""
        inputs, settings = self.scores.settings["inputs"], self.scores.settings
        for name in (negatives.NAME, "images"):
            yield f"digest of {name}", inputs[name]
        for name in ("nouns", "labels"):
            yield f"vocabulary of {name}", settings[name]

    @property
    def method(self) -> str:
        """How candidates were scored; ways to compute the same log-likelihoods are one method."""
        found = self.scores.read(["method"])["method"]
        text = str(found[0].as_py()) if len(found) else SIMILARITY[0]
        return "log-likelihood" if text.startswith("log-") else text


def joined(releases: Sequence[Release]) -> tuple[Context, dict[str, Artifact]]:
    """Return the first release's context with every model that has scores, and its artifacts.

    A model of several copies must have the same scores in each.

    Raises:
        UserError: a copy is damaged, or two protocols differ: it names the field and both values.
    """
    first = releases[0]
    whole = checksums.verify(first.folder)
    for release in releases[1:]:
        _same("release", release, first, release.title, first.title)
        _same("checksum", release, first, checksums.verify(release.folder), whole)
    context = first.context
    found = _agreeing([scored for release in releases for scored in _scored(release)])
    known = {settings.model for settings in context.suite.profile.listed}
    added = dict.fromkeys(s.model for s in found.values() if s.model not in known)
    scorers = (*context.suite.profile.scorers, *(RoleSettings(model=model) for model in added))
    profile = context.suite.profile.model_copy(update={"scorers": scorers})
    suite = context.suite.model_copy(update={"profile": profile})
    context = replace(context, suite=suite)
    artifacts = {f"{model_scores.NAME}/{s.scores.partition}": s.scores for s in found.values()}
    for key in context.suite.benchmarks:
        for stage in (negatives, paired_set):
            artifacts[f"{stage.NAME}/{key}"] = context.current(stage.NAME, key)
    return context, artifacts


def joined_rows(releases: Sequence[Release]) -> list[dict[str, Any]]:
    """Return the rows of one leaderboard; see ``joined``."""
    context, artifacts = joined(releases)
    table: pa.Table = leaderboard.MeasureModels(context.suite)(ShardInputs(0, artifacts))
    return table.to_pylist()


def _scored(release: Release) -> Iterator[Scored]:
    """Yield all current scores of a copy, also of models that its suite does not list."""
    context = release.context
    folder = context.store.path / model_scores.NAME
    for path in sorted(folder.glob("*--*")):
        scores = context.store.current(model_scores.NAME, path.name)
        key = path.name.partition("--")[0]
        if scores and key in context.suite.benchmarks:
            yield Scored(release, key, scores.settings["scorer"]["model"], scores)


def _agreeing(found: Sequence[Scored]) -> dict[tuple[str, str], Scored]:
    """Return the scores by benchmark and model, all of one protocol."""
    first: dict[Any, tuple[Any, Scored]] = {}
    kept: dict[tuple[str, str], Scored] = {}
    for scored in found:
        fields: dict[Any, Any] = dict(scored.protocol())
        fields |= {(scored.key, name): value for name, value in scored.own()}
        for name, value in fields.items():
            other, witness = first.setdefault(name, (value, scored))
            label = name if isinstance(name, str) else name[1]
            _same(label, scored, witness, value, other)
        twin = kept.setdefault((scored.key, scored.model), scored)
        _same("scores", scored, twin, scored.scores.digest, twin.scores.digest)
    return kept


def _same(field: str, one: Any, other: Any, value: Any, wanted: Any) -> None:
    """Refuse to mix two values of a field.

    Raises:
        UserError: they differ.
    """
    if value != wanted:
        names = [getattr(side, "where", None) or str(side.folder) for side in (one, other)]
        raise UserError(
            f"One leaderboard can't mix protocols: {field} of {names[0]} is {value!r}, of "
            f"{names[1]} {wanted!r}; join only what was scored alike."
        )
