"""Answers on disk."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bindbench.errors import UserError
from bindbench.models.api_answers import AnswerStore, cache_folder


def lines(folder: Path) -> list[bytes]:
    return [line for path in folder.glob("*.jsonl") for line in path.read_bytes().splitlines()]


def reopened(folder: Path) -> AnswerStore:
    store = AnswerStore(folder)
    store.refresh()
    return store


def test_what_was_put_is_found_again(tmp_path):
    store = AnswerStore(tmp_path / "a")
    assert store.get("k") is None
    store.put("k", {"text": "é\nB"})
    assert store.get("k") == {"text": "é\nB"}
    assert reopened(tmp_path / "a").get("k") == {"text": "é\nB"}


def test_a_line_that_a_kill_cut_off_is_no_answer(tmp_path):
    store = AnswerStore(tmp_path)
    for key in ("one", "two"):
        store.put(key, {"text": key})
    (path,) = tmp_path.glob("*.jsonl")
    data = path.read_bytes()
    second = data.index(b"\n") + 1
    for end in range(second, len(data)):  # at any byte, also that before the last line's end
        path.write_bytes(data[:end])
        found = reopened(tmp_path)
        assert found.get("one") == {"text": "one"}
        assert found.get("two") is None


def test_after_a_kill_the_next_answers_are_whole(tmp_path):
    (tmp_path / "killed.jsonl").write_bytes(b'{"key": "one", "ans')
    store = reopened(tmp_path)
    store.put("one", {"text": "again"})
    assert reopened(tmp_path).get("one") == {"text": "again"}


@pytest.mark.parametrize("damage", [b"\0" * 40, b"[]", b'{"key": 1}', b"\xff\xfe", b"nonsense"])
def test_a_damaged_line_costs_its_own_answer_only(tmp_path, damage):
    store = AnswerStore(tmp_path)
    for key in ("one", "two"):
        store.put(key, {"text": key})
    (path,) = tmp_path.glob("*.jsonl")
    first, second = path.read_bytes().splitlines()
    path.write_bytes(first + b"\n" + damage + b"\n" + second + b"\n")
    assert [reopened(tmp_path).get(key)["text"] for key in ("one", "two")] == ["one", "two"]


def test_two_at_the_same_time_find_each_others_answers(tmp_path):
    first, second = AnswerStore(tmp_path), AnswerStore(tmp_path)
    for turn in range(3):
        first.put(f"first {turn}", {"text": "1"})
        second.put(f"second {turn}", {"text": "2"})
        first.refresh()
        second.refresh()
        assert first.get(f"second {turn}") == {"text": "2"}
        assert second.get(f"first {turn}") == {"text": "1"}
    assert len(lines(tmp_path)) == 6


def test_processes_do_not_write_into_each_others_lines(tmp_path):
    code = (
        "import sys, pathlib\n"
        "from bindbench.models.api_answers import AnswerStore\n"
        "store = AnswerStore(pathlib.Path(sys.argv[1]))\n"
        "for i in range(300): store.put(f'{sys.argv[2]} {i}', {'text': 'x' * 500})\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name]) for name in "ab"]
    assert [process.wait(timeout=60) for process in running] == [0, 0]
    keys = [json.loads(line)["key"] for line in lines(tmp_path)]
    assert sorted(keys) == sorted(f"{name} {i}" for name in "ab" for i in range(300))


def test_a_folder_that_cannot_be_written_is_said_before_anything_is_paid(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"can't be kept in .*set BINDBENCH_CACHE"):
        AnswerStore(tmp_path / "file" / "answers").prepare()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full")
def test_a_full_disk_is_one_sentence_and_the_next_answer_is_whole(tmp_path):
    store = AnswerStore(tmp_path)
    store.put("one", {"text": "1"})
    (own,) = tmp_path.glob("*.jsonl")
    assert store._file is not None
    os.dup2(os.open("/dev/full", os.O_WRONLY), store._file.fileno())
    with pytest.raises(UserError, match=r"can't be kept in .* \(No space left on device\)"):
        store.put("two", {"text": "2"})
    store.put("three", {"text": "3"})
    found = reopened(tmp_path)
    assert [found.get(key) is not None for key in ("one", "two", "three")] == [True, False, True]
    assert len(own.read_bytes().splitlines()) == 1


def test_the_folder_is_named_by_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("BINDBENCH_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.delenv("BINDBENCH_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert cache_folder() == tmp_path / "x" / "bindbench"
