"""Words, concepts and captions."""

from dagster import AssetExecutionContext, MaterializeResult, asset

from assets import matching  # as a module: its lists of assets would be loaded twice
from assets.metadata import result
from assets.partitions import benchmarks
from bindbench.pipeline import captions as captions_stage
from bindbench.pipeline import concept_set as concept_stage
from bindbench.pipeline import vocabularies
from resources.bench import BenchResource
from resources.roles import WriterResource

GROUP = "concepts"


@asset(group_name=GROUP, kinds={"parquet"}, code_version=vocabularies.CODE_VERSION)
def vocabulary(bench: BenchResource) -> MaterializeResult:
    """The words that concepts are made of: objects, shapes, colors and relations."""
    return result(vocabularies.build(bench.context()))


@asset(
    group_name=GROUP,
    kinds={"parquet"},
    partitions_def=benchmarks,
    code_version=concept_stage.CODE_VERSION,
    deps=[vocabulary, *matching.top_up_assets],
)
def concept_set(context: AssetExecutionContext, bench: BenchResource) -> MaterializeResult:
    """The scenes that a benchmark asks about, sampled from the vocabularies."""
    return result(concept_stage.build(bench.context(), context.partition_key))


@asset(
    group_name=GROUP,
    kinds={"parquet", "llm"},
    partitions_def=benchmarks,
    code_version=captions_stage.CODE_VERSION,
    deps=[concept_set],
    pool="gpu",
)
def captions(
    context: AssetExecutionContext, bench: BenchResource, writer: WriterResource
) -> MaterializeResult:
    """A minimal and a contextual caption for each concept, strictly paired."""
    library = bench.context(writer=writer.settings())
    return result(captions_stage.build(library, context.partition_key))
