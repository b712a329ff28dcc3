"""Paths of the store, and writing a file whole or not at all."""

import os
import time
import uuid
from pathlib import Path
from urllib.parse import quote

from upath import UPath

from bindbench.errors import UserError

SCRATCH = ".tmp"  # where files are written before they are moved to their place
# A file here is moved seconds after it was begun. One this old was left by a killed process, even
# if the clocks of the machines that share the store disagree.
STALE_SECONDS = 24 * 3600
# Their put is atomic, and they have no folders to make.
OBJECT_STORES = {"memory", "s3", "s3a", "gs", "gcs", "az", "abfs", "abfss"}


def root_path(root: str | os.PathLike[str]) -> UPath:
    """Return the root of a store, absolute, so that it means the same in every process."""
    try:
        path = UPath(root)
        if path.protocol in ("file", "local"):
            path = UPath(path.path)
        return path.absolute() if is_local(path) else path
    except ValueError as error:
        raise UserError(
            f"The store {str(root)!r} is not a path that can be used ({error}): "
            "give a local folder or a URL such as s3://bucket/folder."
        ) from error


def is_local(path: UPath) -> bool:
    """Whether the path is on the local file system."""
    return isinstance(path, Path)


def in_this_process_only(path: UPath) -> bool:
    """Whether other processes see nothing of what is written there."""
    return path.protocol == "memory"


def safe_name(name: str) -> str:
    """Return ``name`` as one path component; distinct names stay distinct.

    Raises:
        ValueError: the name is empty or starts with a dot, which marks the store's own files.
    """
    if not name or name.startswith("."):
        raise ValueError(f"{name!r} can't name a folder of the store")
    return quote(name, safe="-_.~=@+,")


def write_atomically(path: UPath, data: bytes, scratch: UPath) -> None:
    """Write a file so that readers see all of it or nothing; the last of several writers wins.

    ``scratch`` is a folder on the same file system. Apart from the shards, so that a leftover of a
    killed process is never taken for data.
    """
    if not is_local(path):
        if path.protocol not in OBJECT_STORES:
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return
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


def sweep(scratch: UPath) -> None:
    """Remove what killed processes left in a scratch folder."""
    if not is_local(scratch) or not scratch.is_dir():
        return
    for leftover in Path(str(scratch)).iterdir():
        # Another process may sweep, or move its file away, at the same time.
        try:
            if time.time() - leftover.stat().st_mtime > STALE_SECONDS:
                leftover.unlink()
        except FileNotFoundError:
            continue


def file_sizes(folder: UPath) -> dict[str, int]:
    """Return the size in bytes of each file of a folder; none if there is no such folder."""
    try:
        return {path.name: path.stat().st_size for path in folder.iterdir()}
    except (FileNotFoundError, NotADirectoryError):
        return {}


def forget_listings(path: UPath) -> None:
    """Drop cached listings of a remote file system, which other processes may have outdated."""
    if not is_local(path):
        path.fs.invalidate_cache()
