"""An S3 server on loopback, and a proxy before it that fails as a network and a server do."""

import http.client
import json
import logging
import random
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import fsspec
from moto.server import ThreadedMotoServer

BUCKET = "bench"
READ_SECONDS = 2.0  # the client's patience, in place of s3fs's 15 s
ANSWERS = {500: "InternalError", 503: "SlowDown"}
# Before the request reaches the server; after it; of both the bodies.
FAULTS = ("500", "503", "reset", "time-out", "lost answer", "short download", "short upload")
# What the client of a process reads from its environment.
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


def environment(endpoint: str) -> dict[str, str]:
    """Return the variables with which a process reaches the server."""
    options = {"endpoint_url": endpoint, "config_kwargs": {"read_timeout": READ_SECONDS}}
    return ENVIRONMENT | {"FSSPEC_S3": json.dumps(options)}


@contextmanager
def s3_server() -> Iterator[str]:
    """Give the endpoint of a server with an empty bucket."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # a line for each request
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    endpoint = "http://{}:{}".format(*server.get_host_and_port())
    try:
        # What earlier servers of this process held is moto's still.
        urllib.request.urlopen(
            urllib.request.Request(f"{endpoint}/moto-api/reset", method="POST")
        ).close()
        client(endpoint).mkdir(BUCKET)
        yield endpoint
    finally:
        server.stop()


def client(endpoint: str) -> fsspec.AbstractFileSystem:
    """Return a client that is not the store's own."""
    return fsspec.filesystem(
        "s3", key="test", secret="test", endpoint_url=endpoint, use_listings_cache=False
    )


def objects(endpoint: str, prefix: str) -> dict[str, bytes]:
    """Return all objects below a prefix, by their names from there on."""
    s3, root = client(endpoint), f"{BUCKET}/{prefix}/"
    return {name.removeprefix(root): s3.cat_file(name) for name in s3.find(root)}


@dataclass
class Faults:
    """Which requests fail, and how: drawn with a seed, or the next ones by name."""

    rate: float = 0.0
    seed: int = 0
    kinds: tuple[str, ...] = FAULTS
    planned: list[str] = field(default_factory=list)
    always: str = ""
    done: Counter = field(default_factory=Counter)

    def __post_init__(self):
        self._random, self._lock = random.Random(self.seed), threading.Lock()

    def draw(self, method: str, length: int) -> str:
        """Return the fault of a request, or an empty string."""
        with self._lock:
            fault = self.always
            if self.planned and fits(self.planned[0], method, length):
                fault = self.planned.pop(0)
            elif self._random.random() < self.rate:
                fault = self._random.choice(self.kinds)
            if not fits(fault, method, length):
                return ""
            if fault:
                self.done[fault] += 1
            return fault


def fits(fault: str, method: str, length: int) -> bool:
    """Whether a request can fail like that: only bodies can be cut off."""
    if fault == "short upload":
        return method == "PUT" and length > 1
    return fault != "short download" or method == "GET"


@contextmanager
def proxy(endpoint: str, faults: Faults) -> Iterator[str]:
    """Give the address of a proxy that passes requests on to ``endpoint``, or fails."""

    class Handler(_Handler):
        upstream = urlsplit(endpoint).netloc
        plan = faults

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # clients are killed in the middle of their requests
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    upstream = ""
    plan: Faults

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.plan.draw(self.command, len(body))
        if fault in ("500", "503"):
            self.answer(int(fault), {}, error(int(fault)))
        elif fault in ("reset", "time-out"):
            time.sleep(2 * READ_SECONDS if fault == "time-out" else 0)
            self.close_connection = True
        else:
            self.pass_on(body[: len(body) // 2] if fault == "short upload" else body, fault)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_any

    def pass_on(self, body, fault):
        headers = {k: v for k, v in self.headers.items() if k.lower() not in HOPS}
        connection = http.client.HTTPConnection(self.upstream, timeout=60)
        try:
            connection.request(self.command, self.path, body, headers)
            response = connection.getresponse()
            data = response.read()
        finally:
            connection.close()
        if fault == "lost answer":
            self.close_connection = True
            return
        kept = {k: v for k, v in response.getheaders() if k.lower() not in HOPS}
        if self.command == "HEAD":
            kept["Content-Length"] = response.getheader("Content-Length") or "0"
        cut = len(data) // 2 if fault == "short download" and data else None
        self.answer(response.status, kept, data, cut)

    def answer(self, status, headers, data, cut=None):
        """Send an answer; of the body only the first bytes if it is cut."""
        self.send_response_only(status)
        for name, value in ({"Content-Length": str(len(data))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data[:cut])
        self.close_connection = self.close_connection or cut is not None

    def log_message(self, format, *args):
        pass


HOPS = ("host", "content-length", "connection", "transfer-encoding", "expect", "keep-alive")


def error(status: int) -> bytes:
    """Return the body of a failure, as S3 words it."""
    return f"<Error><Code>{ANSWERS[status]}</Code><Message>as asked</Message></Error>".encode()
