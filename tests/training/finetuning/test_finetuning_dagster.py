"""The asset ``finetuned`` in Dagster: its checkpoints become partitions that are scored.

Another suite is another code location, and so a process of its own.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from finetuning_samples import fill
from nano_folders import tiny_folder

PROJECT = Path(__file__).parents[3]
SCRIPT = """
import json, definitions
from dagster import DagsterInstance, MultiPartitionKey, build_sensor_context
from sensors.models import model_releases
defs = definitions.defs
found = {}
with DagsterInstance.ephemeral() as instance:
    def run(job, partition=None):
        done = defs.resolve_job_def(job).execute_in_process(
            instance=instance, partition_key=partition, raise_on_error=False)
        return done.success
    found["trained"] = run("finetune")
    resources = {"bench": defs.resources["bench"]}
    with build_sensor_context(instance=instance, resources=resources) as context:
        ticked = model_releases.evaluate_tick(context)
    found["models"] = [key for request in ticked.dynamic_partitions_requests
                       for key in request.partition_keys]
    instance.add_dynamic_partitions("model", found["models"])
    tuned = found["models"][-1]
    cell = MultiPartitionKey({"benchmark": "color-n2", "model": tuned})
    found["scored"] = run("score_model", cell)
    found["summarized"] = run("summarize")
print(json.dumps(found))
"""


@pytest.mark.slow
def test_its_checkpoints_are_models_like_any_other(tmp_path):
    store = fill(tmp_path, {"color-n2": 40}).store
    (tmp_path / "clip").mkdir()
    section = {
        "model": f"open_clip:{tiny_folder(tmp_path / 'clip', 'custom')}",
        "benchmarks": ["color-n2"],
        "seeds": 1,
        **{"steps": 2, "check_every": 1, "batch": 8, "rate": 1e-3, "warm_up": 1},
    }
    suite = tmp_path / "tuned.yaml"
    fields = yaml.safe_load(suite.read_text()) | {"finetuning": section}
    suite.write_text(yaml.safe_dump(fields))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=PROJECT,
        env=os.environ
        | {"BINDBENCH_SUITE": str(suite), "BINDBENCH_STORE": str(store.root)}
        | {"BINDBENCH_WORKERS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["trained"] and found["scored"] and found["summarized"], done.stderr
    assert found["models"][0] == "check-random"
    assert [name.count("swap-seed0") for name in found["models"]] == [0, 1, 0]
    assert [name.count("confusion-seed0") for name in found["models"]] == [0, 0, 1]
    rows = store.current("leaderboard", "all").read().to_pylist()
    scored = {row["model"].split("/")[-2] for row in rows if row["n_items"]}
    assert scored == {"swap-seed0", "confusion-seed0"}  # the control was not asked for
