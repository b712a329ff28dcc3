"""The Ray engine on a real cluster of this machine, with two actors."""

import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import engine_samples as samples
import pytest
from test_local_engine import collect, is_running, wait_until

from bindbench.engine.base import Demand, ShardError
from bindbench.engine.choice import open_engine
from bindbench.engine.local import LocalEngine
from bindbench.errors import UserError
from bindbench.storage.datasets import Shard, build
from bindbench.storage.store import Store

ray = pytest.importorskip("ray")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
DRIVER = Path(__file__).with_name("ray_driver.py")
SAMPLES = [str(DRIVER.parent), str(DRIVER.parents[1] / "storage")]
LISTENS = "0A"  # in /proc/net/tcp


@pytest.fixture(scope="module")
def engine():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(SAMPLES))  # the actors import them
        patch.syspath_prepend(SAMPLES[1])
        engine = open_engine(2, "ray")
        yield engine
        engine.close()
    assert not ray.is_initialized()


def test_every_task_is_done_once(engine):
    results, error = collect(engine, samples.square, range(20))
    assert error is None
    assert results == {i: i * i for i in range(20)}


def test_no_tasks(engine):
    assert collect(engine, samples.square, []) == ({}, None)


def test_actors_serve_every_map(engine):
    def actors():
        return set(collect(engine, samples.process_id, range(10))[0].values())

    wait_until(lambda: len(actors()) == 2, seconds=300)  # the second may start late
    first = actors()
    assert first == actors()
    assert os.getpid() not in first


def test_an_actor_has_one_thread(engine):
    results, _ = collect(engine, samples.threads, [0])
    assert results[0] == {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def test_servers_listen_on_this_machine_only(engine):
    collect(engine, samples.square, [0])
    own = _ports_of_family(os.getpid())
    assert own, "the cluster listens somewhere"
    assert {address for address, _ in own} <= {"0100007F", "0000000000000000FFFF00000100007F"}


def _ports_of_family(pid):
    """Return (address in hex, port) of the sockets on which a process and its children listen."""
    listening = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENS:
                listening[f"socket:[{fields[9]}]"] = tuple(fields[1].split(":"))
    found = set()
    for process in _family(pid):
        for file in Path(f"/proc/{process}/fd").iterdir():
            try:
                found.add(listening.get(str(file.readlink())))
            except OSError:
                continue
    return found - {None}


def _family(pid):
    found = [pid]
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += _family(int(child))
    return found


def test_failures_do_not_stop_the_others(engine):
    results, error = collect(engine, samples.zero_division_on_two, range(5), list("abcde"))
    assert sorted(results) == [0, 1, 3, 4]
    assert type(error) is ShardError
    assert str(error) == "c failed: ZeroDivisionError: division by zero"
    assert "zero_division_on_two" in error.__notes__[0]


def test_user_errors_stay_user_errors(engine):
    results, error = collect(engine, samples.user_error_on_odd, range(4), list("abcd"))
    assert sorted(results) == [0, 2]
    assert type(error) is UserError
    assert str(error) == "2 of 4 shards failed (b, d); the first, b: Task 1 is odd."


def test_tasks_that_cannot_travel_fail_alone(engine):
    results, error = collect(engine, samples.square, [1, samples.Unreadable(), lambda: 0, 2])
    assert results == {0: 1, 3: 4}
    assert str(error).startswith("2 of 4 shards failed (task 1, task 2); the first, task 1: ")
    results, error = collect(engine, samples.square, [lambda: 0])
    assert results == {}
    assert error


def test_a_lost_shard_is_computed_again(engine, tmp_path):
    tasks = [tmp_path / name for name in "abcd"]
    for path in tasks[1:]:
        path.touch()
    results, error = collect(engine, samples.killed_the_first_time, tasks)
    assert error is None
    assert results == dict(enumerate("abcd"))


def test_a_task_that_kills_every_actor_fails_alone(engine):
    results, error = collect(engine, samples.killed_on_two, range(6), list("abcdef"))
    assert sorted(results) == [0, 1, 3, 4, 5]
    assert type(error) is ShardError
    assert str(error) == (
        "c failed: its Ray actor was lost 3 times (killed, out of memory, or its node is gone)"
    )


def test_an_actor_killed_from_outside_costs_nothing(engine):
    pids, _ = collect(engine, samples.process_id, range(4))
    killer = threading.Timer(0.3, lambda: os.kill(pids[0], signal.SIGKILL))
    killer.start()
    results, error = collect(engine, samples.process_id, range(60))
    killer.join()
    assert error is None
    assert sorted(results) == list(range(60))


def test_idle_actors_leave_the_cluster_to_others(engine, monkeypatch):
    from bindbench.engine import ray_engine

    monkeypatch.setattr(ray_engine, "IDLE_SECONDS", 0.2)
    first, _ = collect(engine, samples.process_id, [0])
    wait_until(lambda: not is_running(first[0]), seconds=120)
    monkeypatch.undo()
    second, error = collect(engine, samples.process_id, [0])
    assert error is None
    assert second != first


def test_a_model_that_needs_a_gpu_is_told_that_there_is_none(engine):
    held = engine.holding(Demand("scorer", lone=True, gpus=1))
    assert held.workers == 0
    _, error = collect(held, samples.square, [0])
    assert type(error) is UserError
    assert str(error).startswith("An actor takes 1 GPUs, but the Ray cluster has 0: add a node")


def test_a_lone_model_without_gpus_is_held_by_one_actor(engine):
    held = engine.holding(Demand("scorer", lone=True, gpus=0))
    assert held.workers == 1
    assert engine.holding(Demand("scorer", lone=False, gpus=0)) is engine


def test_shards_are_the_same_in_worker_processes_and_in_actors(engine, tmp_path):
    from storage_samples import SCHEMA, MakeRows

    def digests(engine, name):
        made = build(
            Store(tmp_path / name, "suite"),
            "images",
            "color-n2",
            schema=SCHEMA,
            settings={"seed": 1},
            shards=[Shard(f"{i:04x}", i) for i in range(5)],
            function=MakeRows(),
            engine=engine,
        )
        return [file.read_bytes() for file in sorted(Path(made.path).iterdir())]

    pool = LocalEngine(2)
    one, two = digests(LocalEngine(1), "one"), digests(pool, "two")
    pool.close()
    assert len(one) == 5
    assert one == two == digests(engine, "actors")


def test_nothing_answers():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    _, error = collect(_apart(f"ray:127.0.0.1:{port}"), samples.square, [0])
    assert type(error) is UserError
    assert str(error).startswith(f"No Ray cluster answers at 127.0.0.1:{port} (Connection refused)")


def _apart(name):
    """Return an engine of a process that has no cluster yet."""
    ray.shutdown()
    return open_engine(2, name)


def test_every_gpu_has_an_actor_of_its_own(monkeypatch, tmp_path):
    pair, alone = tmp_path / "pair", tmp_path / "alone"
    pair.mkdir()
    alone.mkdir()
    ray.shutdown()
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(SAMPLES))
    # Ray takes our word for the GPUs.
    ray.init(
        address="local",
        num_cpus=2,
        num_gpus=2,
        include_dashboard=False,
        _node_ip_address="127.0.0.1",
        log_to_driver=False,
        logging_level="ERROR",
    )
    engine = open_engine(2, "ray")
    try:
        held = engine.holding(Demand("scorer", lone=True, gpus=1))
        assert held.workers == 2
        seen, _ = collect(held, samples.visible_gpus, [(pair, 2)] * 6)
        assert {gpu for _, gpu in seen.values()} == {"0", "1"}
        assert len(set(seen.values())) == 2
        both = engine.holding(Demand("generator", lone=True, gpus=2))  # takes the others' place
        assert both.workers == 1
        seen, _ = collect(both, samples.visible_gpus, [(alone, 1)] * 2)
        assert {gpu for _, gpu in seen.values()} == {"0,1"}
        stage = held.holding(Demand("judge", lone=True, gpus=1))  # held with the detector
        assert stage.workers == 2
        monkeypatch.setenv("BINDBENCH_GPUS", "scorer=0.5")
        assert open_engine(2, "ray").holding(Demand("scorer", lone=True, gpus=1)).workers == 4
    finally:
        engine.close()
        ray.shutdown()


@pytest.mark.parametrize("how", ["kill -9", "Ctrl-C"])
def test_a_cluster_ends_with_its_driver(tmp_path, how):
    parent = subprocess.Popen(
        [sys.executable, str(DRIVER), str(tmp_path)],
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
    )
    files = [tmp_path / "pid0", tmp_path / "pid1"]
    wait_until(lambda: all(file.exists() and file.read_text() for file in files), seconds=300)
    family = _family(parent.pid)[1:]
    actors = [int(file.read_text()) for file in files]
    assert set(actors) <= set(family)
    if how == "kill -9":
        parent.kill()
    else:
        os.killpg(parent.pid, signal.SIGINT)  # as a terminal does: to all processes
    _, errors = parent.communicate(timeout=120)
    wait_until(lambda: not any(map(is_running, family)), seconds=120)
    assert errors.count("Traceback") == (0 if how == "kill -9" else 1)
