"""A loopback OpenAI-compatible server that answers as a script says, and counts what it is asked.

A script is a function from a request to a reply: it may look at what is asked (``prompt``,
``image``), at how many requests came before (``number``) and at how often the same one came
(``times``). ``first`` puts failures in front of answers.
"""

import base64
import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "stand-in"


@dataclass(frozen=True)
class Asked:
    """A request that the server got."""

    number: int  # from 0, in the order of arrival
    times: int  # from 1: how often this same body has come
    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def prompt(self) -> str:
        """What the user says, without the image."""
        content = self.body["messages"][0]["content"]
        if isinstance(content, str):
            return content
        return "".join(part["text"] for part in content if part["type"] == "text")

    @property
    def image(self) -> bytes | None:
        """The bytes of the image, if there is one."""
        content = self.body["messages"][0]["content"]
        urls = [p["image_url"]["url"] for p in content if isinstance(p, dict) and "image_url" in p]
        return base64.b64decode(urls[0].partition(",")[2]) if urls else None

    @property
    def options(self) -> dict[str, str]:
        """The options of a choice, by label."""
        lines = [line.partition(". ") for line in self.prompt.splitlines()[1:-1]]
        return {label: text for label, _, text in lines}


@dataclass(frozen=True)
class Reply:
    """What the server does."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0  # seconds before anything is sent
    pause: float = 0.0  # seconds after each byte: the response trickles
    drop: bool = False  # the connection is closed without a response


Script = Callable[[Asked], Reply]


def answer(text: str | None, finish: str = "stop", delay: float = 0.0, **more: Any) -> Reply:
    """A chat completion of 10 tokens of input and 2 of output; ``more`` is put into its choice."""
    message = {"role": "assistant", "content": text}
    return completion({"index": 0, "message": message, "finish_reason": finish} | more, delay=delay)


def completion(choice: dict[str, Any], delay: float = 0.0, **more: Any) -> Reply:
    body = {
        "object": "chat.completion",
        "model": f"{MODEL}-2026",
        "choices": [choice],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
    }
    return Reply(body=json.dumps(body | more).encode(), delay=delay)


def error(status: int, message: str = "no", retry_after: str | None = None) -> Reply:
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return Reply(status, json.dumps({"error": {"message": message}}).encode(), headers)


MALFORMED = Reply(body=b'{"choices": [{"mess')
EMPTY = answer("")
DROPPED = Reply(drop=True)
HANG = Reply(delay=3600.0)
TRICKLE = Reply(body=b" " * 3600, pause=0.05)


def always(reply: Reply) -> Script:
    return lambda asked: reply


def first(failures: list[Reply], then: Script) -> Script:
    """Answer the first tries of every request with these failures."""
    return lambda asked: failures[asked.times - 1] if asked.times <= len(failures) else then(asked)


class ApiServer:
    """A server on a free port of 127.0.0.1, from ``with`` on.

    Its script may be replaced while it runs. It refuses nothing and authorises everything.
    """

    def __init__(self, script: Script):
        self.script = script
        self.asked: list[Asked] = []
        self.most_at_once = 0
        self._at_once = 0
        self._times: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._closing = threading.Event()

    @property
    def url(self) -> str:
        host, port = self._http.server_address[:2]
        return f"http://{host}:{port}/v1"

    @property
    def name(self) -> str:
        """The model's name in a suite."""
        return f"api:{self.url}#{MODEL}"

    @property
    def count(self) -> int:
        """How many requests came."""
        return len(self.asked)

    def __enter__(self) -> "ApiServer":
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # else each response waits 40 ms for its second part

            def do_POST(self) -> None:
                server._serve(self)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def _serve(self, handler: BaseHTTPRequestHandler) -> None:
        data = handler.rfile.read(int(handler.headers["Content-Length"]))
        key = data.decode()
        with self._lock:
            self._times[key] += 1
            times = self._times[key]
            asked = Asked(self.count, times, handler.path, dict(handler.headers), json.loads(data))
            self.asked.append(asked)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            self._reply(handler, self.script(asked))
        except OSError:
            handler.close_connection = True  # the client did not wait
        finally:
            with self._lock:
                self._at_once -= 1

    def _reply(self, handler: BaseHTTPRequestHandler, reply: Reply) -> None:
        if self._closing.wait(reply.delay) or reply.drop:
            handler.close_connection = True
            return
        handler.send_response(reply.status)
        handler.send_header("Content-Length", str(len(reply.body)))
        for name, value in reply.headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        if not reply.pause:
            handler.wfile.write(reply.body)
            return
        for byte in reply.body:
            handler.wfile.write(bytes([byte]))
            handler.wfile.flush()
            time.sleep(reply.pause)
            if self._closing.is_set():
                return
