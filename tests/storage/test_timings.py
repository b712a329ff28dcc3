import json
import socket

import pytest
from storage_samples import make

from bindbench.storage.manifest import DamageError
from bindbench.storage.timings import timings


def test_builds_are_found_with_what_they_computed(tmp_path):
    first = make(tmp_path, 2)
    (only,) = timings(tmp_path)
    assert only.artifact == first
    assert (only.suite, only.computed, only.workers) == ("suite", 2, 1)
    assert only.host == socket.gethostname()
    assert only.seconds == json.loads(first.run_path.read_text())["wall_seconds"] > 0
    make(tmp_path, 5)  # keeps the first two shards
    longer = {len(found.artifact.shards): found for found in timings(tmp_path)}[5]
    assert (longer.computed, longer.share) == (3, 3 / 5)


def test_lanes_are_the_workers_that_had_work(tmp_path):
    make(tmp_path, 3, workers=2)
    (found,) = timings(tmp_path)
    assert (found.workers, found.computed, found.lanes) == (2, 3, 2)
    make(tmp_path / "b", 1, workers=2)
    (found,) = timings(tmp_path / "b")
    assert found.lanes == 1


def test_what_was_killed_before_its_manifest_is_no_build(tmp_path):
    artifact = make(tmp_path, 2)
    artifact.manifest_path.unlink()
    assert list(timings(tmp_path)) == []


def test_a_damaged_manifest_is_named(tmp_path):
    artifact = make(tmp_path, 2)
    artifact.manifest_path.write_text("{")
    with pytest.raises(DamageError, match=f"{artifact.fingerprint}.json is not a manifest"):
        list(timings(tmp_path))


def test_an_empty_store_has_no_builds(tmp_path):
    assert list(timings(tmp_path / "none")) == []


def test_other_file_systems(tmp_path):
    make("memory://timings", 2)
    (found,) = timings("memory://timings")
    assert found.computed == 2
