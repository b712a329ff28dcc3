"""Every ``bindbench`` command that README and docs show is run as written."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
PROJECT = Path(__file__).parent.parent.parent
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]
LONG = ("bindbench train", "bindbench ui")  # tried with small settings, and in test_ui.py


def commands() -> list[str]:
    """Return the commands behind a prompt in the pages' console blocks."""
    found: dict[str, None] = {}
    for page in PAGES:
        for block in re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.S):
            for line in re.findall(r"^\$ (bindbench [^#\n]*)", block, re.M):
                if not line.startswith(LONG):
                    found[line.strip()] = None
    return list(found)


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """A checkout that only links to this one, so that nothing is written here."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("workspace.yaml", "definitions.py", "models.yaml"):
        (folder / name).symlink_to(PROJECT / name)
    (folder / "suites").mkdir()
    for path in (PROJECT / "suites").glob("*.yaml"):
        (folder / "suites" / path.name).write_text(path.read_text())
    (folder / "dagster_home").mkdir()
    settings = (PROJECT / "dagster_home/dagster.yaml").read_text()  # its pool is limited to one
    (folder / "dagster_home/dagster.yaml").write_text(settings)
    return folder


def run(project: Path, command: str) -> str:
    environment = {**os.environ, "BINDBENCH_STORE": str(project / "store")}
    environment |= {"DAGSTER_HOME": str(project / "dagster_home"), "COLUMNS": "120"}
    environment.pop("BINDBENCH_SUITE", None)
    program = str(Path(sys.executable).parent / "bindbench")
    done = subprocess.run(
        [program, *shlex.split(command)[1:]],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_there_are_commands():
    assert any(command.startswith("bindbench candidates") for command in commands())
    assert any(command.startswith("bindbench run") for command in commands())


@pytest.mark.parametrize("command", commands())
def test_command(project, command):
    run(project, command)


def test_a_second_run_recomputes_nothing_and_says_so(project):
    command = "bindbench run --suite embedded --benchmark position-n2 --concepts 8 --name twice"
    first, second = run(project, command), run(project, command)
    assert "up to date" not in first
    assert second.count("up to date") > 5
    assert "shards/s" not in second
    assert (project / "store/twice/html/index.html").is_file()


def test_a_truncated_shard_is_named_and_recomputed_only_when_asked(project):
    command = "bindbench run --suite embedded --benchmark position-n2 --concepts 8 --name twice"
    run(project, command)
    (shard,) = (project / "store/twice/images/position-n2").glob("*/part-00000.parquet")
    whole = shard.read_bytes()
    shard.write_bytes(whole[: len(whole) // 2])
    program = str(Path(sys.executable).parent / "bindbench")
    environment = {**os.environ, "BINDBENCH_STORE": str(project / "store"), "COLUMNS": "400"}
    environment |= {"DAGSTER_HOME": str(project / "dagster_home")}
    done = subprocess.run(
        [program, *shlex.split(command)[1:]],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert str(shard) in done.stdout + done.stderr
    assert shard.read_bytes() != whole
    run(project, command + " --repair")
    assert shard.read_bytes() == whole


def test_a_killed_run_frees_the_pool_for_the_next(project):
    command = "bindbench run --suite embedded --benchmark color-n2 --concepts 40 --name killed"
    program = str(Path(sys.executable).parent / "bindbench")
    environment = {**os.environ, "BINDBENCH_STORE": str(project / "store")}
    environment |= {"DAGSTER_HOME": str(project / "dagster_home"), "BINDBENCH_WORKERS": "2"}
    process = subprocess.Popen(
        [program, *shlex.split(command)[1:]],
        cwd=project,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 300
    while not list((project / "store/killed/images").glob("color-n2/*/part-*.parquet")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert "kept" in run(project, command)
