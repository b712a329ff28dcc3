"""Errata: items withdrawn from a release, so that stored scores are aggregated without them.

An erratum writes the candidates, the paired set and the scores of its benchmark anew, without the
withdrawn items, and makes them current in the release's store. Whatever reads the store then
honours it, and nothing is scored again. What the checks did when the release was made (survival,
filter shift, agreement of judges) stays as it was.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bindbench.concepts import content_id
from bindbench.errors import UserError, unknown_name
from bindbench.frozen import checksums
from bindbench.frozen.release import ERRATA, Release, write_facts, write_readme, write_yaml
from bindbench.pipeline import model_scores, negatives, paired_set
from bindbench.pipeline.base import Context, ShardInputs
from bindbench.storage.datasets import Shard, build
from bindbench.storage.store import Artifact
from bindbench.strict import Strict
from bindbench.suite import parse, read_yaml
from bindbench.tasks import get_benchmark

Summarize = Callable[[Artifact], dict[str, Any]]


class Erratum(Strict):
    """Items that were withdrawn together."""

    number: int
    benchmark: str
    concepts: tuple[str, ...]
    reason: str
    before: str  # the checksum of the version that it corrects


class Errata(Strict):
    """What ``errata.yaml`` holds."""

    errata: tuple[Erratum, ...] = ()


def read_errata(release: Release) -> tuple[Erratum, ...]:
    """Return the errata of a release, in their order."""
    path = release.folder / ERRATA
    return parse(Errata, read_yaml(path), str(path)).errata if path.is_file() else ()


def add(release: Release, key: str, concepts: Sequence[str], reason: str) -> Release:
    """Withdraw all items of some concepts from a benchmark; return the new version.

    Raises:
        UserError: the release is damaged, has no such benchmark, or an id is of none of its items;
            then nothing changes.
    """
    before = checksums.verify(release.folder)
    context, key = release.context, get_benchmark(key).key
    if key not in context.suite.benchmarks:
        raise unknown_name("benchmark", key, context.suite.benchmarks, release.title)
    if not reason.strip():
        raise UserError("--reason is empty: say what is wrong with the items.")
    if not concepts:
        raise UserError(f"There is no concept to withdraw from {key}: give ids with --concept.")
    known = set(context.current(negatives.NAME, key).read(["concept_id"])["concept_id"].to_pylist())
    earlier = read_errata(release)
    gone = {c: e.number for e in earlier if e.benchmark == key for c in e.concepts}
    for concept in concepts:
        if concept in gone:
            raise UserError(f"Concept {concept} of {key} is withdrawn by e{gone[concept]} already.")
        if concept not in known:
            raise UserError(
                f"{key} in {release.title} has no item of concept {concept}: give an id that "
                "stands in the column concept_id of its candidates."
            )
    erratum = Erratum(
        number=len(earlier) + 1,
        benchmark=key,
        concepts=tuple(sorted(set(concepts))),
        reason=reason.strip(),
        before=before,
    )
    withdrawn = {c for e in (*earlier, erratum) if e.benchmark == key for c in e.concepts}
    withdraw(context, key, withdrawn)
    errata = Errata(errata=(*earlier, erratum))
    write_yaml(release.folder / ERRATA, errata.model_dump(mode="json"))
    base = release.facts.version.partition("+")[0]
    facts = release.facts.model_copy(update={"version": f"{base}+e{erratum.number}"})
    corrected = replace(release, facts=facts)
    write_facts(corrected)
    write_readme(corrected)
    corrected.seal()
    return corrected


def withdraw(context: Context, key: str, concepts: Collection[str]) -> None:
    """Write a benchmark's candidates, paired set and scores without the items of some concepts."""
    ids = tuple(sorted(concepts))
    candidates = context.current(negatives.NAME, key)
    kept = _without(context, candidates, ids, {}, negatives.summarize)
    _without(context, context.current(paired_set.NAME, key), ids, {}, None)
    for scores in _scores(context, key):
        if scores.settings["inputs"][negatives.NAME] == candidates.digest:
            of_now = {negatives.NAME: kept.digest}
            _without(context, scores, ids, of_now, _counted(scores.summary))


def _scores(context: Context, key: str) -> Iterator[Artifact]:
    """Yield the current scores of a benchmark, also of models that the suite does not list."""
    folder = context.store.path / model_scores.NAME
    for path in sorted(folder.glob(model_scores.partition(key, "*"))):
        artifact = context.store.current(model_scores.NAME, path.name)
        if artifact:
            yield artifact


def _counted(summary: dict[str, Any]) -> Summarize:
    """Return what gives the same summary with the number of items that are left."""
    return lambda artifact: summary | {"items": artifact.rows}


def _without(
    context: Context,
    artifact: Artifact,
    ids: tuple[str, ...],
    inputs: dict[str, str],
    summarize: Summarize | None,
) -> Artifact:
    """Build an artifact without the rows of some concepts, shard by shard."""
    made_of = artifact.settings["inputs"] | inputs
    settings = artifact.settings | {"inputs": made_of, "withdrawn": list(ids)}
    return build(
        context.store,
        artifact.asset,
        artifact.partition,
        schema=artifact.read_shard(0).schema,
        settings=settings,
        shards=[
            Shard(content_id([settings, shard.sha256]), ShardInputs(i, {artifact.asset: artifact}))
            for i, shard in enumerate(artifact.shards)
        ],
        function=WithoutConcepts(artifact.asset, ids),
        engine=context.engine,
        summarize=summarize,
    )


@dataclass(frozen=True)
class WithoutConcepts:
    """Keeps the rows of a shard that are of no withdrawn concept."""

    asset: str
    ids: tuple[str, ...]

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return the rows that stay."""
        rows = task.artifacts[self.asset].read_shard(task.index)
        return rows.filter(~pc.field("concept_id").isin(self.ids))
