"""The definitions of a tiny suite, loaded once for all tests of this folder."""

import os
import sys
from pathlib import Path

import pytest
import yaml
from dagster import DagsterInstance

PROJECT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="session")
def defs(tmp_path_factory):
    """Definitions that build two benchmarks of six concepts into a store of their own."""
    folder = tmp_path_factory.mktemp("dagster")
    suite = folder / "tiny.yaml"
    fields = {
        "name": "tiny",
        "benchmarks": ["color-n2", "position-n2"],
        "concepts": 6,
        "models": "models.yaml",
        "overrides": {
            "shard_size": 3,
            "generator": {"options": {"samples": 4, "faults": {"dropped": 0.3}}},
            "survival": {name: {"low": 0.0} for name in ("presence", "background", "label")},
            "scorers": [{"model": f"check:{name}"} for name in ("constant", "random", "oracle")],
        },
    }
    suite.write_text(yaml.safe_dump(fields))
    os.environ |= {
        "BINDBENCH_SUITE": str(suite),
        "BINDBENCH_STORE": str(folder / "store"),
        "BINDBENCH_WORKERS": "1",
    }
    sys.path.insert(0, str(PROJECT))
    for name in list(sys.modules):  # another test of this process may have loaded another suite
        if name.split(".")[0] in ("definitions", "assets", "resources", "sensors"):
            del sys.modules[name]
    import definitions

    return definitions.defs


@pytest.fixture(scope="session")
def instance():
    """An instance that lives as long as the tests."""
    with DagsterInstance.ephemeral() as made:
        yield made


@pytest.fixture(scope="session")
def run(defs, instance):
    """Run one job of the definitions on one partition."""

    def run_job(name: str, partition=None):
        return defs.resolve_job_def(name).execute_in_process(
            instance=instance, partition_key=partition, raise_on_error=False
        )

    return run_job
