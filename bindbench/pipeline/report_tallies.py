"""What the report needs of a model's scores, part by part, so that they are never held at once."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from bindbench.analysis.accuracy import Design, Outcomes, outcomes_of
from bindbench.analysis.accuracy import negatives as rivals_of
from bindbench.analysis.errors import ErrorParts, error_parts
from bindbench.candidates import ERROR_FAMILIES, candidate_space
from bindbench.pipeline.scored import ScoredSet, scored_parts
from bindbench.pipeline.tallies import designs
from bindbench.storage.store import Artifact
from bindbench.tasks import TRACKS, Benchmark, Track, get_benchmark
from bindbench.vocabulary import Lexicon

HARDEST = 4  # negatives shown for a model, benchmark and track


@dataclass(frozen=True)
class HardItem:
    """An item whose positive is beaten, and the false candidate that beats it by most."""

    index: int
    candidate: int
    right_score: float
    chosen_score: float

    @property
    def order(self) -> tuple[float, int]:
        """Sorts the largest lead first; of equal leads the smaller index."""
        return self.right_score - self.chosen_score, self.index


@dataclass(frozen=True)
class Findings:
    """The items of one model, benchmark and track, in the order of their index; strict."""

    outcomes: Mapping[str, Outcomes]  # by family of candidates
    errors: Mapping[str, ErrorParts]  # by family of errors; empty if the task knows none
    places: np.ndarray  # float64 (items, N, 3), as in ``ScoredSet``
    hardest: Sequence[HardItem]

    @classmethod
    def of(cls, found: ScoredSet) -> "Findings":
        """Return the findings on scored items."""
        outcomes = {
            family: outcomes_of(found.of(family), subset=subset)
            for family, subset in found.subsets.items()
        }
        return cls(outcomes, _errors(found), found.places, hardest_items(found))

    @classmethod
    def joined(cls, parts: "Sequence[Findings]") -> "Findings":
        """Return the findings on all parts, in their order."""
        first = parts[0]
        return cls(
            {f: Outcomes.joined([part.outcomes[f] for part in parts]) for f in first.outcomes},
            {f: ErrorParts.joined([part.errors[f] for part in parts]) for f in first.errors},
            np.concatenate([part.places for part in parts]),
            hardest_of(chain.from_iterable(part.hardest for part in parts)),
        )


def tally(
    key: str, negatives: Artifact, scores: Artifact, lexicon: Lexicon
) -> dict[Track, tuple[Findings, Design]]:
    """Return what a model's own scores show on each track that has any item, with its design."""
    parts: dict[Track, list[Findings]] = {track: [] for track in TRACKS}
    for tracks in scored_parts(key, negatives, scores, lexicon):
        for track, found in tracks.items():
            if len(found.items):
                parts[track].append(Findings.of(found))
    by_track = dict(designs(negatives))
    return {
        track: (Findings.joined(found), by_track[track]) for track, found in parts.items() if found
    }


def has_error_families(benchmark: Benchmark) -> bool:
    """Whether errors on a benchmark fall into families: attribute tasks with several objects."""
    return benchmark.task.axis == "attribute" and benchmark.n > 1


def _errors(found: ScoredSet) -> dict[str, ErrorParts]:
    if not has_error_families(found.benchmark):
        return {}
    codes = candidate_space("attribute", found.benchmark.n).errors
    return error_parts(found.items, codes, ERROR_FAMILIES)


def hardest_items(found: ScoredSet) -> list[HardItem]:
    """Return the items on which a false candidate beats the positive by most, the worst first."""
    items = found.items
    if not len(items):
        return []
    best = np.where(rivals_of(items.semantics), items.scores, -np.inf).argmax(axis=1)
    return hardest_of(
        HardItem(
            int(found.index[i]),
            int(best[i]),
            float(items.scores[i, 0]),
            float(items.scores[i, best[i]]),
        )
        for i in np.flatnonzero(outcomes_of(items).beaten)
    )


def hardest_of(items: Iterable[HardItem]) -> list[HardItem]:
    """Return the worst few."""
    return sorted(items, key=lambda item: item.order)[:HARDEST]


def labels_of(key: str, negatives: Artifact) -> dict[Track, list[list[str]]]:
    """Return the labels of each item of a track, in the order of their index."""
    if get_benchmark(key).n == 1:
        return {track: [] for track in TRACKS}  # nothing is told apart by them
    table = negatives.read(["track", "labels"])
    tracks = table["track"].to_numpy()
    return {track: table.filter(tracks == track)["labels"].to_pylist() for track in TRACKS}
