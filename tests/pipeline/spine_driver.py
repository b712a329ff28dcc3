"""Builds every stage of a suite without Dagster; also a script that a test can kill."""

import sys
from pathlib import Path

import yaml

from bindbench.engine.local import LocalEngine
from bindbench.pipeline import (
    captions,
    concept_set,
    filter_shift,
    images,
    leaderboard,
    model_scores,
    negatives,
    paired_set,
    report,
    validated,
    vocabularies,
)
from bindbench.pipeline.base import Context
from bindbench.storage.store import Artifact, Store
from bindbench.suite import Suite, resolve_suite

STAGES = (concept_set, captions, images, validated, paired_set, negatives, filter_shift)


def small_suite(**fields) -> Suite:
    """Two benchmarks, one of each axis, in shards of four concepts."""
    defaults = {
        "name": "small",
        "benchmarks": ["color-n2", "position-n3"],
        "concepts": 8,
        "overrides": {
            "shard_size": 4,
            "survival": {"captions": {"low": 0.0}, "presence": {"low": 0.0}},
            "generator": {"options": {"samples": 4}},
        },
    }
    return resolve_suite(defaults | fields, "small.yaml")


def build_all(context: Context) -> dict[str, Artifact]:
    """Return every artifact of the suite by ``asset/partition``."""
    built = {"vocabulary/all": vocabularies.build(context)}
    for key in context.suite.benchmarks:
        for stage in STAGES:
            built[f"{stage.NAME}/{key}"] = stage.build(context, key)
        for settings in context.suite.profile.scorers:
            scores = model_scores.build(context, key, settings)
            built[f"{scores.asset}/{scores.partition}"] = scores
    built["leaderboard/all"] = leaderboard.build(context)
    built["report/all"] = report.build(context)
    return built


def digests(built: dict[str, Artifact]) -> dict[str, str]:
    """Return the digest of each artifact."""
    return {name: artifact.digest for name, artifact in built.items()}


if __name__ == "__main__":
    root, workers, fields = sys.argv[1], int(sys.argv[2]), yaml.safe_load(sys.argv[3])
    suite = small_suite(**fields)
    engine = LocalEngine(workers)
    found = digests(build_all(Context(suite, Store(Path(root), suite.name), engine)))
    engine.close()
    sys.stdout.write(yaml.safe_dump(found))
