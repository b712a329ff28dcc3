"""The store on an S3 server, straight and behind a proxy that fails."""

import json
import logging
import os
from functools import partial

import fsspec
import pytest
from s3_server import BUCKET, FAULTS, Faults, client, environment, objects, proxy, s3_server
from storage_samples import calls, make, rows

from bindbench.errors import UserError
from bindbench.storage import retries
from bindbench.storage.cleanup import delete, waste
from bindbench.storage.inventory import damages, survey
from bindbench.storage.store import Store
from bindbench.storage.timings import timings


@pytest.fixture(scope="module")
def server():
    with s3_server() as endpoint:
        yield endpoint


@pytest.fixture
def reach(monkeypatch):
    """Makes this process and its children reach an endpoint."""

    def set_endpoint(endpoint):
        found = environment(endpoint)
        for name, value in found.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setitem(fsspec.config.conf, "s3", json.loads(found["FSSPEC_S3"]))

    monkeypatch.setattr(retries, "WAITS", (0.01,) * 5)
    return set_endpoint


@pytest.fixture
def prefix(request):
    return f"{request.node.name}".replace("[", "-").replace("]", "").replace(" ", "-")


@pytest.fixture
def failing(server, reach):
    """A proxy that this process goes through, and its faults."""
    faults = Faults()
    with proxy(server, faults) as endpoint:
        reach(endpoint)
        yield faults


def data_of(found):
    """Leave out what no comparison reads: times and hosts, and what a killed process left."""
    return {
        name: data
        for name, data in found.items()
        if not name.endswith(".run.json") and "/.tmp/" not in f"/{name}"
    }


def test_a_store_on_s3_is_that_of_a_folder(server, reach, prefix, tmp_path):
    reach(server)
    root, log = f"s3://{BUCKET}/{prefix}", tmp_path / "log"
    store = Store(root, "suite")
    assert store.current("images", "color-n2") is None
    with pytest.raises(UserError, match="There is no artifact"):
        store.open("images", "color-n2", "abc")
    local = make(tmp_path / "store", 3)
    artifact = make(root, 3, log=log)
    found = objects(server, prefix)
    folder = tmp_path / "store"
    kept = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert data_of(found) == data_of(kept)
    assert found.keys() == kept.keys()
    assert store.current("images", "color-n2") == artifact
    assert artifact.shards == local.shards
    assert artifact.read().to_pylist() == rows(0) + rows(1) + rows(2)
    assert artifact.read_shard(1, ["seed", "caption"]).column_names == ["seed", "caption"]
    make(root, 4, log=log).verify()
    assert calls(log).count(3) == 1 and len(calls(log)) == 4
    assert [timing.computed for timing in timings(root)] in ([3, 1], [1, 3])


def test_damage_on_s3_is_found_and_repaired(server, reach, prefix, tmp_path):
    reach(server)
    root, log = f"s3://{BUCKET}/{prefix}", tmp_path / "log"
    artifact = make(root, 3, log=log)
    name = str(artifact.path / "part-00001.parquet").removeprefix("s3://")
    data = client(server).cat_file(name)
    client(server).pipe_file(name, data[:-1])
    with pytest.raises(UserError, match=r"part-00001.parquet has .* --repair"):
        make(root, 3, log=log)
    make(root, 3, log=log, repair=True).verify()
    assert calls(log) == [0, 1, 2, 1]
    client(server).rm_file(name)
    with pytest.raises(UserError, match=r"part-00001.parquet is missing"):
        artifact.verify_sizes()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_each_kind_passes(failing, server, prefix, tmp_path, fault):
    """The first requests of every build fail once; the content is that of a quiet build."""
    failing.planned = [fault] * 2
    artifact = make(f"s3://{BUCKET}/{prefix}", 2)
    assert failing.done == {fault: 2}
    quiet = make(tmp_path, 2)
    assert artifact.shards == quiet.shards
    assert artifact.read().to_pylist() == rows(0) + rows(1)
    failing.planned = ["short download", "500", "reset"]
    assert artifact.read_shard(1, ["seed"]).to_pydict() == {"seed": [9, 16, 25]}
    assert failing.planned == []


@pytest.mark.parametrize("fault", ["500", "503"])
def test_what_does_not_pass_is_one_sentence(failing, prefix, tmp_path, fault):
    artifact, log = make(f"s3://{BUCKET}/{prefix}", 2), tmp_path / "log"
    failing.always = fault
    with pytest.raises(UserError, match="tried 6 times: the storage fails or is out of") as caught:
        artifact.read()
    assert str(caught.value).startswith(f"Can't read {artifact.path}/part-00000.parquet (")
    with pytest.raises(UserError, match="tried 6 times"):
        artifact.read_shard(0, ["seed"])  # not taken for damage
    with pytest.raises(UserError, match="tried 6 times"):
        make(f"s3://{BUCKET}/{prefix}", 2, log=log)  # not taken for missing
    assert calls(log) == []
    failing.always = ""
    assert make(f"s3://{BUCKET}/{prefix}", 2, log=log) == artifact
    assert calls(log) == []


def test_housekeeping_on_s3(server, reach, prefix, tmp_path):
    reach(server)
    root = f"s3://{BUCKET}/{prefix}"
    old, new = make(root, 2), make(root, 2, settings={"seed": 2}, salt="s2-")
    assert list(waste(survey(root), 24)) == []  # just written
    (found,) = waste(survey(root), 0)
    assert (found.what, found.fingerprint) == ("replaced", old.fingerprint)
    part = str(old.path / "part-00000.parquet").removeprefix("s3://")
    client(server).pipe_file(part, b"PAR1")
    (line,) = damages(survey(root))
    assert "part-00000.parquet has 4 bytes" in line
    assert delete(found, 0)
    assert list(damages(survey(root))) == []
    alone = make(tmp_path, 2, settings={"seed": 2}, salt="s2-")
    kept = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")}
    assert objects(server, prefix).keys() == {n for n in kept if (tmp_path / n).is_file()}
    assert alone.shards == new.shards


def test_a_bucket_that_is_not_there(server, reach):
    reach(server)
    with pytest.raises(UserError, match=r"The store s3://elsewhere/x/suite can't be written"):
        make("s3://elsewhere/x", 1)


def test_refused_credentials_are_not_tried_again(monkeypatch, caplog):
    def refuse():
        raise PermissionError("Forbidden")

    with pytest.raises(UserError, match=r"Can't read it .*: give credentials"):
        retries.patiently(refuse, "read it")
    assert caplog.records == []


def test_tries_are_counted_and_told(monkeypatch, caplog):
    waited, answers = [], iter([TimeoutError("slow"), OSError("reset"), "data"])
    monkeypatch.setattr(retries.time, "sleep", waited.append)

    def ask():
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    with caplog.at_level(logging.WARNING, "bindbench"):
        assert retries.patiently(ask, "read it") == "data"
    assert 0.25 <= waited[0] <= 0.5 <= waited[1] <= 1.0
    assert [record.message for record in caplog.records] == [
        "Can't read it (TimeoutError: slow): trying again (2 of 6).",
        "Can't read it (OSError: reset): trying again (3 of 6).",
    ]


def test_large_files_go_up_in_parts_and_half_of_them_are_nothing(failing, prefix, monkeypatch):
    """An upload in parts that does not end leaves no file, whatever was sent."""
    from bindbench.storage.files import file_size, read_bytes, write_atomically

    path = Store(f"s3://{BUCKET}/{prefix}", "suite").path / "large"
    small_parts = partial(path.fs.pipe_file, chunksize=5 << 20)  # S3 allows no smaller ones
    monkeypatch.setattr(path.fs, "pipe_file", small_parts)
    data = os.urandom((10 << 20) + 1)
    failing.planned = ["reset", "lost answer", "short download"]
    write_atomically(path, data, path.parent)
    assert file_size(path) == len(data)
    assert read_bytes(path) == data
    assert failing.planned == []

    other = path.parent / "other"
    failing.always = "500"
    with pytest.raises(UserError, match="Can't write"):
        write_atomically(other, data, path.parent)
    failing.always = ""
    assert file_size(other) is None
