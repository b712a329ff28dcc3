"""A stand-in of the hub's HTTP API on this machine: listings, models, collections."""

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

PAGE = 2  # models in one answer; the next one is linked


@dataclass
class HubModel:
    """A repository."""

    name: str
    commit: str
    changed: str  # as 2026-01-02T03:04:05.000Z
    task: str = "image-text-to-text"
    library: str = "transformers"

    def json(self) -> dict[str, Any]:
        return {
            "_id": self.name,
            "id": self.name,
            "modelId": self.name,
            "sha": self.commit,
            "lastModified": self.changed,
            "tags": [self.library, self.task],
            "private": False,
            "siblings": [],
        }


@dataclass
class HubServer:
    """Serves what its lists hold, from ``with`` on."""

    models: list[HubModel] = field(default_factory=list)
    collections: dict[str, list[str]] = field(default_factory=dict)
    down: bool = False
    asked: list[str] = field(default_factory=list)

    def __enter__(self) -> "HubServer":
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                hub.asked.append(self.path)
                status, body, headers = hub.answer(self.path)
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        return self

    def __exit__(self, *_: object) -> None:
        self.http.shutdown()
        self.http.server_close()

    def answer(self, path: str) -> tuple[int, Any, dict[str, str]]:
        parts = urlsplit(path)
        if self.down:
            return 500, {"error": "down"}, {}
        if parts.path == "/api/models":
            return self._listing(path, parse_qs(parts.query))
        if parts.path.startswith("/api/collections/"):
            return self._collection(parts.path.removeprefix("/api/collections/"))
        name, _, revision = parts.path.removeprefix("/api/models/").partition("/revision/")
        for model in self.models:
            if model.name == name:
                if revision not in ("", "main", model.commit):
                    return 404, {}, {"X-Error-Code": "RevisionNotFound"}
                return 200, model.json(), {}
        return 404, {}, {"X-Error-Code": "RepoNotFound"}

    def _listing(self, path: str, query: dict[str, list[str]]) -> tuple[int, Any, dict[str, str]]:
        assert query["sort"] == ["lastModified"]
        tags = {*query.get("filter", []), *query.get("pipeline_tag", [])}
        found = [
            model.json()
            for model in sorted(self.models, key=lambda m: m.changed, reverse=True)
            if tags <= {model.library, model.task}
            and model.name.startswith(query.get("author", [""])[0])
            and query.get("search", [""])[0].lower() in model.name.lower()
        ]
        start = int(query.get("start", ["0"])[0])
        headers = {}
        if start + PAGE < len(found):
            base = path.split("&start=")[0]
            headers["Link"] = f'<{self.url}{base}&start={start + PAGE}>; rel="next"'
        return 200, found[start : start + PAGE], headers

    def _collection(self, slug: str) -> tuple[int, Any, dict[str, str]]:
        if slug not in self.collections:
            return 404, {}, {"X-Error-Code": "RepoNotFound"}
        items = [
            {"_id": name, "id": name, "type": "model", "position": i, "repoType": "model"}
            for i, name in enumerate(self.collections[slug])
        ]
        items.append({"_id": "p", "id": "2501.00001", "type": "paper", "position": 99})
        body = {
            "slug": slug,
            "title": "t",
            "owner": {"name": "o"},
            "items": items,
            "lastUpdated": "2026-01-01T00:00:00.000Z",
            "position": 0,
            "private": False,
            "theme": "blue",
            "upvotes": 0,
        }
        return 200, body, {}
