"""ConMe's results: every model on what a conversation led to, the samples' quality, the report.

Only in code locations whose suite has a section ``conme``.
"""

from dagster import (
    AllPartitionMapping,
    AssetDep,
    AssetExecutionContext,
    MaterializeResult,
    MultiPartitionKey,
    MultiPartitionsDefinition,
    StaticPartitionsDefinition,
    asset,
)

from assets.conme import (
    GROUP,
    conme_calibration,
    conme_first_round,
    conme_images,
    conme_second_round,
    stage,
    where_of,
)
from assets.metadata import page, result
from bindbench.pipeline import conme_evaluation as evaluation_stage
from bindbench.pipeline import conme_labels as label_stage
from bindbench.pipeline import conme_report as report_stage
from bindbench.pipeline import conme_results as result_stage
from bindbench.pipeline import conme_self_check as check_stage
from bindbench.pipeline.conme_cells import cells_of, models_of
from resources.bench import BenchResource
from resources.suite import current_suite

_suite = current_suite()
_cells = cells_of(_suite)
_models = dict.fromkeys(name for where in _cells for name in models_of(_suite, where))
evaluations = MultiPartitionsDefinition(
    {
        "conversation": StaticPartitionsDefinition(_cells),
        "model": StaticPartitionsDefinition(list(_models)),
    }
)


@stage(check_stage, [conme_images, conme_second_round])
def conme_self_check(context: AssetExecutionContext, bench: BenchResource) -> MaterializeResult:
    """The strong model looks again at the samples that are left."""
    return result(check_stage.build(bench.context(), where_of(context)))


@stage(label_stage, [conme_images, conme_second_round])
def conme_labels(context: AssetExecutionContext, bench: BenchResource) -> MaterializeResult:
    """What the samples that are left are about, by each taxonomy."""
    return result(label_stage.build(bench.context(), where_of(context)))


@asset(
    group_name=GROUP,
    kinds={"parquet"},
    partitions_def=evaluations,
    code_version=evaluation_stage.CODE_VERSION,
    # A partition of two dimensions can't be mapped to a part of one: the library reads its own.
    deps=[
        AssetDep(one, partition_mapping=AllPartitionMapping())
        for one in (conme_images, conme_first_round, conme_second_round)
    ],
    pool="gpu",
)
def conme_evaluation(context: AssetExecutionContext, bench: BenchResource) -> MaterializeResult:
    """One model on all samples of a conversation, in every mode and both orders."""
    key = context.partition_key
    assert isinstance(key, MultiPartitionKey)
    parts = key.keys_by_dimension
    return result(evaluation_stage.build(bench.context(), parts["conversation"], parts["model"]))


@asset(
    group_name=GROUP,
    kinds={"parquet"},
    code_version=result_stage.CODE_VERSION,
    deps=[
        AssetDep(
            one,
            partition_mapping=AllPartitionMapping(),
            metadata={"allow_missing_partitions": True},
        )
        for one in (conme_evaluation, conme_self_check, conme_labels, conme_calibration)
    ],
)
def conme_results(bench: BenchResource) -> MaterializeResult:
    """Every model's accuracy at every stage and in every mode, and the quality of the samples."""
    return result(result_stage.build(bench.context()))


@asset(
    group_name=GROUP,
    kinds={"html"},
    code_version=report_stage.CODE_VERSION,
    deps=[conme_results],
)
def conme_report(bench: BenchResource) -> MaterializeResult:
    """The tables and figures of the paper for these models, and samples to look at."""
    library = bench.context()
    artifact = report_stage.build(library)
    return result(artifact, page=page(report_stage.export(library, artifact)))


review_assets = [conme_self_check, conme_labels]
conme_summary_assets = [conme_results, conme_report]
conme_result_assets = [*review_assets, conme_evaluation, *conme_summary_assets] if _cells else []
