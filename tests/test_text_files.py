"""Files are written whole or not at all."""

import pytest

from bindbench.errors import UserError
from bindbench.text_files import write_text


def test_a_file_is_replaced_with_its_line_ends(tmp_path):
    write_text(tmp_path / "a.txt", "old")
    write_text(tmp_path / "a.txt", "é\r\nnew\n")
    assert (tmp_path / "a.txt").read_bytes() == "é\r\nnew\n".encode()
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_what_was_there_stays_if_it_cannot_be_written(tmp_path):
    write_text(tmp_path / "a.txt", "old")
    with pytest.raises(UnicodeEncodeError):
        write_text(tmp_path / "a.txt", "half\ud800")
    assert (tmp_path / "a.txt").read_text() == "old"
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "folder", tmp_path / "none" / "a.txt"):
        with pytest.raises(UserError, match=f"Cannot write {path}"):
            write_text(path, "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "folder"]
