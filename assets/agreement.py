"""A second judge's answers, in code locations whose suite names one."""

from dagster import AssetExecutionContext, MaterializeResult, asset

from assets.images import GROUP, images, validated
from assets.metadata import result
from assets.partitions import benchmarks
from bindbench.pipeline import second_opinion as opinion_stage
from resources.bench import BenchResource
from resources.roles import SecondJudgeResource


@asset(
    group_name=GROUP,
    kinds={"parquet"},
    partitions_def=benchmarks,
    code_version=opinion_stage.CODE_VERSION,
    deps=[validated, images],
    pool="gpu",
)
def second_opinion(
    context: AssetExecutionContext, bench: BenchResource, second_judge: SecondJudgeResource
) -> MaterializeResult:
    """Another judge on the images that the suite's judge was asked about; it decides nothing."""
    library = bench.context(second_judge=second_judge.settings())
    return result(opinion_stage.build(library, context.partition_key))
