"""What a store holds, whether it is intact, and what a clean-up deletes."""

import json
import os
import shutil
import time

import pytest
from storage_samples import calls, folder_bytes, make

from bindbench.storage import cleanup
from bindbench.storage.cleanup import delete, waste
from bindbench.storage.inventory import damages, survey
from bindbench.storage.store import Store

DAY = 24 * 3600


def age(root, seconds=2 * DAY):
    """Make everything in a store older."""
    for path in root.rglob("*"):
        os.utime(path, (time.time() - seconds,) * 2)


@pytest.fixture
def root(tmp_path):
    """A partition with one current artifact, one that it replaced, and one unfinished."""
    root = tmp_path / "store"
    make(root, 2)
    make(root, 3, settings={"seed": 3}, salt="s3-").manifest_path.unlink()
    make(root, 4, settings={"seed": 2}, salt="s2-")
    age(root)
    return root


def gc(root, hours=24.0):
    return [delete(found, hours) for found in waste(survey(root), hours)]


def names(root):
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


def test_everything_is_listed_with_its_state(root):
    (partition,) = survey(root)
    assert partition.name == "suite/images/color-n2"
    states = {partition.state(held): held for held in partition.held.values()}
    assert set(states) == {"current", "replaced", "unfinished"}
    assert states["current"].artifact == Store(root, "suite").current("images", "color-n2")
    folder = partition.path
    for held in partition.held.values():
        every = {**held.files, **held.records}
        assert held.bytes == sum((folder / name).stat().st_size for name in every)
        assert time.time() - held.modified == pytest.approx(2 * DAY, abs=60)
    assert len(states["replaced"].files) == 2 + 2  # parts, manifest and run file
    assert len(states["unfinished"].files) == 3 + 1


def test_what_no_pointer_refers_to_goes_and_nothing_else(root):
    current = Store(root, "suite").current("images", "color-n2")
    kept = folder_bytes(current)
    page = root / "suite" / "html" / "index.html"
    page.parent.mkdir()
    page.write_text("a page")
    weights = root / "suite" / "finetuned" / "checkpoints" / "0123456789abcdef" / "model"
    weights.parent.mkdir(parents=True)
    weights.write_text("of a model")
    weights.parent.with_name("0123456789abcdef.json").write_text("{}")
    age(root)
    found = list(waste(survey(root), 24))
    assert sorted(item.what for item in found) == ["replaced", "unfinished"]
    sizes = sum((root / "suite/images/color-n2" / n).stat().st_size for w in found for n in w.files)
    assert sum(item.bytes for item in found) == sizes
    assert gc(root) == [True, True]
    fingerprint = current.fingerprint
    partition = root / "suite/images/color-n2"
    files = {fingerprint, f"{fingerprint}.json", f"{fingerprint}.run.json", "current"}
    assert {path.name for path in partition.iterdir()} == {".shards", ".tmp"} | files
    assert len(list((partition / ".shards").iterdir())) == 4  # no empty folders are left
    assert folder_bytes(current) == kept
    assert page.exists() and weights.exists()
    assert list(waste(survey(root), 24)) == []
    assert make(root, 4, settings={"seed": 2}, salt="s2-") == current


def test_a_partition_in_use_is_left_alone(root, tmp_path):
    make(root, 5, settings={"seed": 2}, salt="s2-", make_current=False)
    before = names(root)
    assert list(waste(survey(root), 24)) == []
    planned = list(waste(survey(root), 0))
    assert len(planned) == 3
    assert not any(delete(found, 24) for found in planned)  # it came into use meanwhile
    assert names(root) == before


def test_a_build_at_work_shows_itself(root):
    """A build that only reads what an old one left has written nothing else yet."""
    seen = []

    def summarize(artifact):
        seen.extend(waste(survey(root), 24))
        return {}

    make(root, 3, settings={"seed": 3}, salt="s3-", summarize=summarize, make_current=False)
    assert seen == []
    assert not list(root.rglob("build-*"))


def test_a_deletion_that_stops_leaves_a_consistent_store(root, monkeypatch):
    """After any number of removed files: the current one is intact, the other never finished."""
    planned = list(waste(survey(root), 24))
    total = sum(len(item.files) for item in planned)
    remove, copy = cleanup.remove, root.with_name("copy")
    for stop in range(total):
        shutil.copytree(root, copy)
        age(copy)
        left = [stop]

        def stopping(path, left=left):
            if left[0] == 0:
                raise KeyboardInterrupt
            left[0] -= 1
            remove(path)

        monkeypatch.setattr(cleanup, "remove", stopping)
        with pytest.raises(KeyboardInterrupt):
            gc(copy)
        monkeypatch.setattr(cleanup, "remove", remove)
        partitions = survey(copy)
        assert list(damages(partitions)) == []
        Store(copy, "suite").current("images", "color-n2").verify()
        assert all(gc(copy))
        assert sum(len(p.held) for p in survey(copy)) == 1
        shutil.rmtree(copy)


def test_what_becomes_current_while_it_is_deleted_stays(root, monkeypatch):
    store, first = Store(root, "suite"), make(root.parent / "other", 2)
    (old,) = [item for item in waste(survey(root), 24) if item.what == "replaced"]
    remove = cleanup.remove

    def remove_late(path):
        """The other run reads the manifest, then it is removed, then that run moves the pointer."""
        remove(path)
        if path.name == f"{first.fingerprint}.json":
            (path.parent / "current").write_text(f"{first.fingerprint}\n")

    monkeypatch.setattr(cleanup, "remove", remove_late)
    assert not delete(old, 24)
    assert store.current("images", "color-n2").fingerprint == first.fingerprint
    store.current("images", "color-n2").verify()


def test_a_build_makes_again_what_was_deleted_before_it_was_current(root, tmp_path, monkeypatch):
    log = tmp_path / "log"
    set_current = Store.set_current

    def delete_first(self, artifact, before):
        artifact.manifest_path.unlink(missing_ok=True)
        monkeypatch.undo()
        return set_current(self, artifact, before)

    monkeypatch.setattr(Store, "set_current", delete_first)
    artifact = make(root, 2, log=log)
    assert Store(root, "suite").current("images", "color-n2") == artifact
    assert calls(log) == []


def test_a_broken_pointer_keeps_everything(root):
    current = Store(root, "suite").current("images", "color-n2")
    current.manifest_path.write_text("{")
    age(root)
    assert list(waste(survey(root), 24)) == []
    lines = list(damages(survey(root)))
    assert len(lines) == 1 and f"{current.fingerprint}.json is not a manifest" in lines[0]
    current.manifest_path.unlink()
    assert list(damages(survey(root))) == [
        f"{current.path.parent}/current names {current.fingerprint}, which has no manifest"
    ]


def test_damage_is_named_thing_by_thing(root):
    assert list(damages(survey(root))) == []
    current = Store(root, "suite").current("images", "color-n2")
    part, gone = current.path / "part-00001.parquet", current.path / "part-00003.parquet"
    data = bytearray(part.read_bytes())
    data[50] ^= 1
    part.write_bytes(bytes(data))
    gone.unlink()
    lines = list(damages(survey(root)))
    assert [line.split(":")[0] for line in lines] == [
        f"{part} is altered (its sha256 is not the manifest's)",
        f"{gone} is missing",
    ]


def test_records_of_parts_that_are_gone_are_orphans(root):
    current = Store(root, "suite").current("images", "color-n2")
    for path in current.path.parent.glob("*"):
        if path.is_dir() and path.name[0] != "." and path.name != current.fingerprint:
            shutil.rmtree(path)
    for path in current.path.parent.glob("*.json"):
        if path.name.split(".")[0] != current.fingerprint:
            path.unlink()
    (current.path.parent / ".tmp" / "half").write_bytes(b"a file that was never moved")
    age(root)
    found = {item.what: len(item.files) for item in waste(survey(root), 24)}
    assert found == {"orphan records": 2 + 3, "scratch": 1}
    assert gc(root) == [True, True]
    assert len(list((current.path.parent / ".shards").iterdir())) == 4
    current.verify()


def test_what_was_made_from_a_replaced_artifact_is_named(root, tmp_path):
    old = make(tmp_path / "again", 2)
    store = Store(root, "suite")
    made = store.partition_path("scores", "color-n2--model")
    shutil.copytree(old.path.parent, made)
    scores = make(tmp_path / "scores", 1, settings={"inputs": {"images": old.digest}}, salt="x")
    shutil.rmtree(made)
    shutil.copytree(scores.path.parent, made)
    age(root)
    (replaced,) = [w for w in waste(survey(root), 24) if w.what == "replaced"]
    assert replaced.read_by == ("scores/color-n2--model",)
    assert all(gc(root))
    assert store.partition_path("scores", "color-n2--model").exists()  # it is current, and stays
    assert json.loads((made / f"{scores.fingerprint}.json").read_text())["rows"] == 3
