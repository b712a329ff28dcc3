"""The asset ``top_up``: the concepts that are added for the words that the checks remove.

It comes before ``concept_set`` and is a function of the suite alone. It builds the plain concepts
up to their verdicts, plans what is missing, builds that, and so on, round by round; none of it
becomes current. ``concept_set`` then takes the plain concepts and the added ones, and every later
stage finds all of its shards computed, for a shard depends on its concepts alone.
"""

from dataclasses import replace
from types import ModuleType
from typing import Any

import pyarrow as pa

from bindbench.concepts import content_id
from bindbench.pipeline import captions, concept_set, first_checks, first_images, images, validated
from bindbench.pipeline.base import Context, fresh, table
from bindbench.pipeline.concept_set import Row
from bindbench.pipeline.top_up_ledger import Ledger
from bindbench.storage.datasets import Shard
from bindbench.storage.store import Artifact
from bindbench.suite import Suite

NAME = concept_set.TOP_UP
CODE_VERSION = "1"
SCHEMA = pa.schema([("round", pa.int32()), *concept_set.SCHEMA])


def stages(suite: Suite) -> tuple[ModuleType, ...]:
    """Return the stages from concepts to verdicts."""
    first = (first_images, first_checks) if suite.pairs_only else ()
    return (captions, *first, images, validated)


def settings_of(context: Context, key: str) -> dict[str, Any]:
    """Return all that decides what is added: the bounds, and whatever decides the verdicts."""
    suite = context.suite
    assert suite.match_prior is not None
    decisive = (concept_set, captions, images, validated)
    return {
        "code": CODE_VERSION,
        "match_prior": suite.match_prior.model_dump(),
        "concepts": suite.concepts[key],
        "shard_size": suite.profile.shard_size,  # batches never cross a shard
        "pairs_only": suite.pairs_only,
        **{stage.NAME: stage.settings_of(context, key) for stage in decisive},
    }


def current(context: Context, key: str) -> Artifact | None:
    """Return what was added to a benchmark, if that is what the suite asks for now."""
    if context.suite.match_prior is None:
        return None
    return fresh(context, NAME, key, settings_of(context, key), ())


def build(context: Context, key: str) -> Artifact:
    """Build the concepts to add, round by round; a finished artifact of these settings stands."""
    if not context.repair and (found := current(context, key)):
        return found
    settings = settings_of(context, key)
    ledger = _run(replace(context, make_current=False), key)
    rows = [{"round": number} | row for number, part in enumerate(ledger.added, 1) for row in part]
    shard = Shard(content_id(settings), rows)
    return context.build(
        NAME, key, SCHEMA, settings, [shard], _as_table, lambda _: ledger.summary()
    )


def _as_table(rows: list[Row]) -> pa.Table:
    return table(rows, SCHEMA)


def _run(context: Context, key: str) -> Ledger:
    """Build rounds until the sets match the prior, or a bound is reached."""
    suite = context.suite
    bounds = suite.match_prior
    assert bounds is not None
    ledger = Ledger.of(context, key)
    concepts = concept_set.build_plain(context, key)
    ledger.take(*_verdicts(context, key, concepts))
    while rows := ledger.plan(bounds, suite.seed):
        concepts = concept_set.build_added(context, key, len(ledger.added), rows)
        ledger.take(*_verdicts(context, key, concepts))
    return ledger


def _verdicts(context: Context, key: str, concepts: Artifact) -> tuple[Artifact, Artifact]:
    """Build a round up to its verdicts; return its concepts and those."""
    standing = {concept_set.NAME: concepts}
    for stage in stages(context.suite):
        standing[stage.NAME] = stage.build(replace(context, standing=dict(standing)), key)
    return concepts, standing[validated.NAME]
