"""Images, their validation, and the sets that are made of the accepted ones."""

from dagster import AssetExecutionContext, MaterializeResult, asset

from assets import matching  # as a module: its lists of assets would be loaded twice
from assets.concepts import captions, concept_set
from assets.metadata import picture, result
from assets.partitions import benchmarks
from bindbench.pipeline import images as image_stage
from bindbench.pipeline import negatives as negative_stage
from bindbench.pipeline import paired_set as pair_stage
from bindbench.pipeline import pictures
from bindbench.pipeline import validated as validation_stage
from resources.bench import BenchResource
from resources.roles import DetectorResource, GeneratorResource, JudgeResource

GROUP = "images"


@asset(
    group_name=GROUP,
    kinds={"parquet", "image"},
    partitions_def=benchmarks,
    code_version=image_stage.CODE_VERSION,
    deps=[captions, *matching.first_image_assets, *matching.first_check_assets],
    pool="gpu",
)
def images(
    context: AssetExecutionContext, bench: BenchResource, generator: GeneratorResource
) -> MaterializeResult:
    """One image for each caption."""
    library = bench.context(generator=generator.settings())
    artifact = image_stage.build(library, context.partition_key)
    return result(artifact, samples=picture(pictures.image_sheet(artifact)))


@asset(
    group_name=GROUP,
    kinds={"parquet"},
    partitions_def=benchmarks,
    code_version=validation_stage.CODE_VERSION,
    deps=[concept_set, captions, images, *matching.first_check_assets],
    pool="gpu",
)
def validated(
    context: AssetExecutionContext,
    bench: BenchResource,
    detector: DetectorResource,
    judge: JudgeResource,
) -> MaterializeResult:
    """Every image with the verdict of every check: presence and count, background, labels."""
    library = bench.context(detector=detector.settings(), judge=judge.settings())
    artifact = validation_stage.build(library, context.partition_key)
    inputs = library.current(image_stage.NAME, context.partition_key)
    return result(
        artifact,
        survival=picture(pictures.survival_plot(library, context.partition_key)),
        samples=picture(pictures.verdict_sheet(artifact, inputs)),
    )


@asset(
    group_name=GROUP,
    kinds={"parquet"},
    partitions_def=benchmarks,
    code_version=pair_stage.CODE_VERSION,
    deps=[validated],
)
def paired_set(context: AssetExecutionContext, bench: BenchResource) -> MaterializeResult:
    """The concepts whose minimal and contextual images were both accepted."""
    return result(pair_stage.build(bench.context(), context.partition_key))


@asset(
    group_name=GROUP,
    kinds={"parquet"},
    partitions_def=benchmarks,
    code_version=negative_stage.CODE_VERSION,
    deps=[validated],
)
def negatives(context: AssetExecutionContext, bench: BenchResource) -> MaterializeResult:
    """The candidates of each accepted image, each labelled true, false or undecided."""
    return result(negative_stage.build(bench.context(), context.partition_key))
