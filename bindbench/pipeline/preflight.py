"""Checks a suite before anything is loaded or built."""

from collections.abc import Iterable
from pathlib import Path

from bindbench.concepts import space_size
from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.models.family import ModelName, Role
from bindbench.pipeline.alignment import encoder_of
from bindbench.pipeline.base import suite_lexicon
from bindbench.pipeline.conme_preflight import check_conme
from bindbench.pipeline.faithfulness import answerer_of
from bindbench.pipeline.second_opinion import second_judge
from bindbench.suite import Profile, RoleSettings, Suite

ROLES: tuple[Role, ...] = ("writer", "generator", "detector", "judge")  # but the scorers


def models_of(profile: Profile) -> list[tuple[Role, RoleSettings]]:
    """Return the models of a profile with their roles, but the scorers."""
    models: list[tuple[Role, RoleSettings]] = [(role, getattr(profile, role)) for role in ROLES]
    measuring = profile.faithfulness
    optional: list[tuple[Role, RoleSettings | None]] = [
        ("scorer", measuring.encoder),
        ("judge", measuring.answerer),
        ("judge", profile.second_judge),
    ]
    return [*models, *((role, settings) for role, settings in optional if settings)]


def check_suite(suite: Suite) -> None:
    """Raise a UserError for a model, option, vocabulary or number of concepts that can't be.

    Every role's model is looked up, and every benchmark's space is counted.
    """
    if suite.models and not Path(suite.models).is_file():
        raise UserError(
            f"Suite {suite.name}: models names {suite.models}, which is no file: make it ('models: "
            "[]' will do), or leave the field out."
        )
    for role, settings in models_of(suite.profile):
        name, family, options = registry.resolve(role, settings)
        family.ready(name, options)
    if suite.profile.second_judge:
        second_judge(suite)
    if suite.profile.faithfulness.encoder:
        encoder_of(suite)
    if suite.profile.faithfulness.answerer:
        answerer_of(suite)
    check_words(suite)
    for settings in suite.profile.scorers:
        name, family, options = registry.resolve("scorer", settings)
        family.ready(name, options)
    check_slugs(suite)
    check_spaces(suite)
    check_instabind(suite)
    check_conme(suite)


def check_words(suite: Suite) -> None:
    """Raise a UserError for a vocabulary that a model of the suite does not know."""
    lexicon = suite_lexicon(suite)
    tasks = list(dict.fromkeys(benchmark.task for benchmark in suite.resolved_benchmarks))
    for role, settings in models_of(suite.profile):
        _, family, _ = registry.named(role, settings)
        family.words(lexicon, tasks)


def check_slugs(suite: Suite) -> None:
    """Raise a UserError for two scorers whose scores would have one partition."""
    _distinct(suite, "scorers", suite.profile.scorers)


def _distinct(suite: Suite, what: str, models: Iterable[RoleSettings]) -> None:
    """Raise a UserError for two models that would have one partition."""
    slugs: dict[str, str] = {}
    for settings in models:
        name = ModelName.parse(settings.model)
        if name.slug in slugs:
            raise UserError(
                f"Suite {suite.name}: {what} {slugs[name.slug]} and {name} would share the "
                f"partition {name.slug}: keep one of them."
            )
        slugs[name.slug] = str(name)


def check_spaces(suite: Suite) -> None:
    """Raise a UserError for a benchmark with more concepts than its vocabularies make."""
    lexicon = suite_lexicon(suite)
    for benchmark in suite.resolved_benchmarks:
        size, asked = space_size(benchmark, lexicon), suite.concepts[benchmark.key]
        if asked > size and not suite.replicates:
            raise UserError(
                f"Suite {suite.name}: concepts of {benchmark.key} is {asked}, but its vocabularies "
                f"make {size} scenes: ask for at most {size}, or set replicates."
            )


def check_instabind(suite: Suite) -> None:
    """Raise a UserError for a set without its files, or a model that can't answer in words."""
    if suite.instabind is None:
        return
    for name, one in suite.instabind.sets.items():
        for path in (one.annotations, one.images) if one.source == "file" else ():
            if not path or not Path(path).exists():
                raise UserError(
                    f"Suite {suite.name}: instabind.sets.{name} needs annotations (a file) and "
                    f"images (a folder), but {path or 'one'} is not there."
                )
    for settings in suite.instabind.models:
        name, family, options = registry.resolve("answerer", settings)
        family.ready(name, options)
    _distinct(suite, "answerers", suite.instabind.models)
