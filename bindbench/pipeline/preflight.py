"""Checks a suite before anything is loaded or built."""

from typing import cast

from bindbench.concepts import space_size
from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.models.registry import Role
from bindbench.pipeline.base import suite_lexicon
from bindbench.suite import Suite


def check_suite(suite: Suite) -> None:
    """Raise a UserError for a model, option, vocabulary or number of concepts that can't be.

    Every role's model is looked up, and every benchmark's space is counted.
    """
    lexicon = suite_lexicon(suite)
    tasks = list(dict.fromkeys(benchmark.task for benchmark in suite.resolved_benchmarks))
    for role in ("writer", "generator", "detector", "judge"):
        _, family, _ = registry.resolve(cast(Role, role), getattr(suite.profile, role))
        family.words(lexicon, tasks)
    slugs: dict[str, str] = {}
    for settings in suite.profile.scorers:
        name, _, _ = registry.resolve("scorer", settings)
        if name.slug in slugs:
            raise UserError(
                f"Suite {suite.name}: scorers {slugs[name.slug]} and {name} would share the "
                f"partition {name.slug}: keep one of them."
            )
        slugs[name.slug] = str(name)
    for benchmark in suite.resolved_benchmarks:
        size, asked = space_size(benchmark, lexicon), suite.concepts[benchmark.key]
        if asked > size and not suite.replicates:
            raise UserError(
                f"Suite {suite.name}: concepts of {benchmark.key} is {asked}, but its vocabularies "
                f"make {size} scenes: ask for at most {size}, or set replicates."
            )
