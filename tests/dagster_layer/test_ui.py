"""The UI in a real browser: the asset graph, a partition with its picture, both kinds of check."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.slow
PROJECT = Path(__file__).parent.parent.parent
PROGRAM = str(Path(sys.executable).parent / "bindbench")
CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ui")
    suite = folder / "ui.yaml"
    fields = {
        "name": "ui",
        "benchmarks": ["color-n2", "position-n2"],
        "concepts": 6,
        "overrides": {
            "generator": {"options": {"samples": 4, "faults": {"dropped": 0.4}}},
            "survival": {"presence": {"low": 0.99}, "label": {"low": 0}, "background": {"low": 0}},
        },
    }
    suite.write_text(yaml.safe_dump(fields))
    home = folder / "home"
    home.mkdir()
    (home / "dagster.yaml").write_text((PROJECT / "dagster_home/dagster.yaml").read_text())
    made = {
        **os.environ,
        "BINDBENCH_STORE": str(folder / "store"),
        "DAGSTER_HOME": str(home),
    }
    done = subprocess.run(
        [PROGRAM, "run", "--suite", str(suite)],
        cwd=PROJECT,
        env=made,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "check survival of validated failed" in done.stdout
    return made | {"SUITE": str(suite)}


@pytest.fixture(scope="module")
def server(environment):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [PROGRAM, "ui", "--suite", environment["SUITE"], "--port", str(port)]
    # As a script starts it in the background: with interrupts ignored.
    shell = ["sh", "-c", "trap '' INT; exec \"$@\"", "sh", *command]
    made = subprocess.Popen(shell, cwd=PROJECT, env=environment, start_new_session=True)
    try:
        wait_for(f"http://127.0.0.1:{port}/server_info")
        yield made, port
    finally:
        if group(made.pid):
            os.killpg(made.pid, signal.SIGKILL)
        made.wait(timeout=60)


@pytest.fixture(scope="module")
def address(server):
    return f"http://127.0.0.1:{server[1]}"


def group(leader: int) -> list[str]:
    """Return the state and name of the live processes of a process group."""
    listed = subprocess.run(
        ["ps", "-eo", "pgid=,stat=,args="], capture_output=True, text=True, check=True
    )
    lines = [line.split(maxsplit=2) for line in listed.stdout.splitlines()]
    return [line[-1] for line in lines if line[0] == str(leader) and line[1][0] != "Z"]


def wait_for(url: str) -> None:
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(url, timeout=5).read()
        except OSError:
            time.sleep(1)
        else:
            return
    raise TimeoutError(url)


@pytest.fixture(scope="module")
def page(address):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        made = browser.new_page(viewport={"width": 1500, "height": 950})
        made.set_default_timeout(90_000)
        yield made
        browser.close()


def test_the_graph_shows_the_groups(address, page):
    page.goto(f"{address}/asset-groups")
    for group in ("concepts", "images", "evaluation"):
        page.get_by_text(group, exact=True).first.wait_for()


def test_a_partition_shows_its_picture(address, page):
    page.goto(f"{address}/assets/images?view=partitions&partition=color-n2")
    page.get_by_text("dagster/row_count").first.wait_for()
    page.get_by_text("[Show Markdown]").first.click()
    page.locator("img[src^='data:image/png;base64']").first.wait_for()


def test_checks_that_passed_and_failed(address, page):
    page.goto(f"{address}/assets/validated?view=checks")
    page.get_by_text("survival", exact=True).first.wait_for()
    page.get_by_text("Failed").first.wait_for()
    page.goto(f"{address}/assets/captions?view=checks")
    page.get_by_text("Succeeded").first.wait_for()


def test_ending_the_command_ends_the_servers(server):
    process, port = server
    assert len(group(process.pid)) > 2  # the webserver and the daemon beside it
    process.terminate()  # this process alone, not its group
    process.wait(timeout=120)
    deadline = time.monotonic() + 120
    while (left := group(process.pid)) and time.monotonic() < deadline:
        time.sleep(1)
    assert left == []
    with pytest.raises(OSError):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/server_info", timeout=5)
