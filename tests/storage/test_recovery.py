"""The recipes of docs/storage.md, "How to recover", each as it is written there."""

import json
import shutil

import pytest
from storage_samples import calls, folder_bytes, make

from bindbench.errors import UserError
from bindbench.storage.inventory import damages, survey
from bindbench.storage.store import Store


@pytest.fixture
def root(tmp_path):
    return tmp_path / "store"


@pytest.fixture
def artifact(root):
    return make(root, 3)


@pytest.fixture
def log(tmp_path):
    return tmp_path / "log"


def test_repair_computes_the_damaged_shards_alone(root, artifact, log):
    intact = folder_bytes(artifact)
    (artifact.path / "part-00000.parquet").write_bytes(b"PAR1")
    (artifact.path / "part-00002.parquet").unlink()
    artifact.manifest_path.write_text("{")
    with pytest.raises(UserError, match="--repair"):
        make(root, 3, log=log)
    assert make(root, 3, log=log, repair=True) == artifact
    assert folder_bytes(artifact) == intact
    assert calls(log) == [0, 2]
    assert list(damages(survey(root))) == []


def test_what_can_no_longer_be_repaired_is_removed_and_built_anew(root, artifact, log):
    """Here the code gives another caption than it did."""
    (artifact.path / "part-00001.parquet").write_bytes(b"PAR1")
    with pytest.raises(UserError, match="can't be repaired"):
        make(root, 3, repair=True, change=" of today")
    assert json.loads(artifact.run_path.read_text())["packages"]["pyarrow"]
    shutil.rmtree(artifact.path)
    artifact.manifest_path.unlink()
    make(root, 3, log=log, change=" of today").verify()
    assert calls(log) == [0, 1, 2]


def test_a_pointer_to_what_is_gone_is_removed(root, artifact, log):
    shutil.rmtree(artifact.path)
    artifact.manifest_path.unlink()
    store = Store(root, "suite")
    with pytest.raises(UserError, match="There is no artifact"):
        store.current("images", "color-n2")
    (artifact.path.parent / "current").unlink()
    assert store.current("images", "color-n2") is None
    assert make(root, 3, log=log) == artifact
    assert store.current("images", "color-n2") == artifact


def test_a_lost_file_comes_back_from_a_backup(root, artifact, tmp_path):
    backup = shutil.copytree(root, tmp_path / "backup")
    lost = artifact.path / "part-00001.parquet"
    lost.unlink()
    assert len(list(damages(survey(root)))) == 1
    shutil.copy(backup / lost.relative_to(root), lost)
    assert list(damages(survey(root))) == []


def test_a_lost_store_comes_back_from_a_backup_that_was_taken_during_a_run(root, tmp_path, log):
    """The shards of the second half were not there yet, nor was the manifest."""
    artifact = make(root, 4)
    backup = shutil.copytree(root, tmp_path / "backup")
    half = backup / artifact.path.relative_to(root)
    (half / "part-00002.parquet").unlink()
    (half / "part-00003.parquet").unlink()
    half.with_name(f"{half.name}.json").unlink()
    (half.parent / "current").unlink()
    intact = folder_bytes(artifact)
    shutil.rmtree(root)
    shutil.copytree(backup, root)
    assert make(root, 4, log=log) == artifact
    assert calls(log) == [2, 3]
    assert folder_bytes(artifact) == intact


def test_without_a_backup_the_same_suite_gives_the_same_bytes(root, artifact):
    intact, manifest = folder_bytes(artifact), artifact.manifest_path.read_bytes()
    shutil.rmtree(root)
    assert folder_bytes(make(root, 3)) == intact
    assert artifact.manifest_path.read_bytes() == manifest
