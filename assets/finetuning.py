"""Fine-tuning, in code locations whose suite has a section ``finetuning``."""

from dagster import AllPartitionMapping, AssetDep, AssetsDefinition, MaterializeResult, asset

from assets.images import images, negatives, paired_set
from assets.metadata import result
from bindbench.pipeline import finetuned as finetuned_stage
from resources.bench import BenchResource
from resources.suite import current_suite


@asset(
    group_name="evaluation",
    kinds={"parquet"},
    code_version=finetuned_stage.CODE_VERSION,
    deps=[
        AssetDep(made, partition_mapping=AllPartitionMapping())
        for made in (negatives, images, paired_set)
    ],
    pool="gpu",
)
def finetuned(bench: BenchResource) -> MaterializeResult:
    """A contrastive model trained on hard negatives: new models to evaluate, and their gains."""
    return result(finetuned_stage.build(bench.context()))


finetuning_assets: list[AssetsDefinition] = [finetuned] if current_suite().finetuning else []
