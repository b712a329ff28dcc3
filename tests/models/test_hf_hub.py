"""What is said where the hub has no model to give: from a server on this machine, and offline."""

import errno
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from bindbench.errors import UserError
from bindbench.models import hf_names
from bindbench.models.hf_options import HfOptions

COMMIT = "0123456789abcdef0123456789abcdef01234567"
CONFIG = json.dumps({"model_type": "llava"}).encode()
ANSWERS = {  # path -> status, error code
    "/org/gated/resolve/main/config.json": (403, "GatedRepo"),
    "/org/none/resolve/main/config.json": (404, "RepoNotFound"),
    "/org/here/resolve/none/config.json": (404, "RevisionNotFound"),
    "/org/bare/resolve/main/config.json": (404, "EntryNotFound"),
}
ASK = """
import json, sys
from bindbench.errors import UserError
from bindbench.models.registry import describe
from bindbench.suite import RoleSettings
role, options = sys.argv[1], json.loads(sys.argv[2])
for name in sys.argv[3:]:
    try:
        print(describe(role, RoleSettings(model=name, options=options))["commit"])
    except UserError as error:
        print(error)
"""


class Hub(BaseHTTPRequestHandler):
    def do_HEAD(self):
        self.answer(b"")

    def do_GET(self):
        self.answer(CONFIG)

    def answer(self, body: bytes) -> None:
        status, code = ANSWERS.get(self.path, (200, ""))
        self.send_response(status)
        if code:
            self.send_header("X-Error-Code", code)
            self.send_header("X-Error-Message", code)
        else:
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("ETag", '"1"')
        self.send_header("Content-Length", str(0 if code else len(CONFIG)))
        self.end_headers()
        self.wfile.write(b"" if code else body)

    def log_message(self, format, *args):
        pass


@pytest.fixture(scope="module")
def hub() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def ask(
    names: list[str], role: str = "scorer", options: dict | None = None, **environment: str
) -> list[str]:
    """Return what a new process says, since the hub's client reads its settings on import."""
    command = [sys.executable, "-c", ASK, role, json.dumps(options or {}), *names]
    found = subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, check=True
    )
    return found.stdout.splitlines()


def test_what_a_hub_refuses_is_one_sentence_each(hub, tmp_path):
    names = ["hf:org/gated", "hf:org/none", "hf:org/here@none", "hf:org/bare", "hf:org/here@v1"]
    lines = ask(names, HF_ENDPOINT=hub, HF_HOME=str(tmp_path), HF_HUB_OFFLINE="0")
    assert lines[0].startswith("hf:org/gated: this model is gated: accept its terms")
    assert lines[1].startswith("hf:org/none: the hub has no such model, or it is private")
    assert lines[2].startswith("hf:org/here@none: there is no such revision")
    assert lines[3].startswith("hf:org/bare: the model has no config.json")
    assert lines[4] == COMMIT  # what v1 stands for goes into the fingerprint
    # Afterwards the same model is known without a network, and others are not.
    lines = ask(["hf:org/here@v1", "hf:org/other"], HF_HOME=str(tmp_path), HF_HUB_OFFLINE="1")
    assert lines[0] == COMMIT
    assert lines[1].startswith("hf:org/other: this model is not in the cache and the hub can't be")


def test_a_full_disk_is_one_sentence(monkeypatch):
    import huggingface_hub

    def full(*args, **how):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", full)
    with pytest.raises(UserError, match=r"hf:org/full: the disk is full: free space .* HF_HOME"):
        hf_names.find_source("org/full", "", HfOptions())
