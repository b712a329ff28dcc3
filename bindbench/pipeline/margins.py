"""Margins and ranks of every scored item, part by part: its scores are never held at once."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from bindbench.analysis.margins import Margins, MarginSummary, margins_of, summarise_margins
from bindbench.analysis.readouts import Readout
from bindbench.pipeline.scored import scored_parts
from bindbench.pipeline.tallies import MODES, Cell, designs
from bindbench.storage.store import Artifact
from bindbench.tasks import TRACKS, Track
from bindbench.vocabulary import Lexicon


@dataclass(frozen=True)
class TrackMargins:
    """The margins of one track's items, in the order of their index."""

    index: np.ndarray  # int64 (items,)
    cells: Mapping[Cell, Margins]


def measure_margins(
    key: str, negatives: Artifact, scores: Artifact, lexicon: Lexicon, readout: Readout = "score"
) -> dict[Track, TrackMargins]:
    """Return the margins of a benchmark's items; arguments as in ``tallies.measure``."""
    parts: dict[Track, list[TrackMargins]] = {track: [] for track in TRACKS}
    for tracks in scored_parts(key, negatives, scores, lexicon, readout):
        for track, found in tracks.items():
            cells: dict[Cell, Margins] = {
                (family, mode): margins_of(found.of(family), mode, subset)
                for family, subset in found.subsets.items()
                for mode in MODES
            }
            parts[track].append(TrackMargins(found.index, cells))
    return {track: _joined(own) for track, own in parts.items()}


def _joined(parts: list[TrackMargins]) -> TrackMargins:
    return TrackMargins(
        np.concatenate([part.index for part in parts]),
        {cell: Margins.joined([part.cells[cell] for part in parts]) for cell in parts[0].cells},
    )


def margin_summaries(
    key: str, negatives: Artifact, scores: Artifact, lexicon: Lexicon, readout: Readout = "score"
) -> Iterator[tuple[Track, Cell, MarginSummary]]:
    """Yield the summary of each track, family and semantics that has an item with a rival."""
    found = measure_margins(key, negatives, scores, lexicon, readout)
    for track, design in designs(negatives):
        for cell, margins in found[track].cells.items():
            summary = summarise_margins(margins, design.scenes)
            if summary:
                yield track, cell, summary
