"""What comes first in code locations whose suite matches the prior, or wants pairs only."""

from dagster import AssetExecutionContext, AssetsDefinition, MaterializeResult, asset

from assets.metadata import result
from assets.partitions import benchmarks
from bindbench.pipeline import first_checks as check_stage
from bindbench.pipeline import first_images as image_stage
from bindbench.pipeline import top_up as top_up_stage
from resources.bench import BenchResource
from resources.roles import DetectorResource, GeneratorResource, JudgeResource, WriterResource
from resources.suite import current_suite


@asset(
    group_name="concepts",
    kinds={"parquet", "image"},
    partitions_def=benchmarks,
    code_version=top_up_stage.CODE_VERSION,
    deps=["vocabulary"],
    pool="gpu",
)
def top_up(
    context: AssetExecutionContext,
    bench: BenchResource,
    writer: WriterResource,
    generator: GeneratorResource,
    detector: DetectorResource,
    judge: JudgeResource,
) -> MaterializeResult:
    """The concepts that are added for words that the checks remove, built round by round."""
    library = bench.context(
        writer=writer.settings(),
        generator=generator.settings(),
        detector=detector.settings(),
        judge=judge.settings(),
    )
    return result(top_up_stage.build(library, context.partition_key))


@asset(
    group_name="images",
    kinds={"parquet", "image"},
    partitions_def=benchmarks,
    code_version=image_stage.CODE_VERSION,
    deps=["captions"],
    pool="gpu",
)
def first_images(
    context: AssetExecutionContext, bench: BenchResource, generator: GeneratorResource
) -> MaterializeResult:
    """The images of the minimal track, which decide what the contextual one is made for."""
    library = bench.context(generator=generator.settings())
    return result(image_stage.build(library, context.partition_key))


@asset(
    group_name="images",
    kinds={"parquet"},
    partitions_def=benchmarks,
    code_version=check_stage.CODE_VERSION,
    deps=["concept_set", "captions", first_images],
    pool="gpu",
)
def first_checks(
    context: AssetExecutionContext,
    bench: BenchResource,
    detector: DetectorResource,
    judge: JudgeResource,
) -> MaterializeResult:
    """Every image of the minimal track with the verdict of every check."""
    library = bench.context(detector=detector.settings(), judge=judge.settings())
    return result(check_stage.build(library, context.partition_key))


_suite = current_suite()
top_up_assets: list[AssetsDefinition] = [top_up] if _suite.match_prior else []
first_image_assets: list[AssetsDefinition] = [first_images] if _suite.pairs_only else []
first_check_assets: list[AssetsDefinition] = [first_checks] if _suite.pairs_only else []
matching_assets = [*top_up_assets, *first_image_assets, *first_check_assets]
