"""Two models on the same items: paired tests, and the items that one wins and the other loses.

The two may stand in two suites (or releases) that hold the same concepts; then the items that both
hold are compared. Only candidates that must be beaten on both sides count.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bindbench.analysis.accuracy import Design, Items, Mode, decide, negatives, tolerance
from bindbench.analysis.paired import PairedWins, compare
from bindbench.analysis.resampling import holm
from bindbench.errors import UserError, unknown_name
from bindbench.pipeline import concept_set, leaderboard
from bindbench.pipeline import negatives as candidates
from bindbench.pipeline.base import Context
from bindbench.pipeline.scored import ScoredSet, scored_parts, shard_groups
from bindbench.pipeline.tallies import MODES, Cell, designs
from bindbench.storage.store import Artifact
from bindbench.tasks import TRACKS, Track, get_benchmark

Item = tuple[str, int]  # concept id, replicate
FAMILIES = ("swap", "confusion", "confusion_no_count", "vary_color", "vary_object")
DEFAULT = ("swap", "confusion", "vary_color", "vary_object")


@dataclass(frozen=True)
class Side:
    """One model in one suite, and what its leaderboard is made of."""

    context: Context
    model: str
    artifacts: Mapping[str, Artifact]

    @classmethod
    def of(cls, context: Context, model: str) -> "Side":
        """Return the side of a suite's model.

        Raises:
            UserError: the suite has no such model.
        """
        known = [settings.model for settings in context.suite.profile.listed]
        if model not in known:
            raise unknown_name("model", model, known, f"suite {context.suite.name}")
        return cls(context, model, leaderboard.inputs(context))

    @property
    def name(self) -> str:
        """The model and the suite."""
        version = self.context.store.frozen
        suite = f"{self.context.suite.name} {version}" if version else self.context.suite.name
        return f"{self.model} in {suite}"

    def scores(self, key: str) -> Artifact | None:
        """Return the model's scores on a benchmark, if it has any that are of now."""
        cells = leaderboard.scored_cells(self.context.suite, self.artifacts)
        found = (scores for model, own, scores in cells if (model, own) == (self.model, key))
        return next(found, None)

    def candidates(self, key: str) -> Artifact:
        """Return the candidates of a benchmark that has scores."""
        return self.artifacts[f"{candidates.NAME}/{key}"]

    def items(self, key: str) -> dict[int, Item]:
        """Return what identifies each concept in any suite, by index."""
        rows = self.context.current(concept_set.NAME, key).read(
            ["index", "concept_id", "replicate"]
        )
        return {row["index"]: (row["concept_id"], row["replicate"]) for row in rows.to_pylist()}


@dataclass(frozen=True)
class Wanted:
    """What is compared; empty: everything, but not the families that are part of another."""

    benchmarks: tuple[str, ...] = ()
    tracks: tuple[Track, ...] = TRACKS
    semantics: tuple[Mode, ...] = MODES
    families: tuple[str, ...] = DEFAULT


@dataclass(frozen=True)
class Flip:
    """An item that one side wins and the other loses."""

    benchmark: str
    track: Track
    family: str
    semantics: Mode
    index: tuple[int, int]  # the concept's, in each side's suite
    second_wins: bool
    margins: tuple[float, float]  # of each side: score of the positive minus its best rival's
    chosen: tuple[int, int]  # of each side: the candidate with the highest score; 0: the positive


@dataclass
class Compared:
    """Two models side by side; differences are second minus first."""

    first: str
    second: str
    rows: list[dict[str, Any]] = field(default_factory=list)  # one for each table cell
    flips: list[Flip] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)  # why a benchmark is not compared


def compare_models(first: Side, second: Side, wanted: Wanted) -> Compared:
    """Compare two models wherever both were scored; p-values are Holm-corrected by semantics.

    Raises:
        UserError: the sides are the same, or they share no scored benchmark.
    """
    if (first.model, first.context.store.path) == (second.model, second.context.store.path):
        raise UserError(f"{first.name} is compared with itself: name two models, or two suites.")
    out = Compared(first.name, second.name)
    both = [key for key in first.context.suite.benchmarks if key in second.context.suite.benchmarks]
    for key in [get_benchmark(key).key for key in wanted.benchmarks] or both:
        missing = [side.name for side in (first, second) if side.scores(key) is None]
        if missing:
            out.left_out.append(f"{key}: no scores of {' or '.join(missing)}")
        else:
            _add(key, first, second, wanted, out)
    if not out.rows:
        why = "; ".join(out.left_out) or "no item is in both"
        raise UserError(
            f"{first.name} and {second.name} have no items in common ({why}): score both "
            "with 'bindbench evaluate'."
        )
    for mode in MODES:
        own = [row for row in out.rows if row["semantics"] == mode]
        for row, p_value in zip(own, holm([row["p_value"] for row in own]), strict=True):
            row["p_value"] = p_value
    return out


@dataclass(frozen=True)
class _Part:
    """What became of some paired items, by cell."""

    index: np.ndarray  # int64 (items,): the concepts', in the first side's suite
    wins: Mapping[Cell, PairedWins]


def _add(key: str, first: Side, second: Side, wanted: Wanted, out: Compared) -> None:
    """Add a benchmark's rows and flips."""
    parts: dict[Track, list[_Part]] = {track: [] for track in wanted.tracks}
    for track, one, other in _pairs(key, first, second, wanted.tracks):
        if not len(one.index):
            continue
        wins: dict[Cell, PairedWins] = {}
        for family in (f for f in one.subsets if f in wanted.families):
            for mode in wanted.semantics:
                found = _Meeting.of(one, other, family, mode)
                wins[family, mode] = found.wins
                out.flips += found.flips(key, track, (one.index, other.index))
        parts[track].append(_Part(one.index, wins))
    whole = dict(designs(first.candidates(key)))
    index = first.candidates(key).read(["track", "index"])
    for track, own in parts.items():
        if own:
            compared = np.concatenate([part.index for part in own])
            kept = np.isin(index.filter(index["track"].to_numpy() == track)["index"], compared)
            common = {"benchmark": key, "track": track}
            out.rows += [common | row for row in _rows(own, whole[track].take(kept))]


def _rows(parts: Sequence[_Part], design: Design) -> Iterator[dict[str, Any]]:
    """Yield the comparison of each cell, over all parts, whose items' design is given."""
    for family, mode in parts[0].wins:
        wins = PairedWins.joined([part.wins[family, mode] for part in parts])
        counted, excluded = wins.counted, int((~wins.counted).sum())
        found = compare(wins.first, wins.second, design.take(counted), n_excluded=excluded)
        if found:
            yield {
                "family": family,
                "semantics": mode,
                "n_items": found.n_items,
                "n_excluded": excluded,
                "first": found.first.value,
                "second": found.second.value,
                "difference": found.difference.value,
                "low": found.difference.low,
                "high": found.difference.high,
                "wide_low": found.wide_low,
                "wide_high": found.wide_high,
                "p_value": found.p_value,
                "detectable": found.detectable,
                "only_first": int(np.sum(wins.first & ~wins.second)),
                "only_second": int(np.sum(wins.second & ~wins.first)),
            }


def _pairs(
    key: str, first: Side, second: Side, tracks: Sequence[Track]
) -> Iterator[tuple[Track, ScoredSet, ScoredSet]]:
    """Yield the items that both sides hold, in the same order, some at a time.

    Sides of the same candidates are read shard by shard, others whole.
    """
    sides = (first, second)
    own = [side.candidates(key) for side in sides]
    same = own[0].digest == own[1].digest
    read = []
    for side, found in zip(sides, own, strict=True):
        scores = side.scores(key)
        assert scores is not None
        groups = list(shard_groups(found)) if same else [list(range(len(found.shards)))]
        read.append(scored_parts(key, found, scores, side.context.lexicon, groups=groups))
    names = [side.items(key) for side in sides]
    for ones, others in zip(*read, strict=True):
        for track in tracks:
            yield track, *_aligned(ones[track], others[track], names)


def _aligned(
    one: ScoredSet, other: ScoredSet, names: Sequence[Mapping[int, Item]]
) -> tuple[ScoredSet, ScoredSet]:
    """Return the items of both that are the same ones, in the first's order."""
    place = {names[1][index]: at for at, index in enumerate(other.index.tolist())}
    found = [
        (at, place[names[0][index]])
        for at, index in enumerate(one.index.tolist())
        if names[0][index] in place
    ]
    rows = np.array(found, np.int64).reshape(-1, 2)
    return one.take(rows[:, 0]), other.take(rows[:, 1])


@dataclass(frozen=True)
class _Meeting:
    """Two models' scores of the same items, and the candidates to beat on both sides."""

    sides: tuple[Items, Items]  # in concept order; only the counted items
    own: tuple[np.ndarray, np.ndarray]  # of each side: where its candidates stood before that
    rivals: np.ndarray  # bool (counted items, candidates)
    wins: PairedWins
    cell: Cell

    @classmethod
    def of(cls, one: ScoredSet, other: ScoredSet, family: str, mode: Mode) -> "_Meeting":
        """Let the sides meet on one family of candidates."""
        width = min(part.of(family).scores.shape[1] for part in (one, other))
        sides = [part.in_concept_order(family).narrow(width) for part in (one, other)]
        subset = other.subsets[family][..., :width]
        rivals = negatives(sides[0].semantics, mode, subset)
        rivals &= negatives(sides[1].semantics, mode, subset)
        counted = np.asarray(rivals.any(axis=1))
        kept = [side.take(counted) for side in sides]
        first, second = (
            decide(side.scores, rivals[counted], side.dtype, sizes=side.sizes).win for side in kept
        )
        own = [_own_places(part, family)[counted][:, :width] for part in (one, other)]
        wins = PairedWins(counted, first, second)
        return cls((kept[0], kept[1]), (own[0], own[1]), rivals[counted], wins, (family, mode))

    def flips(self, key: str, track: Track, index: tuple[np.ndarray, np.ndarray]) -> Iterator[Flip]:
        """Yield the items that one side wins and the other loses."""
        family, mode = self.cell
        counted = [own[self.wins.counted] for own in index]
        for row in np.flatnonzero(self.wins.first != self.wins.second).tolist():
            margins, chosen = zip(*(self._best(side, row) for side in (0, 1)), strict=True)
            yield Flip(
                *(key, track, family, mode),
                index=(int(counted[0][row]), int(counted[1][row])),
                second_wins=bool(self.wins.second[row]),
                margins=margins,
                chosen=chosen,
            )

    def _best(self, side: int, row: int) -> tuple[float, int]:
        """Return a side's margin, and the candidate that it prefers, as its own caption has it."""
        items, rivals = self.sides[side], np.flatnonzero(self.rivals[row])
        scores = items.scores[row]
        best = int(rivals[np.argmax(scores[rivals])])
        margin = float(scores[0] - scores[best])
        sizes = np.abs(scores) if items.sizes is None else items.sizes[row]
        wins = margin > tolerance(items.dtype) * max(sizes[0], sizes[best])
        return margin, 0 if wins else int(self.own[side][row, best])


def _own_places(found: ScoredSet, family: str) -> np.ndarray:
    """Return the index that each candidate in concept order has in its own caption's order."""
    places = np.arange(found.of(family).scores.shape[1], dtype=float)
    items = replace(found.of(family), scores=np.tile(places, (len(found.index), 1)), sizes=None)
    moved = replace(found, items=items, swap_items=None).in_concept_order("confusion")
    return moved.scores.astype(np.int64)
