"""The asset ``top_up``: the concepts that are added for the words that the checks remove.

It comes before ``concept_set`` and is a function of the suite alone. It builds the plain concepts
up to their verdicts, plans what is missing, builds that, and so on, round by round; none of it
becomes current. ``concept_set`` then takes the plain concepts and the added ones, and every later
stage finds all of its shards computed, for a shard depends on its concepts alone.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa

from bindbench.analysis.quotas import Need, Supply, choose, need
from bindbench.concepts import Further, content_id, further_concepts
from bindbench.pipeline import captions, concept_set, first_checks, first_images, images, validated
from bindbench.pipeline.base import Context, fresh, table
from bindbench.storage.datasets import Shard
from bindbench.storage.store import Artifact
from bindbench.suite import MatchPrior, Suite
from bindbench.tasks import TRACKS, get_benchmark

NAME = concept_set.TOP_UP
CODE_VERSION = "1"
SCHEMA = pa.schema([("round", pa.int32()), *concept_set.SCHEMA])
KINDS = ("labels", "objects")
PAIRED = "paired"
_POOL = 2**16  # concepts that are looked through, or twice as many as the plain ones
_STOPPED = {
    "met": "every set is as near to the prior as draws from it are",
    "given_up": "only words that are given up are still missing",
    "most": "match_prior.most is reached",
    "rounds": "match_prior.rounds is reached",
    "scenes": "no concept with a missing word is left in the vocabularies' space",
}

Row = dict[str, Any]


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


def _run(context: Context, key: str) -> "_Ledger":
    """Build rounds until the sets match the prior, or a bound is reached."""
    suite = context.suite
    bounds = suite.match_prior
    assert bounds is not None
    ledger = _Ledger.of(context, key)
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


@dataclass
class _Ledger:
    """What was sampled and accepted so far, and what was added."""

    plain: int  # concepts before any round
    pool: Further
    vocabularies: Mapping[str, tuple[str, ...]]  # by kind
    supplies: dict[str, dict[str, Supply]]  # by set and kind
    free: np.ndarray  # bool: concepts of the pool that were not taken
    images: int = 0
    added: list[list[Row]] = field(default_factory=list)
    rounds: list[dict[str, Any]] = field(default_factory=list)
    given_up: dict[str, dict[str, str]] = field(default_factory=dict)  # kind -> word -> why
    stopped: str = ""

    @classmethod
    def of(cls, context: Context, key: str) -> "_Ledger":
        """Return the ledger of a benchmark of which nothing is built."""
        suite, benchmark = context.suite, get_benchmark(key)
        plain, counterparts = suite.concepts[key], concept_set.has_counterparts(suite, key)
        start = plain + (plain % 2 if counterparts else 0)
        pool = further_concepts(
            *(benchmark, context.lexicon, start, max(_POOL, 2 * plain), suite.seed),
            replicates=suite.replicates,
            counterparts=counterparts,
        )
        words = {
            "labels": context.lexicon.labels(benchmark.task).names,
            "objects": context.lexicon.nouns(benchmark.task).names,
        }
        zeros = {kind: np.zeros(len(names), np.int64) for kind, names in words.items()}
        sets = (PAIRED,) if suite.pairs_only else TRACKS
        supplies = {name: {k: Supply(zero, zero) for k, zero in zeros.items()} for name in sets}
        return cls(plain, pool, words, supplies, np.ones(pool.count, bool))

    @property
    def concepts(self) -> int:
        """How many concepts there are by now."""
        return self.plain + sum(map(len, self.added))

    def take(self, concepts: Artifact, checked: Artifact) -> None:
        """Count the concepts of a round and what was accepted of them."""
        sampled = concepts.read(["index", *KINDS]).to_pylist()
        verdicts = checked.read(["index", "track", "presence", "accepted"]).to_pylist()
        self.images += sum(row["presence"] != "not_run" for row in verdicts)
        passed = {
            track: {r["index"] for r in verdicts if r["accepted"] and r["track"] == track}
            for track in TRACKS
        }
        passed[PAIRED] = passed[TRACKS[0]] & passed[TRACKS[1]]
        for name, kinds in self.supplies.items():
            kept = [row for row in sampled if row["index"] in passed[name]]
            for kind, names in self.vocabularies.items():
                before = kinds[kind]
                kinds[kind] = Supply(
                    before.sampled + _counts(sampled, kind, names),
                    before.accepted + _counts(kept, kind, names),
                )

    def plan(self, bounds: MatchPrior, seed: int) -> list[Row]:
        """Record where the sets are, and return the concepts to add; none says that it is over."""
        self._give_up(bounds)
        needs = {
            name: {kind: need(s.accepted, self._lost(kind), seed) for kind, s in kinds.items()}
            for name, kinds in self.supplies.items()
        }
        self._record(needs)
        every = [one for kinds in needs.values() for one in kinds.values()]
        room = int(bounds.most * self.plain) - self.concepts
        if all(one.met for one in every):
            self.stopped = "met"
        elif not any(one.missing.any() for one in every):
            self.stopped = "given_up"
        elif len(self.added) == bounds.rounds:
            self.stopped = "rounds"
        elif room <= 0:
            self.stopped = "most"
        else:
            return self._chosen(needs, room)
        return []

    def _chosen(self, needs: Mapping[str, Mapping[str, Need]], room: int) -> list[Row]:
        unit = 2 if self.pool.counterparts else 1
        words = {"labels": self.pool.labels, "objects": self.pool.objects}
        places = choose(self.supplies, needs, words, self.free, room, unit)
        if not places:
            self.stopped = "scenes" if room >= unit else "most"
            return []
        start = self.concepts + (self.plain % 2 if self.pool.counterparts else 0)
        rows = [
            concept_set.row_of(self.pool.sampled(place, start + i))
            for i, place in enumerate(places)
        ]
        self.free[places] = False
        self.added.append(rows)
        return rows

    def _give_up(self, bounds: MatchPrior) -> None:
        for name, kinds in self.supplies.items():
            for kind, supply in kinds.items():
                lost = self.given_up.setdefault(kind, {})
                for i in np.flatnonzero(supply.hopeless(bounds.least_survival)).tolist():
                    lost.setdefault(
                        self.vocabularies[kind][i],
                        f"{supply.accepted[i]} of {supply.sampled[i]} mentions survive ({name})",
                    )

    def _lost(self, kind: str) -> np.ndarray:
        names = self.given_up.get(kind, {})
        return np.array([name in names for name in self.vocabularies[kind]], bool)

    def _record(self, needs: Mapping[str, Mapping[str, Need]]) -> None:
        self.rounds.append(
            {
                "concepts": self.concepts,
                "images": self.images,
                "sets": {name: dict(self._states(name, kinds)) for name, kinds in needs.items()},
            }
        )

    def _states(self, name: str, kinds: Mapping[str, Need]) -> Iterator[tuple[str, Any]]:
        for kind, one in kinds.items():
            supply = self.supplies[name][kind]
            yield (
                kind,
                {
                    "tv": one.tv,
                    "null_mean": one.null_mean,
                    "null_high": one.null_high,
                    "mentions": int(supply.accepted.sum()),
                    "survival": supply.mean_survival,
                    "quota": one.quota,
                    "missing": float(one.missing.sum()),
                },
            )

    def summary(self) -> dict[str, Any]:
        """Return what a manifest says: each round's state, the last one that of the whole."""
        return {
            "plain": self.plain,
            "added": self.concepts - self.plain,
            "rounds": self.rounds,
            "given_up": self.given_up,
            "stopped": self.stopped,
            "why": _STOPPED[self.stopped],
        }


def _counts(rows: list[Row], kind: str, names: tuple[str, ...]) -> np.ndarray:
    found = Counter(word for row in rows for word in row[kind])
    return np.array([found[name] for name in names], np.int64)
