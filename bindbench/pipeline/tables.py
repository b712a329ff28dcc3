"""The asset ``tables``: every number of Auto-Comp's tables, from whatever has been built."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from bindbench.pipeline import (
    alignment,
    audit,
    captions,
    concept_set,
    faithfulness,
    filter_shift,
    finetuned,
    images,
    leaderboard,
    paired_set,
    second_opinion,
    top_up,
    validated,
)
from bindbench.pipeline.base import UNPARTITIONED, Context, ShardInputs, table, whole
from bindbench.pipeline.report_judges import opinion
from bindbench.releases.record import joined, read_record
from bindbench.storage.store import Artifact, Store
from bindbench.suite import Suite, load_suite
from bindbench.tables.catalogue import TABLES, numbers_of
from bindbench.tables.inputs import Inputs
from bindbench.tables.number import SCHEMA, to_row

NAME = "tables"
CODE_VERSION = "1"
PER_BENCHMARK = (concept_set, captions, images, validated, paired_set, filter_shift)
WHOLE = (leaderboard, finetuned, audit)
# Assets that not every suite has: by name, what returns them if they are of what is there now.
OPTIONAL: dict[str, Callable[[Context, str], Artifact | None]] = {
    second_opinion.NAME: opinion,
    alignment.NAME: alignment.current,
    faithfulness.NAME: faithfulness.current,
    top_up.NAME: top_up.current,
}


@dataclass(frozen=True)
class MakeTables:
    """Makes the numbers of all tables that are stored."""

    suite: Suite
    beside: tuple[Suite, ...]

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return one row for each number, in the order in which they are shown."""
        return table(list(self._rows(task)), SCHEMA)

    def _rows(self, task: ShardInputs) -> Iterator[dict[str, Any]]:
        made = arranged(self.suite, self.beside, task.artifacts)
        for one in TABLES:
            if one.stored:
                yield from map(to_row, numbers_of(one, made))


def build(context: Context) -> Artifact:
    """Build the tables of everything that has been built so far."""
    beside = tuple(other.suite for other in contexts_beside(context))
    settings = {
        "code": CODE_VERSION,
        "suite": context.suite.model_dump(mode="json"),
        "beside": [suite.model_dump(mode="json") for suite in beside],
    }
    shards = whole(settings, artifacts(context))
    function = MakeTables(context.suite, beside)
    return context.build(NAME, UNPARTITIONED, SCHEMA, settings, shards, function)


def inputs(context: Context) -> Inputs:
    """Return what the tables of a suite are made of."""
    beside = tuple(other.suite for other in contexts_beside(context))
    return arranged(context.suite, beside, artifacts(context))


def contexts_beside(context: Context) -> list[Context]:
    """Return the contexts of the suites that are laid beside this one, in the same store.

    Raises:
        UserError: a suite's file is missing or wrong.
    """
    found = []
    for file in context.suite.beside:
        suite = load_suite(file)
        store = Store(str(context.store.root), suite.name)
        found.append(replace(context, suite=joined(suite, read_record(store)), store=store))
    return found


def artifacts(context: Context) -> dict[str, Artifact]:
    """Return a suite's artifacts, and those beside it as ``suite:asset/partition``."""
    found = _own(context)
    for other in contexts_beside(context):
        found |= {f"{other.suite.name}:{name}": part for name, part in _own(other).items()}
    return found


def _own(context: Context) -> dict[str, Artifact]:
    found = leaderboard.inputs(context)
    for key in context.suite.benchmarks:
        parts = {m.NAME: context.store.current(m.NAME, key) for m in PER_BENCHMARK}
        parts |= {name: current(context, key) for name, current in OPTIONAL.items()}
        found |= {f"{name}/{key}": part for name, part in parts.items() if part}
    wholes = {m.NAME: context.store.current(m.NAME, UNPARTITIONED) for m in WHOLE}
    return found | {name: part for name, part in wholes.items() if part}


def arranged(suite: Suite, beside: tuple[Suite, ...], found: Mapping[str, Artifact]) -> Inputs:
    """Return the inputs whose artifacts are named as ``artifacts`` names them."""
    others = tuple(Inputs(other, _of(f"{other.name}:", found)) for other in beside)
    own = {name: part for name, part in found.items() if ":" not in name}
    return Inputs(suite, own, others)


def _of(prefix: str, found: Mapping[str, Artifact]) -> dict[str, Artifact]:
    return {
        name.removeprefix(prefix): part for name, part in found.items() if name.startswith(prefix)
    }
