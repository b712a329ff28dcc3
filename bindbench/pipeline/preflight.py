"""Checks a suite before anything is loaded or built."""

from bindbench.concepts import space_size
from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.models.registry import ModelName, Role
from bindbench.pipeline.base import suite_lexicon
from bindbench.suite import Suite

ROLES: tuple[Role, ...] = ("writer", "generator", "detector", "judge")  # but the scorers


def check_suite(suite: Suite) -> None:
    """Raise a UserError for a model, option, vocabulary or number of concepts that can't be.

    Every role's model is looked up, and every benchmark's space is counted.
    """
    for role in ROLES:
        registry.resolve(role, getattr(suite.profile, role))
    check_words(suite)
    for settings in suite.profile.scorers:
        name, family, options = registry.resolve("scorer", settings)
        family.ready(name, options)
    check_slugs(suite)
    check_spaces(suite)


def check_words(suite: Suite) -> None:
    """Raise a UserError for a vocabulary that a model of the suite does not know."""
    lexicon = suite_lexicon(suite)
    tasks = list(dict.fromkeys(benchmark.task for benchmark in suite.resolved_benchmarks))
    for role in ROLES:
        _, family, _ = registry.named(role, getattr(suite.profile, role))
        family.words(lexicon, tasks)


def check_slugs(suite: Suite) -> None:
    """Raise a UserError for two scorers whose scores would have one partition."""
    slugs: dict[str, str] = {}
    for settings in suite.profile.scorers:
        name = ModelName.parse(settings.model)
        if name.slug in slugs:
            raise UserError(
                f"Suite {suite.name}: scorers {slugs[name.slug]} and {name} would share the "
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
