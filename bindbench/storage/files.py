"""Files of a store on any file system: whole reads, whole writes, and listings."""

import errno
import io
import os
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
from upath import UPath

from bindbench.errors import UserError
from bindbench.storage.paths import OBJECT_STORES, is_local
from bindbench.storage.retries import ABSENT, patiently

# A file in a scratch folder is moved seconds after it was begun. One this old was left by a killed
# process, even if the clocks of the machines that share the store disagree.
STALE_SECONDS = 24 * 3600
TIMES = ("LastModified", "mtime", "updated", "last_modified", "created")  # as file systems call it


@dataclass(frozen=True)
class FileFacts:
    """What a listing tells of a file."""

    bytes: int
    modified: float  # seconds since 1970, by the clock of the storage


def read_bytes(path: UPath) -> bytes:
    """Return a whole file.

    Raises:
        FileNotFoundError, NotADirectoryError: there is none.
        UserError: a remote storage fails.
    """
    if is_local(path):
        return path.read_bytes()
    return patiently(lambda: _fetch(path), f"read {path}")


def _fetch(path: UPath, start: int | None = None, end: int | None = None) -> bytes:
    data = path.fs.cat_file(path.path, start=start, end=end)
    assert isinstance(data, bytes)
    return data


def write_atomically(path: UPath, data: bytes, scratch: UPath) -> None:
    """Write a file so that readers see all of it or nothing; the last of several writers wins.

    ``scratch`` is a folder on the same file system. Apart from the shards, so that a leftover of a
    killed process is never taken for data.

    Raises:
        UserError: it can't be written, such as on a full disk.
    """
    if not is_local(path):
        patiently(lambda: _put(path, data), f"write {path}")
        return
    try:
        _move_into_place(path, data, scratch)
    except OSError as error:
        full = "free some space" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "mend that"
        raise UserError(
            f"{path} can't be written ({type(error).__name__}: {error.strerror}): {full} and run "
            "again; what is finished is kept."
        ) from error


def _put(path: UPath, data: bytes) -> None:
    if path.protocol not in OBJECT_STORES:
        path.parent.mkdir(parents=True, exist_ok=True)
    path.fs.pipe_file(path.path, data)  # of an object store: atomic, also in parts
    arrived = file_size(path)
    if arrived != len(data):
        raise OSError(errno.EIO, f"{arrived} of {len(data)} bytes arrived")


def _move_into_place(path: UPath, data: bytes, scratch: UPath) -> None:
    scratch.mkdir(parents=True, exist_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(str(scratch), uuid.uuid4().hex)
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(str(path))
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def remove(path: UPath) -> None:
    """Remove a file, if it is there.

    Raises:
        UserError: a remote storage fails.
    """
    if is_local(path):
        path.unlink(missing_ok=True)
        return
    try:
        patiently(lambda: path.fs.rm_file(path.path), f"remove {path}")
    except ABSENT:
        return


def sweep(scratch: UPath) -> None:
    """Remove what killed processes left in a scratch folder."""
    for name, facts in files(scratch).items():
        if time.time() - facts.modified > STALE_SECONDS:
            remove(scratch / name)


def file_size(path: UPath) -> int | None:
    """Return the size of a file in bytes; None if there is none."""
    try:
        if is_local(path):
            return path.stat().st_size
        facts = patiently(lambda: path.fs.info(path.path), f"look at {path}")
    except ABSENT:
        return None
    return facts["size"] if facts["type"] == "file" else None


def files(folder: UPath) -> dict[str, FileFacts]:
    """Return all files below a folder by their path in it, in order; none if there is no folder."""
    if is_local(folder):
        return dict(sorted(_walk(Path(str(folder)))))
    try:
        listed = patiently(lambda: _listing(folder), f"list {folder}")
    except ABSENT:
        return {}
    root = str(folder.fs._strip_protocol(folder.path)).rstrip("/") + "/"
    return {
        name.removeprefix(root): FileFacts(facts["size"], _modified(facts))
        for name, facts in sorted(listed.items())
        if name.startswith(root) and facts["type"] == "file"
    }


def _listing(folder: UPath) -> dict[str, dict[str, Any]]:
    """Return a remote folder's listing, as fsspec gives it."""
    return cast(dict[str, dict[str, Any]], folder.fs.find(folder.path, detail=True))


def _walk(folder: Path) -> Iterator[tuple[str, FileFacts]]:
    for root, _, names in os.walk(folder, onerror=_raise_unless_absent):
        for name in names:
            path = Path(root, name)
            try:
                facts = path.stat()
            except FileNotFoundError:  # another process moved or removed it
                continue
            yield path.relative_to(folder).as_posix(), FileFacts(facts.st_size, facts.st_mtime)


def _raise_unless_absent(error: OSError) -> None:
    if not isinstance(error, ABSENT):
        raise error


def _modified(facts: dict[str, Any]) -> float:
    """Return when a listed file was written; now, where the file system does not tell."""
    found = next((facts[name] for name in TIMES if facts.get(name) is not None), time.time())
    if isinstance(found, str):
        found = datetime.fromisoformat(found)
    return found.timestamp() if isinstance(found, datetime) else float(found)


def open_ranges(path: UPath, size: int) -> pa.NativeFile:
    """Open a file of which only some ranges will be read."""
    if is_local(path):
        return pa.OSFile(str(path))
    return pa.PythonFile(_Ranges(path, size), mode="r")


class _Ranges(io.RawIOBase):
    """A remote file, read range by range: one request each, tried again alone."""

    def __init__(self, path: UPath, size: int):
        self._path, self._size, self._position = path, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}[whence]
        self._position = start + offset
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        start = self._position
        end = self._size if size is None or size < 0 else min(start + size, self._size)
        if start >= end:
            return b""
        data = patiently(lambda: self._range(start, end), f"read {self._path}")
        self._position = start + len(data)
        return data

    def _range(self, start: int, end: int) -> bytes:
        data = _fetch(self._path, start, end)
        if len(data) != end - start:
            raise OSError(errno.EIO, f"{len(data)} of {end - start} bytes came")
        return data
