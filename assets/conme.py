"""ConMe's conversation: image sets, panels of models, and the seven stages.

Only in code locations whose suite has a section ``conme``.
"""

from collections.abc import Sequence
from typing import Any

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

from assets.images import images, negatives
from assets.metadata import result
from bindbench.pipeline import conme_calibration as calibration_stage
from bindbench.pipeline import conme_first_round as first_round_stage
from bindbench.pipeline import conme_harder_questions as harder_stage
from bindbench.pipeline import conme_images as image_stage
from bindbench.pipeline import conme_open_answers as answer_stage
from bindbench.pipeline import conme_questions as question_stage
from bindbench.pipeline import conme_second_round as second_round_stage
from bindbench.pipeline import conme_strong_descriptions as strong_stage
from bindbench.pipeline import conme_target_descriptions as target_stage
from bindbench.pipeline.base import Context
from bindbench.pipeline.conme_cells import cell
from bindbench.pipeline.conme_targets import seconds_of
from bindbench.storage.store import Artifact
from resources.bench import BenchResource
from resources.suite import current_suite

GROUP = "conme"

_section = current_suite().conme
_sets = _section.sets if _section else {}
_validated = any(one.source == "validated" for one in _sets.values())
sets = StaticPartitionsDefinition(list(_sets))
conversations = MultiPartitionsDefinition(
    {
        "set": sets,
        "panel": StaticPartitionsDefinition(list(_section.panels) if _section else []),
    }
)


def where_of(context: AssetExecutionContext) -> str:
    """Return the library's name of a partition of a set and a panel."""
    key = context.partition_key
    assert isinstance(key, MultiPartitionKey)
    return cell(key.keys_by_dimension["set"], key.keys_by_dimension["panel"])


def told(library: Context, artifact: Artifact) -> MaterializeResult:
    """Return the result of a stage with how long its build took, waiting for servers included."""
    return result(artifact, seconds=seconds_of(library, artifact))


def stage(module: Any, deps: Sequence[Any], pool: str | None = "gpu") -> Any:
    """Return the decorator of a stage of the conversation."""
    return asset(
        group_name=GROUP,
        kinds={"parquet"},
        partitions_def=conversations,
        code_version=module.CODE_VERSION,
        deps=list(deps),
        pool=pool,
    )


@asset(
    group_name=GROUP,
    kinds={"parquet", "image"},
    partitions_def=sets,
    code_version=image_stage.CODE_VERSION,
    # A set reads the one benchmark that it names, if any.
    deps=[
        AssetDep(one, partition_mapping=AllPartitionMapping())
        for one in (images, negatives)
        if _validated
    ],
)
def conme_images(context: AssetExecutionContext, bench: BenchResource) -> MaterializeResult:
    """The images of a set: of a folder, a dataset, SugarCrepe or a benchmark of the suite."""
    library = bench.context()
    return told(library, image_stage.build(library, context.partition_key))


@stage(strong_stage, [conme_images])
def conme_strong_descriptions(
    context: AssetExecutionContext, bench: BenchResource
) -> MaterializeResult:
    """Stage 1: the strong model describes the images."""
    library = bench.context()
    return told(library, strong_stage.build(library, where_of(context)))


@stage(target_stage, [conme_images])
def conme_target_descriptions(
    context: AssetExecutionContext, bench: BenchResource
) -> MaterializeResult:
    """Stage 2: the targets describe the images."""
    library = bench.context()
    return told(library, target_stage.build(library, where_of(context)))


@stage(question_stage, [conme_images, conme_strong_descriptions, conme_target_descriptions])
def conme_questions(context: AssetExecutionContext, bench: BenchResource) -> MaterializeResult:
    """Stage 3: the strong model asks what the targets left out or got wrong."""
    library = bench.context()
    return told(library, question_stage.build(library, where_of(context)))


@stage(first_round_stage, [conme_images, conme_questions])
def conme_first_round(context: AssetExecutionContext, bench: BenchResource) -> MaterializeResult:
    """Stage 4: the targets choose, and what all get right is dropped."""
    library = bench.context()
    return told(library, first_round_stage.build(library, where_of(context)))


@stage(answer_stage, [conme_images, conme_questions])
def conme_open_answers(context: AssetExecutionContext, bench: BenchResource) -> MaterializeResult:
    """Stage 5: the targets answer the questions in words."""
    library = bench.context()
    return told(library, answer_stage.build(library, where_of(context)))


@stage(harder_stage, [conme_images, conme_questions, conme_open_answers])
def conme_harder_questions(
    context: AssetExecutionContext, bench: BenchResource
) -> MaterializeResult:
    """Stage 6: the strong model asks harder questions, after the answers."""
    library = bench.context()
    return told(library, harder_stage.build(library, where_of(context)))


@stage(second_round_stage, [conme_images, conme_harder_questions])
def conme_second_round(context: AssetExecutionContext, bench: BenchResource) -> MaterializeResult:
    """Stage 7: the targets choose again; what one of them misses is the benchmark."""
    library = bench.context()
    return told(library, second_round_stage.build(library, where_of(context)))


@stage(calibration_stage, [conme_images, conme_first_round, conme_second_round], pool=None)
def conme_calibration(context: AssetExecutionContext, bench: BenchResource) -> MaterializeResult:
    """Whether the questions were truly right, where a renderer knows what it drew."""
    library = bench.context()
    return told(library, calibration_stage.build(library, where_of(context)))


stage_assets = [
    conme_strong_descriptions,
    conme_target_descriptions,
    conme_questions,
    conme_first_round,
    conme_open_answers,
    conme_harder_questions,
    conme_second_round,
    conme_calibration,
]
conme_assets = [conme_images, *stage_assets] if _section else []
