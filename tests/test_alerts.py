"""Alerts against a server on this machine: what arrives, and what is said when nothing does."""

import json
import logging
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from bindbench import alerts
from bindbench.errors import UserError

SECRET = "services/T000/B000/very-secret"


class Webhook:
    """A webhook that answers with these statuses in turn, then with 200; None: it never does."""

    def __init__(self):
        self.statuses: list[int | None] = []
        self.received: list[dict] = []
        self.closing = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.received.append(json.loads(body))
                assert self.headers["Content-Type"] == "application/json"
                status = outer.statuses.pop(0) if outer.statuses else 200
                if status is None:
                    outer.closing.wait(60)
                    return
                self.send_response(status)
                self.send_header("Location", "http://127.0.0.1:9/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format, *args):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.http.server_port}/{SECRET}"

    def close(self):
        self.closing.set()
        self.http.shutdown()
        self.http.server_close()


@pytest.fixture
def hook(monkeypatch):
    server = Webhook()
    monkeypatch.setenv(alerts.VARIABLE, server.url)
    monkeypatch.setattr(alerts, "PAUSE", 0.0)
    yield server
    server.close()


def test_the_payload_is_slacks(hook):
    alerts.send(
        alerts.message("model_scores of color-n2|x failed", ["Check a: 1 < 2 & <!channel>"])
    )
    assert hook.received == [
        {"text": "*model_scores of color-n2|x failed*\nCheck a: 1 &lt; 2 &amp; &lt;!channel&gt;"}
    ]


def test_a_long_message_is_cut():
    assert len(alerts.message("t", ["x" * 9000])["text"]) == alerts.MOST


def test_nothing_is_sent_without_a_webhook(hook, monkeypatch):
    monkeypatch.delenv(alerts.VARIABLE)
    alerts.send({"text": "x"})
    assert hook.received == []


def test_a_failure_that_passes_is_tried_again(hook):
    hook.statuses = [503]
    alerts.send({"text": "x"})
    assert len(hook.received) == 2


@pytest.mark.parametrize(("status", "why"), [(500, "answered 500"), (302, "answered 302")])
def test_what_is_not_taken_is_said_without_the_address(hook, status, why):
    hook.statuses = [status] * alerts.TRIES
    with pytest.raises(UserError, match=why) as caught:
        alerts.send({"text": "x"})
    assert SECRET not in str(caught.value)
    assert "127.0.0.1" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert len(hook.received) == alerts.TRIES


def test_a_server_that_hangs_is_given_up(hook, monkeypatch):
    monkeypatch.setattr(alerts, "TIMEOUT", 0.2)
    hook.statuses = [None] * alerts.TRIES
    with pytest.raises(UserError, match="TimeoutError") as caught:
        alerts.send({"text": "x"})
    assert SECRET not in str(caught.value)


def test_no_log_names_the_address(hook, caplog):
    caplog.set_level(logging.DEBUG)
    hook.statuses = [500]
    alerts.send({"text": "x"})
    assert len(hook.received) == 2
    assert SECRET not in caplog.text


@pytest.mark.parametrize("address", ["no address", "ftp:/x", "http://[", "http://a b/"])
def test_a_wrong_address(hook, monkeypatch, address):
    monkeypatch.setenv(alerts.VARIABLE, address)
    with pytest.raises(UserError, match="did not take an alert") as caught:
        alerts.send({"text": "x"})
    assert address not in str(caught.value)


def test_no_server(hook, monkeypatch):
    monkeypatch.setenv(alerts.VARIABLE, f"http://127.0.0.1:9/{SECRET}")
    with pytest.raises(UserError, match="ConnectionRefusedError") as caught:
        alerts.send({"text": "x"})
    assert SECRET not in str(caught.value)
