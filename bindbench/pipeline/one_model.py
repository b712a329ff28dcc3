"""One model on the built benchmarks of a suite, whether the suite lists it or not.

Scores are artifacts of the store like any other: the partition is that of benchmark and model, the
fingerprint that of the asset, and nothing finished is computed again. What a suite shows stays as
it is: a model that it lists with other settings never takes the place of the suite's own scores.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.models.family import ModelName
from bindbench.pipeline import images, leaderboard, model_scores, negatives, paired_set
from bindbench.pipeline.base import Context, ShardInputs
from bindbench.storage.store import Artifact
from bindbench.suite import RoleSettings, Suite, parse

READ = (negatives.NAME, images.NAME, paired_set.NAME)  # of a benchmark


@dataclass(frozen=True)
class Changes:
    """What differs from the suite's settings of a model, or from the family's defaults."""

    options: Mapping[str, Any]
    batch_size: int | None = None


def settings_of(suite: Suite, model: str, changes: Changes) -> RoleSettings:
    """Return the settings of a model: the suite's own, if it lists the model, with the changes.

    Raises:
        UserError: the family, the name or an option does not exist.
    """
    own = listed(suite, model)
    base = own if own and own.model == model else RoleSettings(model=model)
    fields = {
        "model": model,
        "options": {**base.options, **changes.options},
        "batch_size": base.batch_size if changes.batch_size is None else changes.batch_size,
    }
    settings = parse(RoleSettings, fields, f"scorer {model}")
    registry.resolve("scorer", settings)
    return settings


def listed(suite: Suite, model: str) -> RoleSettings | None:
    """Return the suite's settings of the model whose scores are in the partition of ``model``."""
    slug = ModelName.parse(model).slug
    scorers = suite.profile.scorers
    return next((s for s in scorers if ModelName.parse(s.model).slug == slug), None)


def built(context: Context, keys: Sequence[str]) -> list[str]:
    """Return the benchmarks of which everything is there that scoring reads."""
    store = context.store
    return [key for key in keys if all(store.current(name, key) for name in READ)]


def not_built(context: Context, keys: Sequence[str]) -> UserError:
    """Return the error for benchmarks that can't be scored yet."""
    which = ", ".join(keys)
    return UserError(
        f"{which} of suite {context.suite.name} is not built in the store {context.store.root}: "
        f"run 'bindbench run --suite {context.suite.name}' first."
    )


def score(
    context: Context, key: str, settings: RoleSettings, base: RoleSettings | None = None
) -> Artifact:
    """Return the model's scores on a benchmark, computed where they are not there yet.

    They become the partition's current artifact, unless the suite lists the model with other
    settings, or (of a model that it does not list) they are a variant of ``base``.
    """
    shown = listed(context.suite, settings.model) or base or settings
    current = registry.describe("scorer", shown) == registry.describe("scorer", settings)
    return model_scores.build(replace(context, make_current=current), key, settings)


def rows_of(
    context: Context, settings: RoleSettings, scores: Mapping[str, Artifact]
) -> list[dict[str, Any]]:
    """Return the rows that the leaderboard has for these scores, by its own code.

    Only p-values differ: they are corrected for the comparisons among these rows.
    """
    profile = context.suite.profile.model_copy(update={"scorers": (settings,)})
    suite = context.suite.model_copy(update={"profile": profile, "benchmarks": tuple(scores)})
    slug = ModelName.parse(settings.model).slug
    read: dict[str, Artifact] = {}
    for key, artifact in scores.items():
        read |= {f"{name}/{key}": context.current(name, key) for name in READ}
        read[f"{model_scores.NAME}/{model_scores.partition(key, slug)}"] = artifact
    return leaderboard.MeasureModels(suite)(ShardInputs(0, read)).to_pylist()
