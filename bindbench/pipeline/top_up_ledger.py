"""The ledger of ``top_up``: what was sampled and accepted so far, and what is to be added."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bindbench.analysis.quotas import Need, Supply, choose, need
from bindbench.concepts import Further, further_concepts
from bindbench.pipeline import concept_set
from bindbench.pipeline.base import Context
from bindbench.pipeline.concept_set import Row
from bindbench.storage.store import Artifact
from bindbench.suite import MatchPrior
from bindbench.tasks import TRACKS, get_benchmark

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


@dataclass
class Ledger:
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
    def of(cls, context: Context, key: str) -> "Ledger":
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
