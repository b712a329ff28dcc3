"""A whole suite on an S3 server behind a failing proxy is that of a folder, byte for byte."""

import json

import fsspec
import pytest
from s3_server import BUCKET, Faults, environment, objects, proxy, s3_server
from spine_driver import build_all
from stand_ins import cheap_context

from bindbench.pipeline import report
from bindbench.storage import retries
from bindbench.storage.files import file_size, write_atomically

pytestmark = pytest.mark.slow


def build(root) -> None:
    """Build every stage with stand-ins for the models, and export the report."""
    with cheap_context(root, benchmarks=["color-n2"]) as context:
        built = build_all(context)
        html = context.store.path / "html"
        old, other = html / "old.html", html / "other" / "page.html"
        for page in (old, other):
            write_atomically(page, b"a page", html / ".tmp")
        assert report.export(context, built["report/all"]) == str(html / "index.html")
        assert (file_size(old), file_size(other)) == (None, 6)


def test_a_suite_on_s3_equals_that_of_a_folder(tmp_path, monkeypatch):
    build(tmp_path)
    found = {
        path.relative_to(tmp_path).as_posix(): path.read_bytes()
        for path in tmp_path.rglob("*")
        if path.is_file()
    }
    faults = Faults(rate=0.03, seed=1, kinds=("500", "503", "reset", "short upload"))
    monkeypatch.setattr(retries, "WAITS", (0.01,) * 5)
    with s3_server() as server, proxy(server, faults) as endpoint:
        for name, value in environment(endpoint).items():
            monkeypatch.setenv(name, value)
        options = json.loads(environment(endpoint)["FSSPEC_S3"])
        monkeypatch.setitem(fsspec.config.conf, "s3", options)
        build(f"s3://{BUCKET}/store")
        remote = objects(server, "store")
    assert remote.keys() == found.keys()
    assert any(name.startswith("small/html/") for name in found)
    assert {n for n in found if found[n] != remote[n] and not n.endswith(".run.json")} == set()
    assert sum(faults.done.values()) > 5
