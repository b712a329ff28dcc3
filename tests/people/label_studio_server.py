"""A real Label Studio on loopback, in an environment of its own: its packages are not ours."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

VERSION = "1.23.2"
TOKEN = "0123456789abcdef0123456789abcdef01234567"
READY = 300  # seconds


def install(folder: Path) -> Path:
    """Install Label Studio into an environment in the folder and return its command."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    package = f"label-studio=={VERSION}"
    subprocess.run([folder / "bin/pip", "install", "-q", package], check=True)
    return folder / "bin/label-studio"


class Server:
    """The running server."""

    def __init__(self, address: str) -> None:
        self._address = address

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Call the API and return its JSON."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Token {TOKEN}", "Content-Type": "application/json"}
        request = urllib.request.Request(self._address + path, data, headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)


@contextmanager
def running(command: Path, folder: Path) -> Iterator[Server]:
    """Start the server with its data in a folder; it ends with the context."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    user = ("--username", "a@example.org", "--password", "secret-1", "--user-token", TOKEN)
    place = ("--internal-host", "127.0.0.1", "--port", str(port), "--data-dir", str(folder))
    quiet = {"COLLECT_ANALYTICS": "false", "SENTRY_DSN": "", "FRONTEND_SENTRY_DSN": ""}
    started = subprocess.Popen(
        [command, "start", "--no-browser", "--init", "--enable-legacy-api-token", *user, *place],
        env=os.environ | quiet,
        stdout=(folder / "log").open("w"),
        stderr=subprocess.STDOUT,
    )
    server = Server(f"http://127.0.0.1:{port}")
    try:
        _wait(server, started, folder / "log")
        yield server
    finally:
        started.terminate()
        started.wait(30)


def _wait(server: Server, started: subprocess.Popen, log: Path) -> None:
    end = time.monotonic() + READY
    while True:
        try:
            server.call("GET", "/api/projects")
            return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            assert started.poll() is None and time.monotonic() < end, log.read_text()[-3000:]
            time.sleep(1)
