"""The strong model of a panel: what it is, what decides its output, and loading it."""

from collections.abc import Iterable
from typing import Any

from bindbench.conme.examiner import Examiner
from bindbench.conme.settings import AGENT
from bindbench.models import registry
from bindbench.pipeline.asking import usage_summary
from bindbench.pipeline.base import Context, suite_lexicon
from bindbench.pipeline.conme_cells import settings_of
from bindbench.suite import RoleSettings, Suite


def describe_strong(suite: Suite, strong: RoleSettings) -> dict[str, Any]:
    """Return what determines the strong model's output, for fingerprints."""
    if strong.model != AGENT:
        return registry.describe("answerer", strong)
    profile, lexicon = suite.profile, suite_lexicon(suite)
    words = (lexicon.objects, lexicon.shapes, lexicon.colors, lexicon.positions, lexicon.sizes)
    return {
        "model": AGENT,
        "batch_size": strong.batch_size,
        "detector": registry.describe("detector", profile.detector),
        "judge": registry.describe("judge", profile.judge),
        "sure": profile.validation.label_score,
        "words": [vocabulary.digest for vocabulary in words],
    }


def load_strong(suite: Suite, strong: RoleSettings) -> Examiner:
    """Return the loaded strong model, for one shard."""
    sources, settings = suite.profile.vocabularies, settings_of(suite)
    if strong.model != AGENT:
        from bindbench.conme.asking import DESCRIBE
        from bindbench.conme.examiner import PromptedExaminer

        _, _, options = registry.named("answerer", strong)
        answerer = registry.load("answerer", strong, sources)
        return PromptedExaminer(answerer, settings, DESCRIBE[options.wording])
    from bindbench.conme.agent import RenderExaminer

    profile = suite.profile
    detector = registry.load("detector", profile.detector, sources)
    judge = registry.load("judge", profile.judge, sources)
    sure = profile.validation.label_score
    return RenderExaminer(detector, judge, suite_lexicon(suite), settings, sure)


def holding_strong(context: Context, strong: RoleSettings) -> Context:
    """Return the context with an engine whose workers can hold the strong model."""
    if strong.model != AGENT:
        return context.holding("answerer", strong)
    profile = context.suite.profile
    return context.holding("detector", profile.detector).holding("judge", profile.judge)


def usage_of_strong(strong: RoleSettings, raws: Iterable[str | None]) -> dict[str, Any]:
    """Return what the strong model's answers took; {} where it is no server."""
    return {} if strong.model == AGENT else usage_summary("answerer", strong, raws)
