"""What must hold of each artifact, as tables of Great Expectations (loaded by ``expectations``)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bindbench.candidates import Words, candidate_space
from bindbench.concepts import Concept
from bindbench.pipeline import captions, negatives, paired_set, validated
from bindbench.pipeline.base import Context
from bindbench.pipeline.limits import Limit
from bindbench.semantics import FALSE
from bindbench.suite import Bounds
from bindbench.tasks import TRACKS, Benchmark, get_benchmark
from bindbench.vocabulary import Lexicon


@dataclass(frozen=True)
class Outcome:
    """Whether all limits held, the ones that did not, and what was observed."""

    passed: bool
    failed: tuple[str, ...]
    observed: dict[str, Any]


def expect(frame: pd.DataFrame, limits: Sequence[Limit], observed: dict[str, Any]) -> Outcome:
    """Validate a frame with Great Expectations."""
    from bindbench.pipeline.expectations import failures

    failed = failures(frame, limits)
    return Outcome(not failed, tuple(failed), observed)


def caption_survival(context: Context, key: str) -> Outcome:
    """The share of concepts whose contextual caption passed lies within the profile's bounds."""
    rows = context.current(captions.NAME, key).read(["track", "verdict"]).to_pandas()
    passed = rows[rows["track"] == "contextual"]["verdict"].eq("pass").mean()
    return _bounded({"captions": float(passed)}, context.suite.profile.survival)


def image_survival(context: Context, key: str) -> Outcome:
    """The share that passes each check, of those that reached it, lies within the bounds."""
    rows = context.current(validated.NAME, key).read(["track", *validated.CHECKS]).to_pandas()
    shares = {}
    for track in TRACKS:
        for check in validated.CHECKS:
            reached = rows[(rows["track"] == track) & (rows[check] != "not_run")]
            if len(reached):
                shares[f"{check} ({track})"] = float(reached[check].eq("pass").mean())
    return _bounded(shares, context.suite.profile.survival)


def _bounded(shares: dict[str, float], bounds: dict[str, Bounds]) -> Outcome:
    limits = [
        Limit(name, bounds[check].low, bounds[check].high)
        for name in shares
        if (check := name.split(" ")[0]) in bounds
    ]
    return expect(pd.DataFrame([shares]), limits, shares)


def paired_not_empty(context: Context, key: str) -> Outcome:
    """The paired set holds at least one concept."""
    rows = context.current(paired_set.NAME, key).rows
    return expect(pd.DataFrame([{"rows": rows}]), [Limit("rows", 1, math.inf)], {"rows": rows})


def candidate_counts(context: Context, key: str) -> Outcome:
    """Every item has exactly the number of candidates of the formulas (Auto-Comp, section 3)."""
    benchmark = get_benchmark(key)
    expected = expected_candidates(benchmark)
    frame = context.current(negatives.NAME, key).read(["n_candidates"]).to_pandas()
    if expected is None:
        return Outcome(True, (), {"items": len(frame)})
    observed = {"expected": expected, "items": len(frame)}
    return expect(frame, [Limit("n_candidates", expected, expected)], observed)


def expected_candidates(benchmark: Benchmark) -> int | None:
    """Return N^(2N) or N^N (N-1)^(N-1); None at N=1, where the vocabulary decides."""
    n = benchmark.n
    if n == 1:
        return None
    if benchmark.task.axis == "attribute":
        return n ** (2 * n)
    return n**n * (n - 1) ** (n - 1)


def no_true_negative(context: Context, key: str) -> Outcome:
    """No candidate that describes the very scene of its concept is counted as false.

    The scene is compared by its canonical id, not by the rules that labelled the candidate.
    """
    benchmark = get_benchmark(key)
    rows = context.current(negatives.NAME, key).read(["objects", "labels", "semantics"]).to_pylist()
    same: dict[Words, np.ndarray] = {}  # by pattern: a large benchmark has few
    wrong = 0
    for row in rows if benchmark.n > 1 else ():
        words = _pattern(benchmark, row)
        if words not in same:
            same[words] = _of_the_scene(benchmark, words, context.lexicon)
        false = np.frombuffer(row["semantics"], np.int8) == FALSE
        wrong += int((same[words] & false).sum())
    frame = pd.DataFrame({"true_negatives": [wrong]})
    return expect(frame, [Limit("true_negatives", 0, 0)], {"true_negatives": wrong})


def _pattern(benchmark: Benchmark, row: dict[str, Any]) -> Words:
    """Return an item's words, renamed where a scene depends on nothing but which are the same."""
    objects, labels = row["objects"], row["labels"]
    names = tuple(str(objects.index(word)) for word in objects)
    if benchmark.task.axis == "attribute":
        return names, tuple(str(labels.index(word)) for word in labels)
    return names, tuple(labels)


def _of_the_scene(benchmark: Benchmark, words: Words, lexicon: Lexicon) -> np.ndarray:
    """Return which candidates, each object mentioned once, describe the positive's scene (bool)."""
    name = benchmark.task.name
    scene = Concept(name, *words).scene_id(lexicon)
    space = candidate_space(benchmark.task.axis, benchmark.n)
    same = np.zeros(len(space), bool)
    for i, (objects, labels) in enumerate(zip(space.objects, space.labels, strict=True)):
        if len(set(objects)) == benchmark.n:
            said = tuple(words[0][j] for j in objects), tuple(words[1][j] for j in labels)
            same[i] = Concept(name, *said).scene_id(lexicon) == scene
    return same


def digests_right(context: Context, asset: str, partition: str) -> Outcome:
    """Every shard of an artifact still has the content that its manifest records."""
    artifact = context.current(asset, partition)
    artifact.verify()
    return Outcome(True, (), {"digest": artifact.digest, "shards": len(artifact.shards)})
