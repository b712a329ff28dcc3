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
    for role in ("writer", "generator", "detector", "judge"):
        registry.resolve(cast(Role, role), getattr(suite.profile, role))
    for settings in suite.profile.scorers:
        registry.resolve("scorer", settings)
    lexicon = suite_lexicon(suite)
    for benchmark in suite.resolved_benchmarks:
        size, asked = space_size(benchmark, lexicon), suite.concepts[benchmark.key]
        if asked > size and not suite.replicates:
            raise UserError(
                f"Suite {suite.name}: concepts of {benchmark.key} is {asked}, but its vocabularies "
                f"make {size} scenes: ask for at most {size}, or set replicates."
            )
