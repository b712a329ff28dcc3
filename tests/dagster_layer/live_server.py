"""A small suite behind a real webserver and daemon on this machine, asked through GraphQL."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from bindbench.storage.store import Artifact, Store

PROJECT = Path(__file__).parent.parent.parent
PROGRAM = str(Path(sys.executable).parent / "bindbench")
LOCATION, REPOSITORY = "bindbench", "__repository__"
BACKFILL = "dagster/backfill"  # the tag of a backfill's runs
PATIENCE = 300.0  # seconds for one thing to happen
QUIET_TICKS = 2

RUNS = "{ runsOrError(limit: 500) { ... on Runs { results { runId status jobName %s } } } }"
RUN_FIELDS = "assetSelection { path } tags { key value }"
BACKFILLS = """{ partitionBackfillsOrError(limit: 50) {
  ... on PartitionBackfills { results { id status partitionNames } } } }"""
TICKS = """query($selector: SensorSelector!) { sensorOrError(sensorSelector: $selector) {
  ... on Sensor { sensorState { ticks(limit: 20) { timestamp status } } } } }"""
MADE = """query($key: AssetKeyInput!) { assetOrError(assetKey: $key) {
  ... on Asset { assetMaterializations(limit: 500) { partition runId } } } }"""
LAUNCH = """mutation($params: ExecutionParams!) {
  launchPipelineExecution(executionParams: $params) {
    __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }"""
RELOAD = """mutation($name: String!) {
  reloadRepositoryLocation(repositoryLocationName: $name) { __typename } }"""
OVER = {"SUCCESS", "FAILURE", "CANCELED"}


class Live:
    """The suite's files, and the server once it runs."""

    def __init__(self, folder: Path):
        self.folder, self.suite = folder, folder / "live.yaml"
        self.models = folder / "models.yaml"
        self.models.write_text("models: []\n")
        self.write(seed=0)
        (folder / "home").mkdir()
        settings = (PROJECT / "dagster_home/dagster.yaml").read_text()
        (folder / "home/dagster.yaml").write_text(settings)
        self.environment = os.environ | {
            "BINDBENCH_STORE": str(folder / "store"),
            "BINDBENCH_TICK_SECONDS": "1",
            "BINDBENCH_WORKERS": "1",
            "DAGSTER_HOME": str(folder / "home"),
        }
        self.url = ""

    def write(self, seed: int) -> None:
        """Write the suite's file."""
        checks = ("captions", "presence", "background", "label")
        fields = {
            "name": "live",
            "benchmarks": ["color-n1", "color-n2", "position-n2"],
            "concepts": 4,
            "seed": seed,
            "models": "models.yaml",
            "overrides": {
                "generator": {"options": {"samples": 4, "faults": {}}},
                "survival": {check: {"low": 0.0} for check in checks},
                "scorers": [{"model": "check:random"}],
            },
        }
        self.suite.write_text(yaml.safe_dump(fields))

    def build(self) -> None:
        """Build the suite from the command line."""
        command = [PROGRAM, "run", "--suite", str(self.suite)]
        done = subprocess.run(
            command, cwd=PROJECT, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr

    @contextmanager
    def serve(self) -> Iterator["Live"]:
        """Run the webserver and the daemon."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        command = [PROGRAM, "ui", "--suite", str(self.suite), "--port", str(port)]
        log = (self.folder / "server.log").open("w")
        server = subprocess.Popen(
            command,
            cwd=PROJECT,
            env=self.environment,
            start_new_session=True,
            stdout=log,
            stderr=log,
        )
        try:
            until(self.answers)
            yield self
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait(timeout=60)
            log.close()

    def answers(self) -> bool:
        """Whether the webserver is there."""
        try:
            urllib.request.urlopen(f"{self.url}/server_info", timeout=5).read()
        except OSError:
            return False
        return True

    def ask(self, query: str, **variables: Any) -> Any:
        """Return the one thing that a GraphQL query asks for."""
        body = json.dumps({"query": query, "variables": variables}).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/graphql", body, headers)
        answer = json.loads(urllib.request.urlopen(request, timeout=120).read())
        assert "errors" not in answer, answer
        (value,) = answer["data"].values()
        return value

    def runs(self) -> list[dict[str, Any]]:
        """Return all runs, the latest first."""
        return self.ask(RUNS % RUN_FIELDS)["results"]

    def backfills(self) -> list[dict[str, Any]]:
        """Return all backfills, the latest first."""
        return self.ask(BACKFILLS)["results"]

    def made(self, asset: str) -> list[tuple[str | None, str]]:
        """Return (partition, run) of the materializations of an asset."""
        found = self.ask(MADE, key={"path": [asset]})["assetMaterializations"]
        return [(one["partition"], one["runId"]) for one in found]

    def launch(self, job: str, partition: str) -> None:
        """Run a job on a partition, as its page does, and wait until it is over."""
        params = {
            "selector": {
                "repositoryLocationName": LOCATION,
                "repositoryName": REPOSITORY,
                "pipelineName": job,
            },
            "runConfigData": "{}",
            "executionMetadata": {"tags": [{"key": "dagster/partition", "value": partition}]},
        }
        launched = self.ask(LAUNCH, params=params)
        assert launched["__typename"] == "LaunchRunSuccess", launched
        name = launched["run"]["runId"]
        until(lambda: self.status(name) in OVER)
        assert self.status(name) == "SUCCESS"

    def status(self, run: str) -> str:
        """Return the status of a run."""
        return next(one["status"] for one in self.runs() if one["runId"] == run)

    def reload(self) -> None:
        """Load the code location anew, as its button does."""
        assert self.ask(RELOAD, name=LOCATION)["__typename"] == "WorkspaceLocationEntry"

    def settle(self) -> None:
        """Wait until nothing runs or is about to, and ticks of the automation asked for nothing."""
        quiet_since, known = time.time(), -1

        def still() -> bool:
            nonlocal quiet_since, known
            runs = self.runs()
            busy = any(run["status"] not in OVER for run in runs)
            # Its later runs start when the daemon looks again, which is every 30 s.
            filling = any(one["status"] == "REQUESTED" for one in self.backfills())
            if busy or filling or len(runs) != known:
                quiet_since, known = time.time(), len(runs)
                return False
            return sum(tick > quiet_since for tick in self.quiet_ticks()) >= QUIET_TICKS

        until(still)

    def quiet_ticks(self) -> list[float]:
        """Return the starts of the automation's latest ticks that ended and asked for nothing."""
        selector = {
            "repositoryLocationName": LOCATION,
            "repositoryName": REPOSITORY,
            "sensorName": "automation",
        }
        ticks = self.ask(TICKS, selector=selector)["sensorState"]["ticks"]
        return [tick["timestamp"] for tick in ticks if tick["status"] == "SKIPPED"]

    def artifact(self, asset: str, partition: str = "all") -> Artifact:
        """Return the current artifact of a partition."""
        found = Store(self.folder / "store", "live").current(asset, partition)
        assert found is not None
        return found


def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.5)
