"""Scores and semantics of a benchmark's items, as the arrays that the measures take."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bindbench.analysis.accuracy import Items, design_of, pack, pad
from bindbench.analysis.paired import in_concept_order
from bindbench.candidates import candidate_families, candidate_space
from bindbench.concepts import Concept
from bindbench.semantics import COUNT
from bindbench.storage.store import Artifact
from bindbench.tasks import Benchmark, Track, get_benchmark
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
    families: np.ndarray  # str (items, candidates): the family, "" for the positive and padding
    counted: np.ndarray  # bool (items, candidates): told apart by more than counting
    orders: np.ndarray  # int (items, N): scored position -> concept position
    places: np.ndarray  # float64 (items, N, 3): x, -y and area, in the order of the scored caption

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
        keep = np.isin(self.index, index)
        items = Items(
            self.items.scores[keep],
            self.items.semantics[keep],
            self.items.dtype,
            self.items.design.take(keep),
        )
        return ScoredSet(
            self.benchmark,
            items,
            self.index[keep],
            self.families[keep],
            self.counted[keep],
            self.orders[keep],
            self.places[keep],
        )

    def in_concept_order(self) -> Items:
        """Return the items with candidate k meaning the same claim in every clause order."""
        if self.benchmark.n == 1:
            return self.items
        space = candidate_space(self.benchmark.task.axis, self.benchmark.n)
        return in_concept_order(self.items, space.objects, space.labels, self.orders)


def scored_set(
    key: str, track: Track, negatives: Artifact, scores: Artifact, lexicon: Lexicon
) -> ScoredSet:
    """Return the scored items of a track."""
    benchmark = get_benchmark(key)
    rows = [r for r in negatives.read(COLUMNS).to_pylist() if r["track"] == track]
    found = {
        row["index"]: row
        for row in scores.read(["index", "track", "scores", "dtype"]).to_pylist()
        if row["track"] == track
    }
    semantics = [np.frombuffer(row["semantics"], np.int8) for row in rows]
    reasons = [np.frombuffer(row["reasons"], np.int8) for row in rows]
    families = [
        candidate_families(
            Concept(benchmark.task.name, tuple(row["objects"]), tuple(row["labels"])), lexicon
        )
        for row in rows
    ]
    dtype = next(iter(found.values()))["dtype"] if found else "float64"
    items = pack(
        [np.asarray(found[row["index"]]["scores"]) for row in rows],
        semantics,
        dtype,
        design_of(*([row[name] for row in rows] for name in ("scene_id", "objects", "labels"))),
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
        np.array([[*f, *[""] * (width - len(f))] for f in families], dtype=np.str_).reshape(
            len(rows), width
        ),
        pad([r != COUNT for r in reasons], False, np.bool_).reshape(len(rows), width),
        np.array([row["order"] for row in rows], np.int64).reshape(len(rows), benchmark.n),
        np.array(places, np.float64).reshape(len(rows), benchmark.n, 3),
    )
