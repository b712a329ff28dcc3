"""What is recorded of a run beside what decides its content."""

import subprocess
import sys
from datetime import UTC, datetime

import torch

from bindbench import machine
from bindbench.storage.facts import run_facts
from bindbench.storage.progress import Tracker

NO_TORCH = """
import sys
from datetime import UTC, datetime
from bindbench.storage.facts import run_facts
from bindbench.storage.progress import Tracker
print(run_facts(datetime.now(UTC), 1, Tracker(1, None))["accelerators"], "torch" in sys.modules)
"""


def test_the_hardware_that_results_depend_on_is_recorded(monkeypatch):
    tracker = Tracker(4, None)
    tracker.add_reused()
    assert run_facts(datetime.now(UTC), 2, tracker)["first_shard_seconds"] is None
    tracker.add_computed()
    facts = run_facts(datetime.now(UTC), 2, tracker)
    assert (facts["shards_computed"], facts["shards_reused"], facts["workers"]) == (1, 1, 2)
    assert facts["first_shard_seconds"] >= 0
    assert facts["processor"] == machine.processor()
    assert facts["accelerators"] == []
    assert facts["packages"]["sam2"]
    names = ["NVIDIA H200", "NVIDIA A100"]
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(names))
    monkeypatch.setattr(torch.cuda, "get_device_name", names.__getitem__)
    assert run_facts(datetime.now(UTC), 2, tracker)["accelerators"] == names


def test_torch_is_not_imported_to_ask_for_accelerators():
    command = [sys.executable, "-c", NO_TORCH]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert out.split() == ["[]", "False"]
