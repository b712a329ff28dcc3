"""Builds every stage of a suite without Dagster; also a script that a test can kill."""

import sys
from pathlib import Path

import yaml

from bindbench.engine.local import LocalEngine
from bindbench.models.family import ModelName
from bindbench.pipeline import spine
from bindbench.pipeline.base import Context
from bindbench.storage.store import Artifact, Store
from bindbench.suite import Suite, resolve_suite


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
            "scorers": [{"model": f"check:{name}"} for name in ("constant", "random", "oracle")],
        },
    }
    return resolve_suite(defaults | fields, "small.yaml")


def build_all(context: Context) -> dict[str, Artifact]:
    """Return every artifact of the suite by ``asset/partition``."""
    built = spine.build_vocabulary(context)
    for key in context.suite.benchmarks:
        built += spine.build_benchmark(context, key)
        for settings in context.suite.profile.scorers:
            built += spine.score_model(context, key, ModelName.parse(settings.model).slug)
    built += spine.summarize(context)
    return {f"{artifact.asset}/{artifact.partition}": artifact for artifact in built}


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
