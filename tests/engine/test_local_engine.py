import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import engine_samples as samples
import pytest

from bindbench.engine.base import ShardError
from bindbench.engine.local import LocalEngine
from bindbench.errors import UserError

DRIVER = Path(__file__).with_name("engine_driver.py")


@pytest.fixture(scope="module")
def pool():
    engine = LocalEngine(2)
    yield engine
    engine.close()


@pytest.fixture(params=[1, 2])
def engine(request, pool):
    return pool if request.param == 2 else LocalEngine(1)


def collect(engine, function, tasks, names=None):
    """Return the results by index, and the error if there was one."""
    results = {}
    error = None
    try:
        engine.map(function, tasks, results.__setitem__, names)
    except Exception as caught:
        error = caught
    return results, error


def is_running(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        threads = len(list(Path(f"/proc/{pid}/task").iterdir()))
    except FileNotFoundError:
        return False
    # A process is dead, and its pipe closed, when its last thread is: before, its first thread can
    # be a zombie already.
    return state != "Z" or threads > 1


def wait_until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)


def test_every_task_is_done_once(engine):
    results, error = collect(engine, samples.square, range(20))
    assert error is None
    assert results == {i: i * i for i in range(20)}


def test_no_tasks(engine):
    assert collect(engine, samples.square, []) == ({}, None)


def test_one_worker_is_this_process():
    results, _ = collect(LocalEngine(1), samples.process_id, range(2))
    assert set(results.values()) == {os.getpid()}


def test_worker_processes_serve_every_map(pool):
    first, _ = collect(pool, samples.process_id, range(10))
    second, _ = collect(pool, samples.process_id, range(10))
    assert len(set(first.values())) == 2
    assert set(first.values()) == set(second.values())
    assert os.getpid() not in first.values()


def test_a_worker_has_one_thread(engine, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    results, _ = collect(engine, samples.threads, [0])
    assert results[0] == {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    assert os.environ["OMP_NUM_THREADS"] == "3"
    assert "OPENBLAS_NUM_THREADS" not in os.environ


def test_torch_computes_here_with_one_thread_only_while_mapping():
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        results, _ = collect(LocalEngine(1), lambda task: torch.get_num_threads(), [0])
        assert results == {0: 1}
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_failures_do_not_stop_the_others(engine):
    results, error = collect(engine, samples.zero_division_on_two, range(5), list("abcde"))
    assert sorted(results) == [0, 1, 3, 4]
    assert type(error) is ShardError
    assert str(error) == "c failed: ZeroDivisionError: division by zero"
    assert "zero_division_on_two" in error.__notes__[0]  # the traceback


def test_user_errors_stay_user_errors(engine):
    results, error = collect(engine, samples.user_error_on_odd, range(4), list("abcd"))
    assert sorted(results) == [0, 2]
    assert type(error) is UserError
    assert str(error) == "2 of 4 shards failed (b, d); the first, b: Task 1 is odd."


def test_many_failures_are_counted(engine):
    _, error = collect(engine, samples.user_error_on_odd, range(1, 16, 2))
    assert "8 of 8 shards failed (task 0, task 1, task 2, task 3, task 4 and 3 more)" in str(error)


def test_a_killed_worker_costs_its_own_task_only(pool):
    results, error = collect(pool, samples.killed_on_two, range(8), list("abcdefgh"))
    assert sorted(results) == [0, 1, 3, 4, 5, 6, 7]
    assert type(error) is ShardError
    assert str(error).startswith("c failed: its worker process was killed (SIGKILL")
    assert collect(pool, samples.square, range(3)) == ({0: 0, 1: 1, 2: 4}, None)


def test_a_worker_killed_between_maps_is_replaced(pool):
    results, _ = collect(pool, samples.process_id, range(10))
    for pid in set(results.values()):
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not any(map(is_running, results.values())))
    assert collect(pool, samples.square, range(4)) == ({0: 0, 1: 1, 2: 4, 3: 9}, None)


def test_a_task_that_exits_only_fails(pool):
    results, error = collect(pool, samples.exit_on_two, range(4))
    assert sorted(results) == [0, 1, 3]
    assert str(error) == "task 2 failed: SystemExit: 7"


def test_tasks_that_cannot_travel_fail_alone(pool):
    tasks = [1, samples.Unreadable(), lambda: 0, 2]
    results, error = collect(pool, samples.square, tasks)
    assert results == {0: 1, 3: 4}
    assert str(error).startswith("2 of 4 shards failed (task 1, task 2); the first, task 1: ")


def test_an_error_of_the_caller_ends_the_workers():
    engine = LocalEngine(2)
    ids = []

    def on_done(index, result):
        ids.append(result)
        raise RuntimeError("the caller's")

    with pytest.raises(RuntimeError, match="the caller's"):
        engine.map(samples.process_id, range(10), on_done)
    assert not is_running(ids[0])
    assert not [p for p in multiprocessing.active_children() if p.pid == ids[0]]


def test_close_ends_the_workers_and_a_later_map_starts_new_ones():
    engine = LocalEngine(2)
    first, _ = collect(engine, samples.process_id, [0])
    engine.close()
    assert not is_running(first[0])
    second, _ = collect(engine, samples.process_id, [0])
    engine.close()
    assert first != second


def test_no_workers():
    with pytest.raises(UserError, match="workers=0: use 1 or more"):
        LocalEngine(0)


@pytest.mark.parametrize("how", ["kill -9", "Ctrl-C"])
def test_workers_die_with_their_parent(tmp_path, how):
    parent = subprocess.Popen(
        [sys.executable, str(DRIVER), str(tmp_path)],
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
    )
    files = [tmp_path / "pid0", tmp_path / "pid1"]
    wait_until(lambda: all(file.exists() and file.read_text() for file in files))
    workers = [int(file.read_text()) for file in files]
    assert all(map(is_running, workers))
    if how == "kill -9":
        parent.kill()
    else:
        os.killpg(parent.pid, signal.SIGINT)  # as a terminal does: to all processes
    _, errors = parent.communicate(timeout=60)
    wait_until(lambda: not any(map(is_running, workers)))
    # One traceback, the parent's: workers say nothing about Ctrl-C.
    assert errors.count("Traceback") == (0 if how == "kill -9" else 1)


def test_a_script_without_a_main_guard_is_told(tmp_path):
    script = tmp_path / "unguarded.py"
    script.write_text(
        "from bindbench.engine.local import LocalEngine\n"
        "LocalEngine(2).map(abs, [1], lambda index, result: None)\n"
    )
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60)
    assert run.returncode == 1
    assert "A worker process could not start (it ended with exit code 1)" in run.stderr
    assert "if __name__ ==" in run.stderr
