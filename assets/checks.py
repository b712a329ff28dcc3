"""Blocking checks: a partition that fails one holds back what would be built from it."""

import warnings
from collections.abc import Callable

from dagster import (
    AssetCheckExecutionContext,
    AssetCheckResult,
    AssetChecksDefinition,
    AssetCheckSeverity,
    AssetsDefinition,
    asset_check,
)
from dagster_shared.utils.warnings import PreviewWarning

from assets.concepts import captions, concept_set
from assets.images import images, negatives, paired_set, validated
from assets.instabind import instabind_annotations, instabind_assets, instabind_questions
from bindbench.pipeline import instabind_quality, quality
from bindbench.pipeline.base import Context
from resources.bench import BenchResource

# Partitioned checks are in preview; without them one bad partition would hold back all of them.
warnings.filterwarnings("ignore", category=PreviewWarning, message=".*AssetCheckSpec")

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
        outcome = judge(bench.context(), context.partition_key)
        return AssetCheckResult(
            passed=outcome.passed,
            severity=AssetCheckSeverity.ERROR,
            metadata={"failed": list(outcome.failed), **outcome.observed},
        )

    return check


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
