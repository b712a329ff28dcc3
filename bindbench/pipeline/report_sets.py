"""What a report says of the sets themselves: candidates, order of mention, labels; no model."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from scipy.stats import binom

from bindbench.analysis.order import ImageAxis, along_axis, order_correlation
from bindbench.candidates import candidate_families, candidate_space
from bindbench.pipeline import negatives, validated
from bindbench.pipeline.report_models import asks_about
from bindbench.semantics import FALSE, TRUE, UNDECIDED
from bindbench.storage.store import Artifact
from bindbench.tasks import TRACKS, get_benchmark
from bindbench.vocabulary import Lexicon

AXES: tuple[ImageAxis, ...] = ("horizontal", "vertical")
Artifacts = Mapping[str, Artifact]


def semantics_shares(key: str, artifacts: Artifacts, lexicon: Lexicon) -> Iterator[dict[str, Any]]:
    """Yield the shares of true, false and undecided candidates of each family."""
    counts: dict[str, np.ndarray] = {}
    for families, semantics in _labelled(key, artifacts, lexicon):
        for family in set(families[1:].tolist()):
            found = np.bincount(semantics[..., families == family].ravel(), minlength=3)
            counts[family] = counts.get(family, np.zeros(3, np.int64)) + found
    if "swap" in counts:  # the swaps are part of the confusion space
        counts["confusion"] = counts["confusion"] + counts["swap"]
    for family in sorted(counts):
        shares = counts[family] / counts[family].sum()
        yield {
            "benchmark": key,
            "family": family,
            "true": float(shares[TRUE]),
            "false": float(shares[FALSE]),
            "undecided": float(shares[UNDECIDED]),
        }


def _labelled(
    key: str, artifacts: Artifacts, lexicon: Lexicon
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the families of candidates with the semantics of all items that have these."""
    benchmark, artifact = get_benchmark(key), artifacts[f"{negatives.NAME}/{key}"]
    for i in range(len(artifact.shards)):
        rows = artifact.read_shard(i, ["objects", "labels", "semantics"]).to_pylist()
        if benchmark.n > 1 and rows:
            families = candidate_space(benchmark.task.axis, benchmark.n).families
            codes = np.frombuffer(b"".join(row["semantics"] for row in rows), np.int8)
            yield np.array(families), codes.reshape(len(rows), -1)
        elif benchmark.n == 1:
            for row in rows:
                families = candidate_families(validated.concept_of(key, row), lexicon)
                yield np.array(families), np.frombuffer(row["semantics"], np.int8)


def mention_order(
    key: str, artifacts: Artifacts, lexicon: Lexicon, seed: int
) -> Iterator[dict[str, Any]]:
    """Yield the rank correlation of mention order with every axis that is not asked about."""
    if get_benchmark(key).n == 1:
        return
    places, scenes = _places(key, artifacts[f"{validated.NAME}/{key}"], lexicon)
    for track in TRACKS:
        for axis in AXES:
            if not places[track, axis]:
                continue
            where = np.array(scenes[track, axis])
            along = np.concatenate(places[track, axis])
            found = order_correlation(axis, along, where, seed).spearman
            yield {
                "benchmark": key,
                "track": track,
                "axis": axis,
                "correlation": found.value,
                "low": found.low,
                "high": found.high,
                "n": found.n,
            }


Cell = tuple[str, ImageAxis]


def _places(
    key: str, artifact: Artifact, lexicon: Lexicon
) -> tuple[dict[Cell, list[np.ndarray]], dict[Cell, list[str]]]:
    """Return where the objects of the accepted images lie, and their scenes, shard by shard."""
    cells: list[Cell] = [(track, axis) for track in TRACKS for axis in AXES]
    places: dict[Cell, list[np.ndarray]] = {cell: [] for cell in cells}
    scenes: dict[Cell, list[str]] = {cell: [] for cell in cells}
    columns = ["track", "labels", "scene_id", "accepted", "boxes", "areas", "matched"]
    for i in range(len(artifact.shards)):
        shard = artifact.read_shard(i, columns)
        rows = shard.filter(shard["accepted"]).to_pylist()
        for track, axis in cells:
            kept = [
                row
                for row in rows
                if row["track"] == track and not asks_about(axis, key, row["labels"], lexicon)
            ]
            if kept:
                fields = [[row[name] for row in kept] for name in ("boxes", "areas", "matched")]
                places[track, axis].append(along_axis(axis, *fields))
                scenes[track, axis] += [row["scene_id"] for row in kept]
    return places, scenes


def label_shares(key: str, artifacts: Artifacts, lexicon: Lexicon) -> Iterator[dict[str, Any]]:
    """Yield each label's share of the mentions in accepted images, with its target and null band.

    The band holds 95% of the shares that so many draws from the target would give.
    """
    words = lexicon.labels(get_benchmark(key).task).names
    counts = _mentions(artifacts[f"{validated.NAME}/{key}"])
    for track in TRACKS:
        own = {word: counts.get((track, word), 0) for word in words}
        total, target = sum(own.values()), 1 / len(words)
        low, high = binom.interval(0.95, total, target) if total else (None, None)
        for word, count in own.items():
            yield {
                "benchmark": key,
                "track": track,
                "label": word,
                "mentions": count,
                "share": count / total if total else None,
                "target": target,
                "null_low": low / total if low is not None else None,
                "null_high": high / total if high is not None else None,
            }


def _mentions(artifact: Artifact) -> dict[tuple[str, str], int]:
    """Return how often accepted images mention each label, by (track, label)."""
    counts: dict[tuple[str, str], int] = {}
    for i in range(len(artifact.shards)):
        shard = artifact.read_shard(i, ["track", "labels", "accepted"])
        for row in shard.filter(shard["accepted"]).to_pylist():
            for label in row["labels"]:
                at = row["track"], label
                counts[at] = counts.get(at, 0) + 1
    return counts
