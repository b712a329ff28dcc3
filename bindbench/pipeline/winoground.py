"""Winoground's scores, where a suite draws each concept's swapped counterpart as well."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from bindbench.analysis.paired import WINOGROUND_CHANCE, winoground
from bindbench.candidates import candidate_space
from bindbench.storage.store import Artifact
from bindbench.tasks import get_benchmark

TRACK = "minimal"  # contextual captions of two concepts are different sentences
Cell = tuple[dict[str, Any], dict[str, Any]]  # a row of the negatives and its scores


def winoground_rows(key: str, negatives: Artifact, scores: Artifact) -> Iterator[dict[str, Any]]:
    """Yield the text, image and group scores over the pairs of which both images were accepted.

    A concept of an even index is followed by its counterpart.
    """
    cells = _cells(negatives, scores)
    pairs = [(cells[i], cells[i + 1]) for i in cells if i % 2 == 0 and i + 1 in cells]
    if not pairs:
        return
    tables = [_table(key, *pair) for pair in pairs]
    # A choice of some candidates need not hold the counterpart's caption.
    asked = [i for i, cells in enumerate(tables) if None not in (cells[0] + cells[1])]
    if not asked:
        return
    pairs, table = [pairs[i] for i in asked], np.array([tables[i] for i in asked], float)
    found = winoground(table, pairs[0][0][1]["dtype"], [a[0]["scene_id"] for a, _ in pairs])
    for name, chance in WINOGROUND_CHANCE.items():
        estimate = getattr(found, name)
        yield {
            "family": f"winoground_{name}",
            "semantics": "strict",
            "n_items": len(pairs),
            "n_excluded": len(tables) - len(pairs),
            "accuracy": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "chance": chance,
        }


def _cells(negatives: Artifact, scores: Artifact) -> dict[int, Cell]:
    columns = ["index", "scene_id", "track", "objects", "labels"]
    rows = {r["index"]: r for r in negatives.read(columns).to_pylist() if r["track"] == TRACK}
    return {
        row["index"]: (rows[row["index"]], row)
        for row in scores.read(["index", "track", "scores", "swap", "dtype"]).to_pylist()
        if row["track"] == TRACK
    }


def _table(key: str, first: Cell, second: Cell) -> list[list[float | None]]:
    """Return the scores of both images with both captions (image, caption)."""
    # The counterpart's caption is a swap: a choice among the swaps says more of it.
    scores = [row["swap"] or row["scores"] for _, row in (first, second)]
    own = [values[0] for values in scores]
    crossed = [
        scores[0][_candidate(key, first[0], second[0])],
        scores[1][_candidate(key, second[0], first[0])],
    ]
    return [[own[0], crossed[0]], [crossed[1], own[1]]]


def _candidate(key: str, row: Mapping[str, Any], other: Mapping[str, Any]) -> int:
    """Return the index of the candidate of ``row`` whose caption is that of ``other``."""
    benchmark = get_benchmark(key)
    space = candidate_space(benchmark.task.axis, benchmark.n)
    objects = [row["objects"].index(name) for name in other["objects"]]
    labels = [row["labels"].index(name) for name in other["labels"]]
    match = (space.objects == objects).all(axis=1) & (space.labels == labels).all(axis=1)
    return int(np.flatnonzero(match)[0])
