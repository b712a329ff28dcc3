"""Blocking checks: a partition that fails one holds back what would be built from it."""

import warnings
from collections.abc import Callable

from dagster import (
    AssetCheckExecutionContext,
    AssetCheckResult,
    AssetChecksDefinition,
    AssetCheckSeverity,
    AssetsDefinition,
    MultiPartitionKey,
    asset_check,
)
from dagster_shared.utils.warnings import PreviewWarning

from assets.concepts import captions, concept_set
from assets.conme import (
    conme_assets,
    conme_first_round,
    conme_harder_questions,
    conme_images,
    conme_questions,
    conme_second_round,
)
from assets.conme_results import conme_evaluation
from assets.images import images, negatives, paired_set, validated
from assets.instabind import instabind_annotations, instabind_assets, instabind_questions
from bindbench.pipeline import conme_quality, instabind_quality, quality
from bindbench.pipeline.base import Context
from resources.bench import BenchResource

# Partitioned checks are in preview; without them one bad partition would hold back all of them.
warnings.filterwarnings("ignore", category=PreviewWarning, message=".*AssetCheckSpec")

DIMENSIONS = ("set", "panel", "conversation", "model")

Judgement = Callable[[Context, str], quality.Outcome]


def blocking_check(name: str, target: AssetsDefinition, judge: Judgement) -> AssetChecksDefinition:
    """Return a partitioned, blocking check of ``target`` that asks ``judge``."""

    @asset_check(
        name=name,
        asset=target,
        partitions_def=target.partitions_def,
        blocking=True,
        description=(judge.__doc__ or "").split("\n")[0],
    )
    def check(context: AssetCheckExecutionContext, bench: BenchResource) -> AssetCheckResult:
        outcome = judge(bench.context(), _place(context.partition_key))
        return AssetCheckResult(
            passed=outcome.passed,
            severity=AssetCheckSeverity.ERROR,
            metadata={"failed": list(outcome.failed), **outcome.observed},
        )

    return check


def _place(key: str) -> str:
    """Return the library's name of a partition: of two dimensions, both in their order."""
    if not isinstance(key, MultiPartitionKey):
        return key
    parts = key.keys_by_dimension
    return "--".join(parts[name] for name in DIMENSIONS if name in parts)


def digest_check(target: AssetsDefinition) -> AssetChecksDefinition:
    """Return the check that an asset's shards are what its manifest says."""
    name = target.key.to_user_string()

    def judge(context: Context, key: str) -> quality.Outcome:
        return quality.digests_right(context, name, key)

    judge.__doc__ = quality.digests_right.__doc__
    return blocking_check("digests", target, judge)


asset_checks = [
    blocking_check("survival", captions, quality.caption_survival),
    blocking_check("survival", validated, quality.image_survival),
    blocking_check("not_empty", paired_set, quality.paired_not_empty),
    blocking_check("candidate_counts", negatives, quality.candidate_counts),
    blocking_check("no_true_negative", negatives, quality.no_true_negative),
    *(digest_check(target) for target in (concept_set, captions, images, validated, negatives)),
]
if instabind_assets:
    asset_checks += [
        blocking_check("groups_left", instabind_annotations, instabind_quality.groups_left),
        blocking_check("every_level", instabind_questions, instabind_quality.every_level_asked),
        digest_check(instabind_annotations),
        digest_check(instabind_questions),
    ]
if conme_assets:
    asset_checks += [
        blocking_check("images_there", conme_images, conme_quality.images_there),
        blocking_check("rejected", conme_questions, conme_quality.first_asked),
        blocking_check("rejected", conme_harder_questions, conme_quality.harder_asked),
        blocking_check("counts", conme_first_round, conme_quality.first_counted),
        blocking_check("counts", conme_second_round, conme_quality.second_counted),
        blocking_check("samples_left", conme_second_round, conme_quality.samples_left),
        blocking_check("whole", conme_evaluation, conme_quality.evaluated_whole),
        *(digest_check(one) for one in (conme_images, conme_questions, conme_second_round)),
    ]
