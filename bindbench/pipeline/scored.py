"""Scores and semantics of a benchmark's items, as the arrays that the measures take."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bindbench.analysis.accuracy import ABSENT, Design, Items, design_of, pack, pad
from bindbench.analysis.choice import MOST_WRONG, choice_subset
from bindbench.analysis.paired import in_concept_order
from bindbench.analysis.readouts import COLUMN, READOUTS, Readout, undecided_gap
from bindbench.candidates import candidate_families, candidate_space
from bindbench.concepts import Concept
from bindbench.semantics import COUNT
from bindbench.storage.store import Artifact
from bindbench.tasks import TRACKS, Benchmark, Track, get_benchmark
from bindbench.vocabulary import Lexicon

COLUMNS = (
    *("index", "concept_id", "scene_id", "track", "objects", "labels", "order"),
    *("semantics", "reasons", "centers", "areas"),
)


@dataclass(frozen=True)
class ScoredSet:
    """The items of one benchmark, track and model, in the order of their index."""

    benchmark: Benchmark
    items: Items
    index: np.ndarray  # int64 (items,)
    # str: the family, "" for the positive and padding; (candidates,) where all items have the same
    # ones (N >= 2), else (items, candidates).
    families: np.ndarray
    counted: np.ndarray  # bool (items, candidates): told apart by more than counting
    orders: np.ndarray  # int (items, N): scored position -> concept position
    places: np.ndarray  # float64 (items, N, 3): x, -y and area, in the order of the scored caption
    gap: float | None  # two best candidates closer than this are undecided; None: not known
    swap_items: Items | None = None  # by scores of the swaps alone, where a choice gave some

    def of(self, family: str) -> Items:
        """Return the items by the scores that hold for a family of candidates."""
        return self.swap_items if family == "swap" and self.swap_items else self.items

    @cached_property
    def subsets(self) -> dict[str, np.ndarray]:
        """The candidates of each family that is reported, bool (items, candidates)."""
        if self.benchmark.n == 1:
            return {f: self.families == f for f in ("vary_color", "vary_object")}
        return {
            "swap": self.families == "swap",
            "confusion": self.families != "",
            "confusion_no_count": (self.families != "") & self.counted,
        }

    def only(self, index: np.ndarray) -> "ScoredSet":
        """Return the items whose index is among those given."""
        return self.take(np.isin(self.index, index))

    def take(self, rows: np.ndarray) -> "ScoredSet":
        """Return some of the items."""
        return replace(
            self,
            items=self.items.take(rows),
            swap_items=self.swap_items.take(rows) if self.swap_items else None,
            index=self.index[rows],
            families=self.families if self.families.ndim == 1 else self.families[rows],
            counted=self.counted[rows],
            orders=self.orders[rows],
            places=self.places[rows],
        )

    def in_concept_order(self, family: str) -> Items:
        """Return ``of(family)`` with candidate k meaning the same claim in every clause order."""
        if self.benchmark.n == 1:
            return self.items
        space = candidate_space(self.benchmark.task.axis, self.benchmark.n)
        return in_concept_order(self.of(family), space.objects, space.labels, self.orders)


Row = Mapping[str, Any]
ITEMS_AT_ONCE = 2048  # of both tracks: bounds the memory that their scores take


def item_key(row: Row) -> str:
    """Return what identifies an item to a scorer, and decides which candidates a choice offers."""
    return f"{row['concept_id']}/{row['track']}"


def readouts_of(key: str, columns: Iterable[str]) -> list[Readout]:
    """Return the readouts of scores on a benchmark, given the columns that the scorer filled."""
    given = {COLUMN["score"], *columns}
    listable = _listable(key)
    return [
        name
        for name in READOUTS
        if COLUMN[name] in given and not (name == "blind_choice" and listable)
    ]


def _listable(key: str) -> bool:
    """Whether a choice can offer all candidates of an item, or they are of several kinds."""
    benchmark = get_benchmark(key)
    if benchmark.n == 1:
        return True
    return len(candidate_space(benchmark.task.axis, benchmark.n)) <= 1 + MOST_WRONG


def scored_set(
    key: str,
    track: Track,
    negatives: Artifact,
    scores: Artifact,
    lexicon: Lexicon,
    readout: Readout = "score",
) -> ScoredSet:
    """Return the scored items of a track, by one of the model's readouts."""
    rows: list[Row] = []
    found: dict[int, Row] = {}
    for part in _parts(negatives, scores, readout):
        rows += [row for row in part.rows if row["track"] == track]
        found |= part.found[track]
    return assemble(key, rows, found, lexicon, readout, _is_likelihood(scores))


def scored_parts(
    key: str,
    negatives: Artifact,
    scores: Artifact,
    lexicon: Lexicon,
    readout: Readout = "score",
    groups: Iterable[Sequence[int]] | None = None,
) -> Iterator[dict[Track, ScoredSet]]:
    """Yield the scored items of both tracks, some shards at a time, at least once.

    Both tracks of a concept are in the same part. ``groups`` are the numbers of the shards of each
    part; None: as many as hold some thousand items.
    """
    likelihood = _is_likelihood(scores)
    for part in _parts(negatives, scores, readout, groups):
        yield {
            track: assemble(
                key,
                [row for row in part.rows if row["track"] == track],
                part.found[track],
                lexicon,
                readout,
                likelihood,
            )
            for track in TRACKS
        }


@dataclass(frozen=True)
class _Part:
    """The rows of some shards."""

    rows: list[Row]  # of the candidates
    found: Mapping[Track, dict[int, Row]]  # of the scores, by index


def _parts(
    negatives: Artifact,
    scores: Artifact,
    readout: Readout,
    groups: Iterable[Sequence[int]] | None = None,
) -> Iterator[_Part]:
    columns = {COLUMN[readout], "asked", *_operands(readout)}
    if readout == "score":
        columns |= {"swap"} & {*scores.summary["columns"]}
    wanted = ["index", "track", "dtype", *sorted(columns)]
    for shards in groups or shard_groups(negatives):
        found: dict[Track, dict[int, Row]] = {track: {} for track in TRACKS}
        for i in shards:
            for row in scores.read_shard(i, wanted).to_pylist():
                found[row["track"]][row["index"]] = _compact(row)
        rows = [row for i in shards for row in negatives.read_shard(i, COLUMNS).to_pylist()]
        yield _Part(rows, found)


def shard_groups(artifact: Artifact) -> Iterator[list[int]]:
    """Yield the numbers of consecutive shards that hold some thousand items together."""
    group, rows = [], 0
    for i, shard in enumerate(artifact.shards):
        group.append(i)
        rows += shard.rows
        if rows >= ITEMS_AT_ONCE or i == len(artifact.shards) - 1:
            yield group
            group, rows = [], 0


def _compact(row: dict[str, Any]) -> Row:
    """Return a row with its scores as arrays, which take a quarter of the memory."""
    return {
        name: value if name == "asked" or not isinstance(value, list) else _values(value)
        for name, value in row.items()
    }


def _is_likelihood(scores: Artifact) -> bool:
    return "tokens" in scores.summary["columns"]


def assemble(
    key: str,
    rows: Sequence[Row],
    found: Mapping[int, Row],
    lexicon: Lexicon,
    readout: Readout = "score",
    likelihood: bool = False,
) -> ScoredSet:
    """Return the items of one track from the rows of its candidates and of its scores.

    Args:
        key: the benchmark.
        rows: with ``COLUMNS``, as the asset ``negatives`` has them.
        found: by index, with the columns of ``model_scores`` that the readout needs.
        lexicon: the vocabularies.
        readout: which number decides.
        likelihood: whether the scores are sums of log-probabilities.
    """
    benchmark = get_benchmark(key)
    reasons = [np.frombuffer(row["reasons"], np.int8) for row in rows]
    dtype = next(iter(found.values()))["dtype"] if found else "float64"
    cells = [found[row["index"]] for row in rows]
    design = design_of(*([row[name] for row in rows] for name in ("scene_id", "objects", "labels")))
    items = pack(
        [_values(cell[COLUMN[readout]]) for cell in cells],
        [_semantics(row, cell, readout) for row, cell in zip(rows, cells, strict=True)],
        dtype,
        design,
        [_sizes(cell, readout) for cell in cells] if _operands(readout) else None,
    )
    places = [
        np.column_stack([np.asarray(row["centers"]) * [1, -1], np.asarray(row["areas"])])
        for row in rows
    ]
    width = items.scores.shape[1]
    return ScoredSet(
        benchmark,
        items,
        np.array([row["index"] for row in rows], np.int64),
        _families(benchmark, rows, width, lexicon),
        pad([r != COUNT for r in reasons], False, np.bool_).reshape(len(rows), width),
        np.array([row["order"] for row in rows], np.int64).reshape(len(rows), benchmark.n),
        np.array(places, np.float64).reshape(len(rows), benchmark.n, 3),
        undecided_gap(readout, dtype, likelihood),
        _swap_items(rows, cells, dtype, design) if readout == "score" else None,
    )


def _families(
    benchmark: Benchmark, rows: Sequence[Row], width: int, lexicon: Lexicon
) -> np.ndarray:
    """Return each candidate's family, as ``ScoredSet`` has them."""
    if benchmark.n > 1:
        families = candidate_space(benchmark.task.axis, benchmark.n).families
        return np.array(families[:width], np.str_)  # without items there is one column
    concepts = (
        Concept(benchmark.task.name, tuple(row["objects"]), tuple(row["labels"])) for row in rows
    )
    families = [candidate_families(concept, lexicon) for concept in concepts]
    padded = [[*f, *[""] * (width - len(f))] for f in families]
    return np.array(padded, np.str_).reshape(len(rows), width)


def _swap_items(
    rows: Sequence[Row], cells: Sequence[Row], dtype: str, design: Design
) -> Items | None:
    """Return the items by their choices among the swaps, or None if they have none."""
    if not cells or cells[0].get("swap") is None:
        return None
    scores = [_values(cell["swap"]) for cell in cells]
    semantics = [
        np.where(np.isnan(values), ABSENT, np.frombuffer(row["semantics"], np.int8))
        for row, values in zip(rows, scores, strict=True)
    ]
    return pack(scores, semantics, dtype, design)


def _operands(readout: Readout) -> tuple[str, ...]:
    """Return the columns whose difference a readout is, if it is one."""
    return ("scores", "image_free") if readout == "subtracted" else ()


def _sizes(cell: Row, readout: Readout) -> np.ndarray:
    return np.maximum(*(np.abs(_values(cell[name])) for name in _operands(readout)))


def _values(column: Sequence[float | None]) -> np.ndarray:
    """Return a column of scores, NaN where a candidate was not asked."""
    return np.asarray(column, np.float64)


def _semantics(row: Row, cell: Row, readout: Readout) -> np.ndarray:
    """Return the candidates' semantics; those that were not offered are absent."""
    semantics = np.frombuffer(row["semantics"], np.int8)
    if cell["asked"] is not None:
        semantics = np.where(cell["asked"], semantics, ABSENT)
    if readout == "blind_choice":
        offered = choice_subset(item_key(row), len(semantics))
        semantics = np.where(offered, semantics, ABSENT)
    return semantics.astype(np.int8)
