"""InstaBind's assets: only where a suite has the section, partitioned by set and by two dimensions.

Another suite is another code location, and so a process of its own.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

PROJECT = Path(__file__).parent.parent.parent
SCRIPT = """
import json, definitions
from dagster import AssetKey
defs = definitions.defs
found = {"jobs": sorted(job.name for job in defs.jobs)}
for key in defs.resolve_all_asset_keys():
    name = key.to_user_string()
    if name.startswith("instabind"):
        asset = defs.resolve_assets_def(key)
        parts = asset.partitions_def
        found[name] = [asset.op.pool, parts.get_partition_keys() if parts else None]
found["checks"] = sorted(
    spec.asset_key.to_user_string() for check in defs.asset_checks for spec in check.check_specs
)
print(json.dumps(found))
"""
FILE = {"source": "file", "annotations": "a.json", "images": "."}
ROWS = {"source": "generated", "kind": "color", "groups": 2}


@pytest.fixture
def location(tmp_path):
    def load(sets) -> dict:
        fields = {
            "name": "tiny",
            "benchmarks": ["color-n2"],
            "concepts": 2,
            "instabind": {
                "sets": sets,
                "settings": ["full_image", "crop_oracle"],
                "models": [{"model": "check:yes"}, {"model": "nano:vlm"}],
            },
        }
        (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(fields, sort_keys=False))
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            cwd=PROJECT,
            env=os.environ | {"BINDBENCH_SUITE": str(tmp_path / "tiny.yaml")},
            capture_output=True,
            text=True,
            check=True,
        )
        return json.loads(done.stdout.splitlines()[-1])

    return load


def test_sets_of_both_sources(location):
    found = location({"rows": ROWS, "photos": FILE})
    assert found["instabind_groups"] == [None, ["rows"]]
    assert found["instabind_images"] == ["gpu", ["rows"]]
    assert found["instabind_annotations"] == [None, ["rows", "photos"]]
    assert found["instabind_questions"] == [None, ["rows", "photos"]]
    pool, keys = found["instabind_answers"]
    assert pool == "gpu"
    assert len(keys) == 2 * 2 * 2
    assert "nano-vlm|photos--crop_oracle" in keys
    assert found["instabind_results"] == found["instabind_report"] == [None, None]
    assert {"draw_instabind", "ask_instabind", "answer_instabind"} < {*found["jobs"]}
    assert found["checks"].count("instabind_questions") == 2


def test_a_set_of_files_needs_no_generator(location):
    found = location({"photos": FILE})
    assert "instabind_images" not in found
    assert "draw_instabind" not in found["jobs"]
    assert found["instabind_annotations"] == [None, ["photos"]]
