"""The four exports of a small suite: what stands in them, from the store's own rows."""

import json
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
import yaml
from small_store import KEY, SmallStore, small_store

from bindbench.cli.main import main
from bindbench.errors import UserError
from bindbench.exporting import clip_benchmark, huggingface, inspect_task, lmms_eval
from bindbench.exporting.consumers import lmms_eval_utils as utils
from bindbench.exporting.items import Exported, Item, new_folder, open_suite, shards
from bindbench.storage.store import Store
from bindbench.tasks import TRACKS


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> SmallStore:
    return small_store(tmp_path_factory.mktemp("exports"))


@pytest.fixture(scope="module")
def suite(store) -> Exported:
    return open_suite(store.suite, Store(store.root, "small"), [])


@pytest.fixture(scope="module")
def negatives(store) -> list[dict]:
    return Store(store.root, "small").current("negatives", KEY).read().to_pylist()


def files(folder: Path) -> dict[str, bytes]:
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def test_datasets_opens_the_dataset_with_all_rows(tmp_path, suite, negatives):
    from datasets import load_dataset

    huggingface.export(suite, tmp_path / "out")
    for track in TRACKS:
        rows = load_dataset(
            str(tmp_path / "out"), KEY, split=track, cache_dir=str(tmp_path / "cache")
        )
        wanted = [row for row in negatives if row["track"] == track]
        assert rows["id"] == [f"{row['concept_id']}/{track}" for row in wanted]
        for row, own in zip(rows, wanted, strict=True):
            assert row["image"].size == (128, 128)
            assert row["candidates"][0] == row["caption"] == own["caption"]
            assert len(set(row["candidates"])) == own["n_candidates"] == 16
            codes = np.frombuffer(own["semantics"], np.int8)
            assert row["semantics"] == [("true", "false", "undecided")[c] for c in codes]
            assert row["families"].count("swap") == 1
            assert row["families"].count("positive") == 1
            assert (row["objects"], row["labels"]) == (own["objects"], own["labels"])


def test_the_card_names_configs_splits_and_counts(tmp_path, suite, negatives):
    written = huggingface.export(suite, tmp_path / "out")
    _, head, text = (tmp_path / "out" / "README.md").read_text().split("---\n", 2)
    (config,) = yaml.safe_load(head)["configs"]
    assert config["config_name"] == KEY
    assert [entry["split"] for entry in config["data_files"]] == list(TRACKS)
    for track in TRACKS:
        count = sum(row["track"] == track for row in negatives)
        assert f"| `{KEY}` | `{track}` | {count} | swap and confusion |" in text
    named = json.loads((tmp_path / "out" / "croissant.json").read_text())["distribution"]
    assert {file["@id"]: file["sha256"] for file in named} == {f.path: f.sha256 for f in written}


def test_a_webdataset_has_the_right_caption_first_and_no_true_one_after(tmp_path, suite):
    counts = clip_benchmark.export(suite, tmp_path / "out")
    (benchmark,) = suite.benchmarks
    for track in TRACKS:
        for family, width in (("swap", 2), ("confusion", 16)):
            folder = tmp_path / "out" / KEY / track / family
            assert (folder / "dataset_type.txt").read_text().strip() == "retrieval"
            found = {}
            for number in range(int((folder / "test" / "nshards.txt").read_text())):
                with tarfile.open(folder / "test" / f"{number}.tar") as tar:
                    for member in tar.getmembers():
                        found[member.name] = tar.extractfile(member).read()
            own = [item for part in shards(benchmark) for item in part[track]]
            assert len(found) == 2 * len(own) == 2 * counts[f"{KEY}/{track}/{family}"]
            for item in own:
                name = f"{item.row['index']:08d}"
                lines = found[f"{name}.txt"].decode().splitlines()
                assert found[f"{name}.png"] == item.image
                assert len(lines) == width
                assert lines[0] == item.row["caption"]
                assert {*lines[1:]} == {item.texts[i] for i in item.wrong(family)}


def test_inspect_offers_the_right_caption_once_and_at_most_50(tmp_path, suite):
    counts = inspect_task.export(suite, tmp_path / "out")
    for name, count in counts.items():
        lines = (tmp_path / "out" / "samples" / f"{name}.jsonl").read_text().splitlines()
        assert len(lines) == count
        for record in map(json.loads, lines):
            assert len(record["choices"]) <= 50
            assert (tmp_path / "out" / record["image"]).is_file()
    again = inspect_task.export(suite, tmp_path / "other", seed=1)
    name = f"samples/{KEY}-minimal-confusion.jsonl"
    assert again == counts
    assert files(tmp_path / "out")[name] != files(tmp_path / "other")[name]


def test_a_sample_names_the_options_as_inspect_does():
    texts = tuple(f"caption {i}" for i in range(729))
    row = {"scene_id": "s", "reasons": b""}
    semantics = np.array([0, *[1] * 728], np.int8)
    families = ("positive", *["confusion"] * 728)
    labels = set()
    for i in range(60):
        record = inspect_task.sample(
            Item(f"k{i}", row, b"", texts, semantics, families), "confusion"
        )
        assert len(record["choices"]) == 50
        target = record["target"]
        place = int(target) + 25 if target.isdecimal() else ord(target) - ord("A")
        assert record["choices"][place] == "caption 0"
        labels.add(target.isdecimal())
    assert labels == {True, False}  # Z is option 26, 1 is option 27
    true = Item("k", row, b"", texts, np.zeros(729, np.int8), families)
    assert inspect_task.sample(true, "confusion") is None


def test_lmms_eval_gets_a_task_for_each_family_that_can_be_asked(tmp_path, suite):
    names = lmms_eval.export(suite, tmp_path / "out")
    assert names == [
        f"bindbench_color_n2_{track}_{family}"
        for track in TRACKS
        for family in ("swap", "confusion")
    ]
    text = (tmp_path / "out" / "tasks" / f"{names[0]}.yaml").read_text().replace("!function ", "")
    task = yaml.safe_load(text)
    assert task["dataset_path"] == str(tmp_path / "out" / "dataset")
    assert (task["dataset_name"], task["test_split"]) == (KEY, "minimal")


def test_its_losses_are_judged_by_our_tie_rule():
    def judged(*losses: float) -> tuple[float, float]:
        found = utils.strict({}, [(loss, False) for loss in losses])
        assert found["chance"] == 1 / len(losses)
        return found["accuracy"], found["tie_rate"]

    assert judged(1.0, 2.0, 3.0) == (1, 0)
    assert judged(2.0, 1.0, 3.0) == (0, 0)
    assert judged(1.0, 1.0 + 2.0**-23, 3.0) == (0, 1)  # equal in float32's rounding
    assert judged(2.0, 2.0, 1.0) == (0, 0)


def test_the_same_suite_gives_the_same_bytes(tmp_path, suite):
    for export in (huggingface.export, clip_benchmark.export, inspect_task.export):
        found = []
        for name in ("a", "b"):
            export(suite, tmp_path / export.__module__ / name)
            found.append(files(tmp_path / export.__module__ / name))
        assert found[0] == found[1]


def test_a_folder_that_holds_something_is_left_alone(tmp_path, suite):
    (tmp_path / "kept").write_text("mine")
    with pytest.raises(UserError, match="is not empty: give a new folder"):
        huggingface.export(suite, tmp_path)
    assert files(tmp_path) == {"kept": b"mine"}


def test_what_fails_half_way_leaves_nothing(tmp_path):
    with pytest.raises(RuntimeError), new_folder(tmp_path / "out") as folder:
        (folder / "half").write_text("")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_the_command_says_what_can_not_be_exported(monkeypatch, capsys, tmp_path, store):
    def refused(*arguments: str) -> str:
        common = ("--suite", store.file, "--store", store.root)
        monkeypatch.setattr(sys, "argv", ["bindbench", "export", *arguments, *common])
        with pytest.raises(SystemExit) as caught:
            main()
        assert caught.value.code == 2
        return " ".join(capsys.readouterr().err.split())

    out = str(tmp_path / "out")
    assert "did you mean huggingface" in refused("hugging", out)
    assert "negatives of position-n2 is not in" in refused(
        "inspect", out, "--benchmark", "position-n2"
    )
    assert "color-n3 is not in the suite small" in refused(
        "inspect", out, "--benchmark", "color-n3"
    )
    assert not (tmp_path / "out").exists()
