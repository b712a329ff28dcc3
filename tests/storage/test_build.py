import json
import pickle

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from storage_samples import MakeRows, calls, folder_bytes, make, rows

from bindbench.engine.base import ShardError
from bindbench.engine.local import LocalEngine
from bindbench.errors import UserError
from bindbench.storage.datasets import Shard, build
from bindbench.storage.store import Store


@pytest.fixture
def log(tmp_path):
    return tmp_path / "log"


def test_layout_and_content(tmp_path):
    artifact = make(tmp_path / "store", 2, summarize=lambda table: {"rows": table.read().num_rows})
    partition = tmp_path / "store" / "suite" / "images" / "color-n2"
    fingerprint = artifact.fingerprint
    visible = sorted(path.name for path in partition.iterdir() if path.name[0] != ".")
    assert visible == sorted(
        [fingerprint, f"{fingerprint}.json", f"{fingerprint}.run.json", "current"]
    )
    parts = sorted(path.name for path in (partition / fingerprint).iterdir())
    assert parts == ["part-00000.parquet", "part-00001.parquet"]
    assert list((partition / ".tmp").iterdir()) == []
    assert artifact.rows == 6
    assert artifact.summary == {"rows": 6}
    assert artifact.read().to_pylist() == rows(0) + rows(1)
    assert artifact.read_shard(1).to_pylist() == rows(1)
    assert artifact.read(["seed", "index"]).to_pydict() == {
        "seed": [0, 1, 4, 9, 16, 25],
        "index": [0, 1, 2, 3, 4, 5],
    }
    with pytest.raises(KeyError, match="no column 'sed'"):
        artifact.read(["sed"])


def test_the_store_finds_what_was_built(tmp_path):
    store = Store(tmp_path, "suite")
    assert store.current("images", "color-n2") is None
    artifact = make(tmp_path, 2, summarize=lambda table: {"x": 1})
    assert store.current("images", "color-n2") == artifact
    assert store.open("images", "color-n2", artifact.fingerprint) == artifact
    assert pickle.loads(pickle.dumps(artifact)) == artifact


def test_an_artifact_can_be_built_beside_the_current_one(tmp_path, log):
    store, shown = Store(tmp_path, "suite"), make(tmp_path, 2)
    beside = make(tmp_path, 2, settings={"seed": 2}, salt="b", make_current=False, log=log)
    assert store.current("images", "color-n2") == shown
    assert store.open("images", "color-n2", beside.fingerprint) == beside
    assert calls(log) == [0, 1]
    assert make(tmp_path, 2, settings={"seed": 2}, salt="b", log=log) == beside
    assert calls(log) == [0, 1]
    assert store.current("images", "color-n2") == beside


def test_the_manifest_tells_all(tmp_path):
    artifact = make(tmp_path, 2, settings={"model": "nano:clip", "sizes": (1, 2)})
    manifest = json.loads(artifact.manifest_path.read_text())
    assert manifest["settings"] == {"model": "nano:clip", "sizes": [1, 2]} == artifact.settings
    assert manifest["fingerprint"] == artifact.path.name
    assert manifest["digest"] == artifact.digest
    assert manifest["rows"] == 6
    assert [shard["fingerprint"] for shard in manifest["shards"]] == ["0000", "0001"]
    assert [shard["bytes"] for shard in manifest["shards"]] == [
        (artifact.path / shard.file).stat().st_size for shard in artifact.shards
    ]
    run = json.loads(artifact.run_path.read_text())
    assert (run["shards_computed"], run["shards_reused"], run["workers"]) == (2, 0, 1)
    assert run["packages"]["pyarrow"] == pa.__version__


def test_nothing_is_computed_or_written_again(tmp_path, log):
    first = make(tmp_path, log=log)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    seen = []
    second = make(tmp_path, log=log, on_progress=lambda *values: seen.append(values))
    assert second == first
    assert calls(log) == [0, 1, 2, 3]
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
    assert seen == [(4, 4, 4, 0.0, 0.0)]


def test_same_bytes_with_one_and_two_workers(tmp_path):
    one = make(tmp_path / "one", 6, workers=1)
    two = make(tmp_path / "two", 6, workers=2)
    assert folder_bytes(one) == folder_bytes(two)
    assert one.manifest_path.read_bytes() == two.manifest_path.read_bytes()


def test_more_shards_recompute_only_the_new_ones(tmp_path, log):
    small = make(tmp_path, 3, log=log)
    large = make(tmp_path, 5, log=log)
    assert calls(log) == [0, 1, 2, 3, 4]
    assert large.shards[:3] == small.shards
    assert folder_bytes(large) == folder_bytes(make(tmp_path / "fresh", 5))
    small.verify()  # still there
    assert make(tmp_path, 2, log=log).shards == small.shards[:2]
    assert calls(log) == [0, 1, 2, 3, 4]


def test_new_settings_make_a_new_artifact_and_keep_the_old(tmp_path, log):
    old = make(tmp_path, 2, log=log)
    new = make(tmp_path, 2, settings={"seed": 2}, salt="s2-", log=log, change="!")
    assert new.fingerprint != old.fingerprint
    assert new.digest != old.digest
    assert calls(log) == [0, 1, 0, 1]
    store = Store(tmp_path, "suite")
    assert store.current("images", "color-n2") == new
    store.open("images", "color-n2", old.fingerprint).verify()
    assert make(tmp_path, 2, log=log) == old
    assert store.current("images", "color-n2") == old
    assert calls(log) == [0, 1, 0, 1]


def test_equal_content_has_an_equal_digest(tmp_path):
    """What depends on equal content is not redone, whatever the content was made from."""
    first = make(tmp_path, 2)
    second = make(tmp_path, 2, settings={"code": 2}, salt="code2-")
    assert first.fingerprint != second.fingerprint
    assert first.digest == second.digest


def test_a_shard_is_reused_at_another_position(tmp_path, log):
    make(tmp_path, 3, log=log)
    artifact = build(
        Store(tmp_path, "suite"),
        "images",
        "color-n2",
        schema=MakeRows()(0).schema,
        settings={},
        shards=[Shard("0002", 2), Shard("0000", 0), Shard("0002", 2)],
        function=MakeRows(log),
        engine=LocalEngine(),
    )
    assert calls(log) == [0, 1, 2]
    assert artifact.read().to_pylist() == rows(2) + rows(0) + rows(2)


def test_shards_of_a_deleted_artifact_are_not_taken_for_there(tmp_path, log):
    first = make(tmp_path, 2, log=log)
    second = make(tmp_path, 3, log=log)
    for path in (*second.path.iterdir(), *first.path.iterdir()):
        path.unlink()
    second.manifest_path.unlink()
    make(tmp_path, 3, log=log).verify()
    assert calls(log) == [0, 1, 2, 0, 1, 2]


def test_a_damaged_sibling_is_not_copied(tmp_path, log):
    first = make(tmp_path, 2, log=log)
    part = first.path / "part-00001.parquet"
    part.write_bytes(part.read_bytes()[:-1])
    make(tmp_path, 3, log=log).verify()
    assert calls(log) == [0, 1, 1, 2]


def test_failed_shards_leave_the_others(tmp_path, log):
    with pytest.raises(UserError) as caught:
        make(tmp_path, 4, log=log, fail=(1, 2))
    message = str(caught.value)
    assert message.startswith("2 of 4 shards failed (")
    assert "part-00001.parquet: Shard 1 can't be made." in message
    assert Store(tmp_path, "suite").current("images", "color-n2") is None
    artifact = make(tmp_path, 4, log=log)
    assert calls(log) == [0, 1, 2, 3, 1, 2]
    assert folder_bytes(artifact) == folder_bytes(make(tmp_path / "fresh", 4))


def test_a_wrong_schema_is_named(tmp_path):
    def function(task):
        return MakeRows()(task).drop_columns(["seed"])

    with pytest.raises(ShardError, match=r"columns missing \['seed'\], extra \[\]"):
        build(
            Store(tmp_path, "suite"),
            "images",
            "all",
            schema=MakeRows()(0).schema,
            settings={},
            shards=[Shard("0", 0)],
            function=function,
            engine=LocalEngine(),
        )


def test_progress(tmp_path):
    make(tmp_path, 1)
    seen = []
    make(tmp_path, 3, seconds=0.05, on_progress=lambda *values: seen.append(values))
    assert [values[:3] for values in seen] == [(1, 3, 1), (2, 3, 1), (3, 3, 1)]
    assert seen[0][3:] == (0.0, None)  # nothing was computed yet
    rate, left = seen[1][3:]
    assert 0 < rate <= 20  # each takes at least 0.05 s
    assert left == pytest.approx(1 / rate)
    assert seen[2][4] == 0


def test_names_that_are_no_file_names(tmp_path):
    store = Store(tmp_path, "suite")
    names = ["hf:google/gemma@main", "a|b", "a%7Cb", "a b", "ü"]
    paths = [store.partition_path("model_scores", name) for name in names]
    assert len(set(paths)) == len(names)
    assert all(path.parent == tmp_path / "suite" / "model_scores" for path in paths)
    for name in ("", ".", "..", ".tmp"):
        with pytest.raises(ValueError, match="can't name a folder"):
            store.partition_path("model_scores", name)


def test_no_shards(tmp_path):
    with pytest.raises(ValueError, match="has no shards"):
        make(tmp_path, 0)


def test_settings_must_be_json(tmp_path, log):
    with pytest.raises(ValueError, match="JSON"):
        make(tmp_path, 1, settings={"x": float("nan")}, log=log)
    assert calls(log) == []


def test_the_bytes_depend_on_rows_only(tmp_path):
    """Neither chunks nor pandas' metadata show in a file."""
    schema = pa.schema([("x", pa.int64())])
    plain = pa.table({"x": list(range(10))}, schema=schema)
    tables = [
        plain,
        pa.concat_tables([plain.slice(0, 3), plain.slice(3)]),
        plain.replace_schema_metadata({"pandas": "{}"}),
        pa.concat_tables([plain, plain]).slice(10),
    ]
    store = Store(tmp_path, "suite")
    artifact = build(
        store,
        "numbers",
        "all",
        schema=schema,
        settings={},
        shards=[Shard(str(i), i) for i in range(len(tables))],
        function=tables.__getitem__,
        engine=LocalEngine(),
    )
    assert len({shard.sha256 for shard in artifact.shards}) == 1
    assert artifact.read().schema.equals(schema, check_metadata=True)
    file = pq.ParquetFile(artifact.path / "part-00000.parquet")
    assert file.num_row_groups == 1
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"


def test_an_empty_shard(tmp_path):
    schema = pa.schema([("x", pa.list_(pa.string()))])
    artifact = build(
        Store(tmp_path, "suite"),
        "empty",
        "all",
        schema=schema,
        settings={},
        shards=[Shard("0", 0)],
        function=lambda task: pa.Table.from_pylist([], schema=schema),
        engine=LocalEngine(),
    )
    assert artifact.rows == 0
    assert artifact.read().schema == schema
    assert artifact.read(["x"]).num_rows == 0
