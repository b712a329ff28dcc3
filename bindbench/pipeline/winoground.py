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
    tables = [
        (first[0]["scene_id"], first[1]["dtype"], _table(key, first, second))
        for first, second in _pairs(negatives, scores)
    ]
    # A choice of some candidates need not hold the counterpart's caption.
    asked = [row for row in tables if None not in (row[2][0] + row[2][1])]
    if not asked:
        return
    scenes, dtypes, table = zip(*asked, strict=True)
    found = winoground(np.array(table, float), dtypes[0], scenes)
    for name, chance in WINOGROUND_CHANCE.items():
        estimate = getattr(found, name)
        yield {
            "family": f"winoground_{name}",
            "semantics": "strict",
            "n_items": len(asked),
            "n_excluded": len(tables) - len(asked),
            "accuracy": estimate.value,
            "low": estimate.low,
            "high": estimate.high,
            "chance": chance,
        }


def _pairs(negatives: Artifact, scores: Artifact) -> Iterator[tuple[Cell, Cell]]:
    """Yield both cells of each pair, in order; the scores of one shard are held at a time."""
    columns = ["index", "scene_id", "track", "objects", "labels"]
    waiting: dict[int, Cell] = {}
    for i in range(len(scores.shards)):
        rows = {r["index"]: r for r in negatives.read_shard(i, columns).to_pylist() if _counts(r)}
        found = scores.read_shard(i, ["index", "track", "scores", "swap", "dtype"]).to_pylist()
        waiting |= {row["index"]: (rows[row["index"]], row) for row in found if _counts(row)}
        for index in sorted(waiting):
            if index % 2 == 0 and index + 1 in waiting:
                yield waiting[index], waiting[index + 1]
        last = max(waiting, default=-1)
        # Its counterpart may open the next shard.
        waiting = {last: waiting[last]} if last % 2 == 0 else {}


def _counts(row: Mapping[str, Any]) -> bool:
    return row["track"] == TRACK


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
