"""Scores, what the filters did to the labels, the leaderboard and the report."""

from dagster import (
    AllPartitionMapping,
    AssetDep,
    AssetExecutionContext,
    MaterializeResult,
    MultiPartitionKey,
    asset,
)

# As modules: not every suite has their assets, and a list of them here would be loaded twice.
from assets import agreement, conme_results, faithfulness, finetuning, instabind, matching
from assets.automation import when_changed, when_new_or_changed
from assets.concepts import captions, concept_set
from assets.images import images, negatives, paired_set, validated
from assets.metadata import page, picture, result
from assets.partitions import benchmarks, scores
from bindbench.pipeline import filter_shift as shift_stage
from bindbench.pipeline import leaderboard as leaderboard_stage
from bindbench.pipeline import model_scores as score_stage
from bindbench.pipeline import pictures
from bindbench.pipeline import report as report_stage
from bindbench.pipeline import tables as tables_stage
from resources.bench import BenchResource
from resources.roles import ScorersResource
from resources.suite import current_suite

GROUP = "evaluation"
_opinions = (
    [AssetDep(agreement.second_opinion, partition_mapping=AllPartitionMapping())]
    if current_suite().profile.second_judge
    else []
)
_sisters = [
    *([AssetDep(instabind.instabind_report)] if current_suite().instabind else []),
    *([AssetDep(conme_results.conme_report)] if current_suite().conme else []),
]


@asset(
    group_name=GROUP,
    kinds={"parquet"},
    partitions_def=scores,
    code_version=score_stage.CODE_VERSION,
    deps=[negatives, images],
    automation_condition=when_new_or_changed,
    pool="gpu",
)
def model_scores(
    context: AssetExecutionContext, bench: BenchResource, scorers: ScorersResource
) -> MaterializeResult:
    """One model's score of every candidate of a benchmark."""
    key = context.partition_key
    assert isinstance(key, MultiPartitionKey)
    parts = key.keys_by_dimension
    library = bench.context(**scorers.roles())
    return result(score_stage.build_named(library, parts["benchmark"], parts["model"]))


@asset(
    group_name=GROUP,
    kinds={"parquet"},
    partitions_def=benchmarks,
    code_version=shift_stage.CODE_VERSION,
    deps=[concept_set, validated, paired_set],
)
def filter_shift(context: AssetExecutionContext, bench: BenchResource) -> MaterializeResult:
    """How far the checks moved the labels and objects away from the target distribution."""
    library = bench.context()
    artifact = shift_stage.build(library, context.partition_key)
    return result(artifact, labels=picture(pictures.shift_plot(library, context.partition_key)))


@asset(
    group_name=GROUP,
    kinds={"parquet"},
    code_version=leaderboard_stage.CODE_VERSION,
    deps=[
        AssetDep(
            model_scores,
            partition_mapping=AllPartitionMapping(),
            metadata={"allow_missing_partitions": True},
        ),
        AssetDep(negatives, partition_mapping=AllPartitionMapping()),
        AssetDep(paired_set, partition_mapping=AllPartitionMapping()),
    ],
    automation_condition=when_changed,
)
def leaderboard(bench: BenchResource) -> MaterializeResult:
    """Every model's accuracy on every benchmark, with intervals, chance and ceiling."""
    artifact = leaderboard_stage.build(bench.context())
    return result(
        artifact,
        accuracies=picture(pictures.leaderboard_plot(artifact, current_suite().benchmarks[-1])),
    )


@asset(
    group_name=GROUP,
    kinds={"parquet"},
    code_version=tables_stage.CODE_VERSION,
    deps=[
        leaderboard,
        *(
            AssetDep(made, partition_mapping=AllPartitionMapping())
            for made in (
                *(concept_set, captions, images, validated, paired_set, filter_shift),
                *faithfulness.faithfulness_assets,
                *matching.top_up_assets,
            )
        ),
        *finetuning.finetuning_assets,
        *_opinions,
    ],
    automation_condition=when_changed,
)
def tables(bench: BenchResource) -> MaterializeResult:
    """Every number of the paper's tables, from whatever has been built."""
    return result(tables_stage.build(bench.context()))


@asset(
    group_name=GROUP,
    kinds={"html"},
    code_version=report_stage.CODE_VERSION,
    deps=[
        leaderboard,
        tables,
        AssetDep(filter_shift, partition_mapping=AllPartitionMapping()),
        AssetDep(validated, partition_mapping=AllPartitionMapping()),
        *_opinions,
        *_sisters,
    ],
    automation_condition=when_changed,
)
def report(bench: BenchResource) -> MaterializeResult:
    """The report: survival, filter shift, leaderboard and a gallery, as pages for a browser."""
    library = bench.context()
    artifact = report_stage.build(library)
    return result(artifact, page=page(report_stage.export(library, artifact)))
