"""What became of each item of a benchmark, part by part, so that its scores are never held at once.

A benchmark of 100,000 concepts has 146 million scores for each model. All that its accuracies need
of an item is how many candidates beat it or tie with it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bindbench.analysis.accuracy import Design, Mode, Outcomes, design_of, outcomes_of, undecided
from bindbench.analysis.paired import PairedWins, paired_wins
from bindbench.analysis.readouts import Readout
from bindbench.pipeline.scored import ScoredSet, scored_parts
from bindbench.storage.store import Artifact
from bindbench.tasks import TRACKS, Track
from bindbench.vocabulary import Lexicon

MODES: tuple[Mode, ...] = ("strict", "paper")
Cell = tuple[str, Mode]  # a family of candidates, and how it is counted


@dataclass(frozen=True)
class Tally:
    """The items of one track, in the order of their index."""

    index: np.ndarray  # int64 (items,)
    outcomes: Mapping[Cell, Outcomes]
    close: Mapping[Cell, np.ndarray] | None  # bool (items,): undecided; None: not known

    @classmethod
    def of(cls, found: ScoredSet) -> "Tally":
        """Return the tally of scored items."""
        subsets, gap = found.subsets, found.gap
        cells: list[Cell] = [(family, mode) for family in subsets for mode in MODES]
        outcomes: dict[Cell, Outcomes] = {}
        close: dict[Cell, np.ndarray] = {}
        for family, mode in cells:
            items, subset = found.of(family), subsets[family]
            outcomes[family, mode] = outcomes_of(items, mode, subset)
            if gap is not None:
                close[family, mode] = undecided(items, gap, mode, subset)
        return cls(found.index, outcomes, None if gap is None else close)

    @classmethod
    def joined(cls, parts: Sequence["Tally"]) -> "Tally":
        """Return the tally of all parts, in their order."""
        filled = [part for part in parts if len(part.index)] or parts[:1]
        close = [part.close for part in filled if part.close is not None]
        return cls(
            np.concatenate([part.index for part in filled]),
            {
                cell: Outcomes.joined([part.outcomes[cell] for part in filled])
                for cell in filled[0].outcomes
            },
            {cell: np.concatenate([part[cell] for part in close]) for cell in close[0]}
            if close
            else None,
        )


@dataclass(frozen=True)
class Pairs:
    """The wins of both tracks on the paired set, in the order of its index."""

    wins: Mapping[Cell, PairedWins]

    @classmethod
    def of(cls, tracks: Mapping[Track, ScoredSet], paired: np.ndarray) -> "Pairs":
        """Return the wins on the paired items among some scored ones."""
        minimal, contextual = (tracks[track].only(paired) for track in TRACKS)
        wins: dict[Cell, PairedWins] = {}
        for family, subset in contextual.subsets.items():
            items = minimal.in_concept_order(family), contextual.in_concept_order(family)
            for mode in MODES:
                wins[family, mode] = paired_wins(*items, mode, subset)
        return cls(wins)

    @classmethod
    def joined(cls, parts: Sequence["Pairs"]) -> "Pairs":
        """Return the wins of all parts, in their order."""
        return cls(
            {cell: PairedWins.joined([part.wins[cell] for part in parts]) for cell in parts[0].wins}
        )


@dataclass(frozen=True)
class Measured:
    """All that the leaderboard needs of one model, benchmark and readout."""

    tallies: Mapping[Track, Tally]
    designs: Mapping[Track, Design]
    pairs: Pairs


def measure(
    key: str,
    negatives: Artifact,
    scores: Artifact,
    paired: np.ndarray,
    lexicon: Lexicon,
    readout: Readout = "score",
) -> Measured:
    """Return what became of a benchmark's items by one of a model's readouts.

    Args:
        key: the benchmark.
        negatives: its candidates.
        scores: the model's.
        paired: int64, the index of each concept of the paired set.
        lexicon: the vocabularies.
        readout: which number decides.
    """
    tallies: dict[Track, list[Tally]] = {track: [] for track in TRACKS}
    pairs = []
    for tracks in scored_parts(key, negatives, scores, lexicon, readout):
        for track in TRACKS:
            tallies[track].append(Tally.of(tracks[track]))
        pairs.append(Pairs.of(tracks, paired))
    return Measured(
        {track: Tally.joined(parts) for track, parts in tallies.items()},
        dict(designs(negatives)),
        Pairs.joined(pairs),
    )


def designs(negatives: Artifact) -> Iterator[tuple[Track, Design]]:
    """Yield the design of each track's items, in the order of their index."""
    columns = ("scene_id", "objects", "labels")
    table = negatives.read(["track", *columns])
    tracks = table["track"].to_numpy()
    for track in TRACKS:
        rows = table.filter(tracks == track)
        yield track, design_of(*(rows[name].to_pylist() for name in columns))
