"""ConMe's assets: only where a suite has the section, partitioned by set and by set and panel."""

import json
import os
import subprocess
import sys
from pathlib import Path

import yaml

PROJECT = Path(__file__).parent.parent.parent
SCRIPT = """
import json, definitions
defs = definitions.defs
found = {"jobs": sorted(job.name for job in defs.jobs), "checks": {}}
for spec in (spec for check in defs.asset_checks for spec in check.check_specs):
    name = spec.asset_key.to_user_string()
    if name.startswith("conme"):
        found["checks"].setdefault(name, []).append(spec.name)
for key in defs.resolve_all_asset_keys():
    name = key.to_user_string()
    if name.startswith("conme"):
        asset = defs.resolve_assets_def(key)
        parts = asset.partitions_def
        found[name] = [asset.op.pool, parts.get_partition_keys() if parts else None]
print(json.dumps(found))
"""
STAGES = (
    "conme_strong_descriptions",
    "conme_target_descriptions",
    "conme_questions",
    "conme_first_round",
    "conme_open_answers",
    "conme_harder_questions",
    "conme_second_round",
)


def location(tmp_path: Path, section: dict) -> dict:
    fields = {"name": "tiny", "benchmarks": ["color-n2"], "concepts": 2, **section}
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


def test_stages_are_partitioned_by_set_and_panel(tmp_path):
    panel = {
        "strong": {"model": "agent:renders"},
        "targets": [{"model": "nano:vlm"}, {"model": "nano:vlm-small"}],
    }
    sets = {
        "pairs": {"source": "validated", "benchmark": "color-n2"},
        "photos": {"source": "folder", "images": "."},
    }
    found = location(tmp_path, {"conme": {"sets": sets, "panels": {"nano": panel, "more": panel}}})
    assert found["conme_images"] == [None, ["pairs", "photos"]]
    keys = {"nano|pairs", "more|pairs", "nano|photos", "more|photos"}
    for stage in STAGES:
        pool, partitions = found[stage]
        assert pool == "gpu"
        assert set(partitions) == keys
    assert {"show_conme", "converse"} < {*found["jobs"]}
    assert {name: sorted(own) for name, own in found["checks"].items()} == {
        "conme_images": ["digests", "images_there"],
        "conme_questions": ["digests", "rejected"],
        "conme_harder_questions": ["rejected"],
        "conme_first_round": ["counts"],
        "conme_second_round": ["counts", "digests", "samples_left"],
        "conme_evaluation": ["whole"],
    }


def test_a_suite_without_the_section_has_none_of_them(tmp_path):
    found = location(tmp_path, {})
    assert not any(name.startswith("conme") for name in found)
    assert not {"show_conme", "converse"} & {*found["jobs"]}
    assert found["checks"] == {}
