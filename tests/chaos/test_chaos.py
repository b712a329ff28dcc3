"""Runs that are killed at random moments and resumed; a full disk; two runs at once."""

import importlib.util
import json
import os
import random
import subprocess

import fsspec
import pytest
from chaos_driver import SHARDS, Make, chain
from chaos_runs import (
    assert_resumes,
    data_of,
    folder_files,
    kill_somewhere,
    lines,
    start,
    wait_until,
)
from s3_server import BUCKET, Faults, environment, objects, proxy, s3_server

from bindbench.engine.local import LocalEngine
from bindbench.errors import UserError
from bindbench.storage.store import Store

pytestmark = pytest.mark.slow
HAS_RAY = importlib.util.find_spec("ray") is not None


@pytest.fixture(scope="module")
def right(tmp_path_factory):
    """The files of a run that nothing disturbed."""
    root = tmp_path_factory.mktemp("right")
    chain(str(root), LocalEngine(1), Make(root.with_name("log"), None))
    return data_of(folder_files(root))


@pytest.mark.parametrize("seed", range(20))
def test_a_killed_run_resumes(tmp_path, right, seed):
    draw, root = random.Random(seed), tmp_path / "store"
    victim = ("driver", "worker")[seed % 2]
    workers = 2 if victim == "worker" else draw.choice((1, 2))
    kill_somewhere(str(root), tmp_path / "log", draw, victim, workers)
    assert_resumes(str(root), lambda: folder_files(root), right, tmp_path / "resumed")


@pytest.mark.skipif(not HAS_RAY, reason="ray is not installed")
def test_a_run_whose_ray_actor_is_killed_computes_its_shard_again(tmp_path, right):
    root, log = tmp_path / "store", tmp_path / "log"
    kill_somewhere(str(root), log, random.Random(0), "actor", 2, "ray")
    assert data_of(folder_files(root)) == right  # the same run went on
    computed = [shard for _, shard in lines(log)]
    assert len(computed) - len(set(computed)) <= 1  # the one that was lost
    assert_resumes(str(root), lambda: folder_files(root), right, tmp_path / "resumed")


@pytest.fixture(scope="module")
def server():
    with s3_server() as endpoint:
        yield endpoint


@pytest.mark.parametrize("seed", range(6))
def test_a_killed_run_resumes_on_a_failing_s3_server(tmp_path, right, server, monkeypatch, seed):
    """Fewer runs than on a folder, for time. The resumed run meets faults as well."""
    draw, faults = random.Random(100 + seed), Faults(rate=0.05, seed=seed)
    victim = ("driver", "worker")[seed % 2]
    with proxy(server, faults) as endpoint:
        for name, value in environment(endpoint).items():
            monkeypatch.setenv(name, value)
        options = json.loads(os.environ["FSSPEC_S3"])
        monkeypatch.setitem(fsspec.config.conf, "s3", options)
        root = f"s3://{BUCKET}/run-{seed}"
        kill_somewhere(root, tmp_path / "log", draw, victim, 1 + seed % 2)
        assert_resumes(root, lambda: objects(server, f"run-{seed}"), right, tmp_path / "resumed")
    assert faults.done


def test_on_a_full_disk_no_manifest_appears(tmp_path, right):
    disk = tmp_path / "disk"
    disk.mkdir()
    size = sum(map(len, right.values())) // 3

    def mount(options):
        command = ["mount", "-t", "tmpfs", "-o", options, "none", str(disk)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    done = mount(f"size={size}")
    if done.returncode:
        pytest.skip(f"a small disk can't be mounted: {done.stderr.strip()}")
    try:
        make = Make(tmp_path / "log", None)
        with pytest.raises(UserError) as caught:
            chain(str(disk), LocalEngine(1), make)
        message = str(caught.value)
        assert "can't be written (OSError: No space left on device): free some space" in message
        assert message.count("\n") == 0
        found = folder_files(disk)
        assert all(found[name] == right[name] for name in data_of(found))  # whole, or not at all
        manifests = {name for name in right if name.endswith(".json") and "/.shards/" not in name}
        assert manifests - found.keys()  # those of what did not fit
        for name in manifests & found.keys():
            Store(disk, "suite").open(*name.removesuffix(".json").split("/")[1:]).verify()
        assert mount(f"remount,size={20 * size}").returncode == 0
        assert_resumes(str(disk), lambda: folder_files(disk), right, tmp_path / "resumed")
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_two_runs_of_the_same_settings_at_once(tmp_path, right):
    root = tmp_path / "store"
    runs = [start(str(root), tmp_path / f"log{i}", i) for i in (1, 2)]
    assert [run.communicate()[1] for run in runs] == ["", ""]
    assert [run.returncode for run in runs] == [0, 0]
    assert data_of(folder_files(root)) == right
    third = tmp_path / "third"
    chain(str(root), LocalEngine(1), Make(third, None))
    assert lines(third) == []


def test_of_two_runs_with_different_settings_the_last_to_finish_counts(tmp_path, right):
    root, log, gate = tmp_path / "store", tmp_path / "log", tmp_path / "gate"
    slow = start(str(root), log, gate=str(gate))
    wait_until(lambda: len(lines(log)) == 2)  # its first shard is finished, its second in work
    quick = chain(str(root), LocalEngine(1), Make(tmp_path / "quick", None), seed=1)
    store = Store(root, "suite")
    assert store.current("images", "color-n2") == quick[0]
    gate.touch()
    said = slow.communicate()[1]
    assert slow.returncode == 0
    counts = store.current("images", "color-n2")
    assert counts.settings["seed"] == 0
    assert (
        f"images of color-n2: another run made {quick[0].fingerprint} the current artifact while "
        f"{counts.fingerprint} was built; the one that is finished last counts, and that is now "
        f"{counts.fingerprint}." in said
    )
    found = data_of(folder_files(root))
    assert {name: found[name] for name in right} == right
    for artifact in quick:
        artifact.verify()
        assert len(artifact.shards) == SHARDS
