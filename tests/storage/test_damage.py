import pytest
from storage_samples import calls, folder_bytes, make

from bindbench.errors import UserError
from bindbench.storage.manifest import DamageError
from bindbench.storage.store import Store


def truncate(path):
    path.write_bytes(path.read_bytes()[:-10])


def alter(path):
    """Change the first data page, without changing the size."""
    data = bytearray(path.read_bytes())
    for i in range(4, 200):
        data[i] ^= 0xFF
    path.write_bytes(bytes(data))


def remove(path):
    path.unlink()


@pytest.fixture
def log(tmp_path):
    return tmp_path / "log"


@pytest.fixture
def artifact(tmp_path, log):
    return make(tmp_path / "store", 3, log=log)


@pytest.fixture
def part(artifact):
    return artifact.path / "part-00001.parquet"


@pytest.mark.parametrize("damage", [truncate, alter, remove])
def test_a_damaged_shard_is_named_and_repaired_when_asked(tmp_path, log, artifact, part, damage):
    intact = folder_bytes(artifact)
    damage(part)
    for read in (artifact.verify, artifact.read, lambda: artifact.read(["index", "image"])):
        with pytest.raises(DamageError) as caught:
            read()
        assert isinstance(caught.value, UserError)
        assert str(part) in str(caught.value)
        assert "run again with --repair to recompute it" in str(caught.value)
    artifact.read_shard(0)  # the others can be read
    assert artifact.damaged_shards() == [1]

    repaired = make(tmp_path / "store", 3, log=log, repair=True)
    assert repaired == artifact
    assert folder_bytes(artifact) == intact
    assert calls(log) == [0, 1, 2, 1]


@pytest.mark.parametrize("damage", [truncate, remove])
def test_a_build_does_not_repair_unasked(tmp_path, log, artifact, part, damage):
    damage(part)
    with pytest.raises(UserError, match=rf"{part.name} .*run again with --repair"):
        make(tmp_path / "store", 3, log=log)
    assert calls(log) == [0, 1, 2]


def test_columns_that_are_intact_can_be_read(artifact, part):
    data = part.read_bytes()
    position = data.index(b"\x89PNG")
    part.write_bytes(data[:position] + b"????" + data[position + 4 :])
    assert artifact.read_shard(1, ["index", "seed"]).num_rows == 3
    with pytest.raises(DamageError, match="is altered"):
        artifact.read_shard(1, ["image"])


def test_repairing_the_intact_computes_nothing(tmp_path, log, artifact):
    assert make(tmp_path / "store", 3, log=log, repair=True) == artifact
    assert calls(log) == [0, 1, 2]


def test_a_repair_must_give_what_was_there(tmp_path, log, artifact, part):
    truncate(part)
    damaged = part.read_bytes()
    with pytest.raises(UserError) as caught:
        make(tmp_path / "store", 3, log=log, repair=True, change=" of today")
    message = str(caught.value)
    assert f"{part} can't be repaired, because it is not what it was" in message
    assert f"instead of {artifact.shards[1].sha256}" in message
    assert "rows" not in message  # they are equal
    assert part.read_bytes() == damaged


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"shards": []}'])
def test_a_damaged_manifest(tmp_path, log, artifact, content):
    intact = artifact.manifest_path.read_bytes()
    artifact.manifest_path.write_bytes(content)
    with pytest.raises(UserError, match=r"json is not a manifest .* --repair"):
        Store(tmp_path / "store", "suite").current("images", "color-n2")
    with pytest.raises(UserError, match=r"json is not a manifest .* --repair"):
        make(tmp_path / "store", 3, log=log)
    make(tmp_path / "store", 3, log=log, repair=True)
    assert artifact.manifest_path.read_bytes() == intact
    assert calls(log) == [0, 1, 2]


def test_an_edited_manifest_contradicts_itself(artifact):
    text = artifact.manifest_path.read_text()
    artifact.manifest_path.write_text(text.replace('"rows": 9', '"rows": 8'))
    with pytest.raises(UserError, match="contradicts itself"):
        Store(artifact.path.parents[3], "suite").current("images", "color-n2")
    artifact.manifest_path.write_text(text.replace('"seed": 1', '"seed": 2'))
    with pytest.raises(UserError, match="contradicts itself"):
        Store(artifact.path.parents[3], "suite").current("images", "color-n2")


def test_data_without_a_manifest_is_unfinished(tmp_path, log, artifact):
    artifact.manifest_path.unlink()
    with pytest.raises(UserError, match=f"{artifact.path} is unfinished: it has no manifest"):
        Store(tmp_path / "store", "suite").current("images", "color-n2")
    assert make(tmp_path / "store", 3, log=log) == artifact
    assert calls(log) == [0, 1, 2]  # its shards were finished


def test_what_was_never_built(tmp_path):
    with pytest.raises(UserError, match=r"There is no artifact .*/images/color-n2/abc: build it"):
        Store(tmp_path, "suite").open("images", "color-n2", "abc")


def test_a_damaged_record_vouches_for_nothing(tmp_path, log, artifact):
    artifact.manifest_path.unlink()
    records = sorted((artifact.path.parent / ".shards").rglob("*.json"))
    assert len(records) == 3
    records[0].write_text("{")
    make(tmp_path / "store", 3, log=log)
    assert calls(log) == [0, 1, 2, 0]
