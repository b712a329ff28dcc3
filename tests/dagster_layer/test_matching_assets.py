"""The assets that come first where a suite matches the prior or wants pairs only."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

PROJECT = Path(__file__).parent.parent.parent
EDGES = """
import sys
sys.path.insert(0, sys.argv[1])
import definitions
from dagster import AssetKey
graph = definitions.defs.resolve_asset_graph()
job = definitions.defs.resolve_job_def("build_benchmark")
new = {"top_up", "first_images", "first_checks"}
built = {key.to_user_string() for key in job.asset_layer.executable_asset_keys}
print(*sorted(new & built))
for name in ("concept_set", "images", "validated", "tables"):
    parents = {key.to_user_string() for key in graph.get(AssetKey(name)).parent_keys}
    print(*sorted(new & parents))
"""


@pytest.mark.parametrize(
    ("fields", "lines"),
    [
        ({}, ["", "", "", "", ""]),
        ({"match_prior": {"most": 2.0}}, ["top_up", "top_up", "", "", "top_up"]),
        (
            {"pairs_only": True},
            ["first_checks first_images", "", "first_checks first_images", "first_checks", ""],
        ),
    ],
)
def test_they_are_built_with_a_benchmark(tmp_path, monkeypatch, fields, lines):
    suite = tmp_path / "matched.yaml"
    suite.write_text(yaml.safe_dump({"name": "matched"} | fields))
    monkeypatch.setenv("BINDBENCH_SUITE", str(suite))
    command = [sys.executable, "-c", EDGES, str(PROJECT)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert [line.strip() for line in done.stdout.split("\n")[:5]] == lines
