"""The stages in their order: a whole benchmark, a model's scores and the summary, as functions."""

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from bindbench.engine.base import Demand
from bindbench.pipeline import (
    alignment,
    captions,
    concept_set,
    conme_calibration,
    conme_evaluation,
    conme_first_round,
    conme_harder_questions,
    conme_images,
    conme_labels,
    conme_open_answers,
    conme_questions,
    conme_report,
    conme_results,
    conme_second_round,
    conme_self_check,
    conme_strong_descriptions,
    conme_target_descriptions,
    faithfulness,
    filter_shift,
    first_checks,
    first_images,
    images,
    instabind_annotations,
    instabind_answers,
    instabind_groups,
    instabind_images,
    instabind_questions,
    instabind_report,
    instabind_results,
    instabind_validated,
    leaderboard,
    model_scores,
    negatives,
    paired_set,
    report,
    second_opinion,
    tables,
    top_up,
    validated,
    vocabularies,
)
from bindbench.pipeline.base import Context
from bindbench.storage.store import Artifact
from bindbench.suite import Suite

BENCHMARK_STAGES = (
    concept_set,
    captions,
    images,
    validated,
    paired_set,
    negatives,
    filter_shift,
)


def benchmark_stages(suite: Suite) -> tuple[ModuleType, ...]:
    """Return the stages of one benchmark, but the scores."""
    profile = suite.profile
    before = (top_up,) if suite.match_prior else ()
    first = (first_images, first_checks) if suite.pairs_only else ()
    at = BENCHMARK_STAGES.index(images)
    needed = (*before, *BENCHMARK_STAGES[:at], *first, *BENCHMARK_STAGES[at:])
    wanted = {
        second_opinion: profile.second_judge,
        alignment: profile.faithfulness.encoder,
        faithfulness: profile.faithfulness.answerer,
    }
    return (*needed, *(stage for stage, model in wanted.items() if model))


def build_vocabulary(context: Context) -> list[Artifact]:
    """Build the table of words."""
    return [vocabularies.build(context)]


def build_benchmark(context: Context, key: str) -> list[Artifact]:
    """Build everything of a benchmark but the scores."""
    return [stage.build(context, key) for stage in benchmark_stages(context.suite)]


def score_model(context: Context, key: str, slug: str) -> list[Artifact]:
    """Score one of the suite's models on a benchmark."""
    return [model_scores.build_named(context, key, slug)]


def summarize(context: Context) -> list[Artifact]:
    """Build the leaderboard, the tables and the report."""
    return [stage.build(context) for stage in (leaderboard, tables, report)]


def draw_instabind(context: Context, name: str) -> list[Artifact]:
    """Build the rows of a generated set of InstaBind, their images and verdicts."""
    stages = (instabind_groups, instabind_images, instabind_validated)
    return [stage.build(context, name) for stage in stages]


def ask_instabind(context: Context, name: str) -> list[Artifact]:
    """Build the annotated images of a set of InstaBind, and the questions about them."""
    return [stage.build(context, name) for stage in (instabind_annotations, instabind_questions)]


def answer_instabind(context: Context, place: str, slug: str) -> list[Artifact]:
    """Let one of the suite's answerers answer, at a set and setting."""
    return [instabind_answers.build_named(context, place, slug)]


def summarize_instabind(context: Context) -> list[Artifact]:
    """Build InstaBind's results and its report."""
    return [instabind_results.build(context), instabind_report.build(context)]


CONME_STAGES = (
    conme_strong_descriptions,
    conme_target_descriptions,
    conme_questions,
    conme_first_round,
    conme_open_answers,
    conme_harder_questions,
    conme_second_round,
    conme_calibration,
)


def show_conme(context: Context, name: str) -> list[Artifact]:
    """Build the images of a set of ConMe."""
    return [conme_images.build(context, name)]


def converse(context: Context, where: str) -> list[Artifact]:
    """Build the seven stages of ConMe for a set and a panel."""
    return [stage.build(context, where) for stage in CONME_STAGES]


def review_conme(context: Context, where: str) -> list[Artifact]:
    """Build what the strong model and a labeller say of a conversation's samples."""
    return [conme_self_check.build(context, where), conme_labels.build(context, where)]


def evaluate_conme(context: Context, where: str, slug: str) -> list[Artifact]:
    """Build one model's choices on the samples of a conversation."""
    return [conme_evaluation.build(context, where, slug)]


def summarize_conme(context: Context) -> list[Artifact]:
    """Build ConMe's results and its report."""
    return [conme_results.build(context), conme_report.build(context)]


class Outdated(Exception):
    """Something would have to be computed."""


class IdleEngine:
    """Stands for an engine where only finished artifacts are wanted: it refuses to compute."""

    workers = 1

    def map(
        self,
        function: Callable[[Any], Any],
        tasks: Sequence[Any],
        on_done: Callable[[int, Any], None],
        names: Sequence[str] | None = None,
    ) -> None:
        """Raise Outdated."""
        raise Outdated

    def holding(self, demand: Demand) -> "IdleEngine":
        """Return this engine: no model is held."""
        return self

    def close(self) -> None:
        """Do nothing: there are no workers."""
