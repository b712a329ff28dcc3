"""The Ray engine on a cluster that runs already, as a node of it and as a client from outside."""

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


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


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
    port, client = free_ports(2)
    options = {
        "node-ip-address": "127.0.0.1",
        "port": port,
        "ray-client-server-port": client,
        "num-cpus": 2,
        "include-dashboard": "false",
        "object-store-memory": 100 * 2**20,
    }
    command = [str(RAY), "start", "--head", "--block", *(f"--{k}={v}" for k, v in options.items())]
    head = subprocess.Popen(
        command,
        env=environment,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        wait_until(lambda: listens(port) and listens(client), seconds=240)
        yield {"node": f"ray:127.0.0.1:{port}", "client": f"ray:ray://127.0.0.1:{client}"}
    finally:
        head.send_signal(signal.SIGTERM)  # which ends what it started
        head.communicate(timeout=120)


@pytest.mark.parametrize("how", ["node", "client"])
def test_a_running_cluster_computes(cluster, environment, tmp_path, how):
    script = str(HERE / "ray_address_driver.py")
    run = subprocess.run(
        [sys.executable, script, cluster[how], str(tmp_path / "a")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip() == str([*((i, i * i) for i in range(6)), (9, "a")])


def test_a_cluster_that_asks_for_a_token_says_so(cluster, environment, tmp_path):
    without = {k: v for k, v in environment.items() if not k.startswith("RAY_AUTH")}
    script = str(HERE / "ray_address_driver.py")
    run = subprocess.run(
        [sys.executable, script, cluster["node"], str(tmp_path / "a")],
        env=without | {"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert run.returncode == 1
    assert "UserError: The Ray cluster at 127.0.0.1:" in run.stderr
    assert "asks for a token: set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN" in run.stderr
