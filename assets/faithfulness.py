"""What measures all images and captions, in code locations whose suite names models for it."""

from dagster import AssetExecutionContext, AssetsDefinition, MaterializeResult, asset

from assets.concepts import captions, concept_set
from assets.images import GROUP, images
from assets.metadata import result
from assets.partitions import benchmarks
from bindbench.pipeline import alignment as alignment_stage
from bindbench.pipeline import faithfulness as faithfulness_stage
from resources.bench import BenchResource
from resources.suite import current_suite


@asset(
    group_name=GROUP,
    kinds={"parquet"},
    partitions_def=benchmarks,
    code_version=alignment_stage.CODE_VERSION,
    deps=[concept_set, images],
    pool="gpu",
)
def alignment(context: AssetExecutionContext, bench: BenchResource) -> MaterializeResult:
    """How close an encoder finds each image and its caption, accepted or not."""
    return result(alignment_stage.build(bench.context(), context.partition_key))


@asset(
    group_name=GROUP,
    kinds={"parquet"},
    partitions_def=benchmarks,
    code_version=faithfulness_stage.CODE_VERSION,
    deps=[concept_set, captions, images],
    pool="gpu",
)
def faithfulness(context: AssetExecutionContext, bench: BenchResource) -> MaterializeResult:
    """Answers to questions about every image, accepted or not, that its concept decides."""
    return result(faithfulness_stage.build(bench.context(), context.partition_key))


_settings = current_suite().profile.faithfulness
faithfulness_assets: list[AssetsDefinition] = [
    *([alignment] if _settings.encoder else []),
    *([faithfulness] if _settings.answerer else []),
]
