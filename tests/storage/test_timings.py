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


def test_what_the_first_shard_took_longer_is_the_start(tmp_path):
    artifact = make(tmp_path, 3)
    rows = [shard.rows for shard in artifact.shards]
    facts = json.loads(artifact.run_path.read_text())
    assert 0 < facts["first_shard_seconds"] <= facts["wall_seconds"]

    def startup(**changes) -> float:
        artifact.run_path.write_text(json.dumps(facts | changes))
        (found,) = timings(tmp_path)
        return found.startup

    # Two shards in 20 s: 10 s each, so that 30 s of the first 40 were no work.
    assert len(set(rows)) == 1
    known = {"wall_seconds": 60.0, "first_shard_seconds": 40.0}
    assert startup(**known) == pytest.approx(30.0)
    assert startup(wall_seconds=60.0, first_shard_seconds=10.0) == 0.0
    assert startup(**known, workers=2) == 0.0  # nobody knows which shard was whose
    assert startup(**known, shards_computed=2) == 0.0
    assert startup(wall_seconds=60.0, first_shard_seconds=None) == 0.0
    del facts["first_shard_seconds"]  # as builds before it was recorded
    assert startup() == 0.0


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
