"""``bindbench store ls|verify|gc`` on a folder."""

import json

import pyarrow as pa
import pytest
from command_line import call

from bindbench.engine.local import LocalEngine
from bindbench.storage.datasets import Shard, build
from bindbench.storage.store import Store

SCHEMA = pa.schema([("x", pa.int64())])


def make(root, seed):
    return build(
        Store(root, "suite"),
        "numbers",
        "color-n2",
        schema=SCHEMA,
        settings={"seed": seed},
        shards=[Shard(f"{seed}-{i}", i) for i in range(2)],
        function=lambda i: pa.table({"x": [i, seed]}, schema=SCHEMA),
        engine=LocalEngine(),
    )


@pytest.fixture
def built(tmp_path, monkeypatch):
    monkeypatch.setenv("BINDBENCH_STORE", str(tmp_path))
    return make(tmp_path, 1), make(tmp_path, 2)


def test_ls(built, monkeypatch, capsys):
    old, new = built
    assert call(monkeypatch, "store", "ls", "--json") == 0
    rows = {row["fingerprint"]: row for row in json.loads(capsys.readouterr().out)}
    assert (rows[old.fingerprint]["state"], rows[new.fingerprint]["state"]) == (
        "replaced",
        "current",
    )
    assert rows[new.fingerprint]["rows"] == 4
    files = [*new.path.iterdir(), new.manifest_path, new.run_path]
    files += (new.path.parent / ".shards").rglob(f"{new.fingerprint}*")
    assert rows[new.fingerprint]["bytes"] == sum(path.stat().st_size for path in files)
    assert 0 <= rows[new.fingerprint]["hours"] < 1
    assert call(monkeypatch, "store", "ls") == 0
    out = capsys.readouterr().out
    assert all(word in out for word in (old.fingerprint, new.fingerprint, "1 current, 1 replaced"))
    assert call(monkeypatch, "store", "ls", "--suite", "other") == 2
    assert "holds nothing of a suite 'other'" in capsys.readouterr().err


def test_verify(built, monkeypatch, capsys):
    old, new = built
    assert call(monkeypatch, "store", "verify") == 0
    assert capsys.readouterr().out == "Nothing is damaged.\n"
    for artifact in built:
        (artifact.path / "part-00001.parquet").write_bytes(b"PAR1")
    assert call(monkeypatch, "store", "verify") == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert all("part-00001.parquet has 4 bytes instead of" in line for line in lines)
    assert {old.fingerprint, new.fingerprint} == {line.split("/")[-2] for line in lines}


def test_gc_says_first_and_deletes_when_asked(built, monkeypatch, capsys):
    old, new = built
    assert call(monkeypatch, "store", "gc", "--delete") == 0
    out = capsys.readouterr().out
    assert "1 partitions changed in the last 24 hours and are left alone" in out
    assert call(monkeypatch, "store", "gc", "--hours", "0") == 0
    out = capsys.readouterr().out
    assert f"suite/numbers/color-n2 {old.fingerprint}: replaced, 6 files" in out
    assert "would be deleted: give --delete to do it." in out
    old.verify()
    assert call(monkeypatch, "store", "gc", "--hours", "0", "--delete", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [(row["fingerprint"], row["kept"]) for row in found["waste"]] == [
        (old.fingerprint, False)
    ]
    assert not old.path.exists() and not old.manifest_path.exists()
    new.verify()
    assert call(monkeypatch, "store", "gc", "--hours", "0", "--delete") == 0
    assert capsys.readouterr().out == "0 B deleted.\n"


def test_a_store_that_is_not_there_is_not_intact(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").touch()
    for path in (tmp_path / "none", tmp_path / "file"):
        assert call(monkeypatch, "store", "verify", "--store", str(path)) == 2
        assert f"There is no store {path}: give the folder" in capsys.readouterr().err
