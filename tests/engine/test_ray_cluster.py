"""The Ray engine on a cluster that runs already and asks for a token."""

import os
import secrets
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from test_local_engine import wait_until

pytest.importorskip("ray")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
HERE = Path(__file__).parent
RAY = Path(sys.executable).with_name("ray")


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def environment():
    # On 127.0.0.1 only, also for those who join.
    here = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "PYTHONPATH": str(HERE)}
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    return os.environ | here | token | {"RAY_USAGE_STATS_ENABLED": "0"}


@pytest.fixture(scope="module")
def cluster(environment):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {
        "node-ip-address": "127.0.0.1",
        "port": port,
        "num-cpus": 2,
        "include-dashboard": "false",
        "object-store-memory": 100 * 2**20,
    }
    command = [str(RAY), "start", "--head", "--block", *(f"--{k}={v}" for k, v in options.items())]
    head = subprocess.Popen(
        command,
        env=environment | {"RAY_worker_niceness": "0"},
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        wait_until(lambda: listens(port), seconds=240)
        yield f"ray:127.0.0.1:{port}"
    finally:
        head.send_signal(signal.SIGTERM)  # which ends what it started
        head.communicate(timeout=120)


def test_a_running_cluster_computes(cluster, environment, tmp_path):
    script = str(HERE / "ray_address_driver.py")
    run = subprocess.run(
        [sys.executable, script, cluster, str(tmp_path / "a")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert run.returncode == 0, run.stderr
    right = str([*((i, i * i) for i in range(6)), (9, "a")])
    assert run.stdout.splitlines()[-1] == right  # before it Ray may tell of the actor that died


def test_a_cluster_that_asks_for_a_token_says_so(cluster, environment, tmp_path):
    without = {k: v for k, v in environment.items() if not k.startswith("RAY_AUTH")}
    script = str(HERE / "ray_address_driver.py")
    run = subprocess.run(
        [sys.executable, script, cluster, str(tmp_path / "a")],
        env=without | {"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert run.returncode == 1
    assert "UserError: The Ray cluster at 127.0.0.1:" in run.stderr
    assert "asks for a token: set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN" in run.stderr
