"""InstaBind: sets of same-class groups, their questions, and what models answer.

Only in code locations whose suite has a section ``instabind``.
"""

from dagster import (
    AllPartitionMapping,
    AssetDep,
    AssetExecutionContext,
    AssetsDefinition,
    MaterializeResult,
    MultiPartitionKey,
    MultiPartitionsDefinition,
    StaticPartitionMapping,
    StaticPartitionsDefinition,
    asset,
)

from assets.metadata import page, result
from bindbench.models.family import ModelName
from bindbench.pipeline import instabind_annotations as annotation_stage
from bindbench.pipeline import instabind_answers as answer_stage
from bindbench.pipeline import instabind_groups as group_stage
from bindbench.pipeline import instabind_images as image_stage
from bindbench.pipeline import instabind_questions as question_stage
from bindbench.pipeline import instabind_report as report_stage
from bindbench.pipeline import instabind_results as result_stage
from bindbench.pipeline import instabind_validated as validation_stage
from resources.bench import BenchResource
from resources.roles import DetectorResource, GeneratorResource, JudgeResource
from resources.suite import current_suite

GROUP = "instabind"

_section = current_suite().instabind
_sets = _section.sets if _section else {}
_generated = [name for name, one in _sets.items() if one.source == "generated"]
_models = [ModelName.parse(one.model).slug for one in _section.models] if _section else []
sets = StaticPartitionsDefinition(list(_sets))
generated = StaticPartitionsDefinition(_generated)
answers = MultiPartitionsDefinition(
    {
        "set_setting": StaticPartitionsDefinition(answer_stage.cells_of(current_suite())),
        "model": StaticPartitionsDefinition(_models),
    }
)


@asset(
    group_name=GROUP,
    kinds={"parquet"},
    partitions_def=generated,
    code_version=group_stage.CODE_VERSION,
)
def instabind_groups(context: AssetExecutionContext, bench: BenchResource) -> MaterializeResult:
    """Rows of like things that differ in one attribute, drawn from the vocabularies."""
    return result(group_stage.build(bench.context(), context.partition_key))


@asset(
    group_name=GROUP,
    kinds={"parquet", "image"},
    partitions_def=generated,
    code_version=image_stage.CODE_VERSION,
    deps=[instabind_groups],
    pool="gpu",
)
def instabind_images(
    context: AssetExecutionContext, bench: BenchResource, generator: GeneratorResource
) -> MaterializeResult:
    """One image of each row."""
    library = bench.context(generator=generator.settings())
    return result(image_stage.build(library, context.partition_key))


@asset(
    group_name=GROUP,
    kinds={"parquet"},
    partitions_def=generated,
    code_version=validation_stage.CODE_VERSION,
    deps=[instabind_groups, instabind_images],
    pool="gpu",
)
def instabind_validated(
    context: AssetExecutionContext,
    bench: BenchResource,
    detector: DetectorResource,
    judge: JudgeResource,
) -> MaterializeResult:
    """Every row with the verdict of every check, and the boxes of its things."""
    library = bench.context(detector=detector.settings(), judge=judge.settings())
    return result(validation_stage.build(library, context.partition_key))


def _of_generated(target: AssetsDefinition) -> AssetDep:
    """Return a dependency for the sets that are generated; the others come from files."""
    return AssetDep(target, partition_mapping=StaticPartitionMapping({k: k for k in _generated}))


@asset(
    group_name=GROUP,
    kinds={"parquet", "image"},
    partitions_def=sets,
    code_version=annotation_stage.CODE_VERSION,
    deps=[_of_generated(one) for one in (instabind_validated, instabind_images) if _generated],
)
def instabind_annotations(
    context: AssetExecutionContext, bench: BenchResource
) -> MaterializeResult:
    """The images of a set with their annotated groups, from a file or from accepted rows."""
    return result(annotation_stage.build(bench.context(), context.partition_key))


@asset(
    group_name=GROUP,
    kinds={"parquet"},
    partitions_def=sets,
    code_version=question_stage.CODE_VERSION,
    deps=[instabind_annotations],
)
def instabind_questions(context: AssetExecutionContext, bench: BenchResource) -> MaterializeResult:
    """The questions of all four levels on a set."""
    return result(question_stage.build(bench.context(), context.partition_key))


@asset(
    group_name=GROUP,
    kinds={"parquet"},
    partitions_def=answers,
    code_version=answer_stage.CODE_VERSION,
    # A partition of two dimensions can't be mapped to a part of one: the library reads its own set.
    deps=[
        AssetDep(one, partition_mapping=AllPartitionMapping())
        for one in (instabind_questions, instabind_annotations)
    ],
    pool="gpu",
)
def instabind_answers(context: AssetExecutionContext, bench: BenchResource) -> MaterializeResult:
    """One model's answers to a set's questions, in one setting."""
    key = context.partition_key
    assert isinstance(key, MultiPartitionKey)
    parts = key.keys_by_dimension
    return result(answer_stage.build_named(bench.context(), parts["set_setting"], parts["model"]))


@asset(
    group_name=GROUP,
    kinds={"parquet"},
    code_version=result_stage.CODE_VERSION,
    deps=[
        AssetDep(
            instabind_answers,
            partition_mapping=AllPartitionMapping(),
            metadata={"allow_missing_partitions": True},
        ),
        AssetDep(instabind_questions, partition_mapping=AllPartitionMapping()),
    ],
)
def instabind_results(bench: BenchResource) -> MaterializeResult:
    """Every model's accuracy, misbinding rates and gaps, on every set and in every setting."""
    return result(result_stage.build(bench.context()))


@asset(
    group_name=GROUP,
    kinds={"html"},
    code_version=report_stage.CODE_VERSION,
    deps=[instabind_results],
)
def instabind_report(bench: BenchResource) -> MaterializeResult:
    """The tables and figures of the paper for these models, and a gallery of misbindings."""
    library = bench.context()
    artifact = report_stage.build(library)
    return result(artifact, page=page(report_stage.export(library, artifact)))


row_assets = [instabind_groups, instabind_images, instabind_validated] if _generated else []
set_assets = [instabind_annotations, instabind_questions]
summary_assets = [instabind_results, instabind_report]
instabind_assets = (
    [*row_assets, *set_assets, instabind_answers, *summary_assets] if _section else []
)
