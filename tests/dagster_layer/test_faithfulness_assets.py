"""The assets that measure all images exist where the suite names their models."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

PROJECT = Path(__file__).parent.parent.parent
ASSETS = """
import sys
sys.path.insert(0, sys.argv[1])
import definitions
graph = definitions.defs.resolve_asset_graph()
job = definitions.defs.resolve_job_def("build_benchmark")
built = {key.to_user_string() for key in job.asset_layer.executable_asset_keys}
tables = {key.to_user_string() for key in graph.get(definitions.evaluation.tables.key).parent_keys}
measuring = {"alignment", "faithfulness"}
print(*sorted(built & measuring), "|", *sorted(tables & measuring))
"""
ENCODER, ANSWERER = {"model": "nano:clip"}, {"model": "nano:vlm"}


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({"encoder": ENCODER, "answerer": ANSWERER}, "alignment faithfulness"),
        ({"encoder": ENCODER}, "alignment"),
        ({}, ""),
    ],
)
def test_they_are_built_with_a_benchmark_and_read_by_the_tables(
    tmp_path, monkeypatch, fields, names
):
    suite = tmp_path / "measured.yaml"
    suite.write_text(yaml.safe_dump({"name": "measured", "overrides": {"faithfulness": fields}}))
    monkeypatch.setenv("BINDBENCH_SUITE", str(suite))
    command = [sys.executable, "-c", ASSETS, str(PROJECT)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert [part.strip() for part in done.stdout.split("|")] == [names, names]
