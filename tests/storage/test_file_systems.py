import uuid

import numpy as np
import pytest
from storage_samples import calls, make, pixels, rows
from upath import UPath

from bindbench.errors import UserError
from bindbench.storage.store import Store


@pytest.fixture
def memory():
    root = UPath(f"memory://{uuid.uuid4().hex}/store")
    yield root
    if root.parent.exists():
        root.fs.rm(root.parent.path, recursive=True)


def test_a_store_in_memory(memory, tmp_path):
    log = tmp_path / "log"
    store = Store(memory, "suite")
    store.check_writable()
    assert store.current("images", "color-n2") is None
    local = make(tmp_path / "store", 3)
    artifact = make(memory, 3, log=log)
    assert artifact.shards == local.shards
    assert artifact.manifest_path.read_bytes() == local.manifest_path.read_bytes()
    assert store.current("images", "color-n2") == artifact
    assert artifact.read().to_pylist() == rows(0) + rows(1) + rows(2)
    assert artifact.read_shard(1, ["caption"]).column_names == ["caption"]
    make(memory, 4, log=log)
    assert calls(log) == [0, 1, 2, 3]
    part = artifact.path / "part-00001.parquet"
    part.write_bytes(part.read_bytes()[:-1])
    with pytest.raises(UserError, match=r"part-00001.parquet has .* --repair"):
        make(memory, 3, log=log)
    make(memory, 3, log=log, repair=True).verify()
    assert calls(log) == [0, 1, 2, 3, 1]


def test_memory_cannot_be_shared_with_worker_processes(memory):
    with pytest.raises(UserError, match="exists in one process only, but the engine has workers=2"):
        make(memory, 2, workers=2)


def test_a_relative_root_and_a_file_url_mean_the_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    artifact = make("store", 1, workers=2)
    assert str(artifact.path).startswith(str(tmp_path / "store" / "suite"))
    assert make(f"file://{tmp_path}/store", 1) == artifact
    assert make(str(tmp_path / "store"), 1) == artifact


def test_a_root_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    root = tmp_path / "file" / "store"
    with pytest.raises(
        UserError, match=rf"The store {root}/suite can't be written \(NotADirectory"
    ):
        Store(root, "suite").check_writable()
    log = tmp_path / "log"
    with pytest.raises(UserError, match="can't be written"):
        make(root, 2, log=log)
    assert calls(log) == []


def test_check_writable_leaves_nothing(tmp_path):
    Store(tmp_path / "store", "suite").check_writable()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_an_unknown_protocol():
    with pytest.raises(UserError, match="'foo://bucket/x' is not a path that can be used"):
        Store("foo://bucket/x", "suite")


def test_datasets_opens_the_folder_as_it_is(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    datasets = pytest.importorskip("datasets")
    artifact = make(tmp_path / "store", 3)
    opened = datasets.load_dataset(
        "parquet", data_dir=str(artifact.path), cache_dir=str(tmp_path / "cache"), split="train"
    )
    assert isinstance(opened.features["image"], datasets.Image)
    assert opened["index"][:] == list(range(9))
    for row in opened:
        assert np.array_equal(np.asarray(row["image"]), pixels(row["index"]))
        assert row["caption"] == f"caption {row['index']}"
