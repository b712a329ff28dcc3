"""The store: where artifacts are found, and reading them."""

import hashlib
import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
from upath import UPath

from bindbench.errors import UserError
from bindbench.storage.manifest import DamageError, Manifest
from bindbench.storage.paths import (
    SCRATCH,
    file_sizes,
    forget_listings,
    is_local,
    root_path,
    safe_name,
    write_atomically,
)
from bindbench.storage.schema import decode

CURRENT = "current"


@dataclass(frozen=True)
class Artifact(Manifest):
    """A finished table in the store: its manifest, and its shards on demand.

    Two processes pass it on as its path; the receiver reads the manifest again.
    """

    path: UPath  # the folder of the shards

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self.path, self.digest)

    @property
    def manifest_path(self) -> UPath:
        """The manifest, beside the folder."""
        return manifest_path(self.path)

    @property
    def run_path(self) -> UPath:
        """Timings and host facts of the build, which no comparison reads."""
        return self.path.parent / f"{self.path.name}.run.json"

    def read(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return all rows, of all columns or of some in the order asked for.

        Raises:
            DamageError: a shard is missing, truncated or altered.
        """
        return pa.concat_tables(self.read_shard(i, columns) for i in range(len(self.shards)))

    def read_shard(self, i: int, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the rows of shard ``i``.

        A whole shard is compared with its sha256. Of some columns only those are read, and
        compared with their checksums, so that captions don't cost the reading of the images.

        Raises:
            DamageError: the shard is missing, truncated or altered.
        """
        if columns is None:
            return decode(pa.BufferReader(self._intact_bytes(i)))
        self._check_size(i, self._size(i))
        try:
            with _open(self._file(i)) as source:
                return decode(source, columns)
        except (OSError, pa.ArrowException) as error:
            raise DamageError(self._file(i), f"is altered ({error})") from error

    def verify(self) -> None:
        """Compare every shard with its sha256.

        Raises:
            DamageError: a shard is missing, truncated or altered.
        """
        for i in range(len(self.shards)):
            self._intact_bytes(i)

    def verify_sizes(self) -> None:
        """Notice missing and truncated shards, without reading them.

        Raises:
            DamageError: a shard is missing or does not have its size.
        """
        forget_listings(self.path)
        sizes = file_sizes(self.path)
        for i, shard in enumerate(self.shards):
            self._check_size(i, sizes.get(shard.file))

    def damaged_shards(self) -> list[int]:
        """Return the indices of the shards that are missing, truncated or altered."""
        damaged = []
        for i in range(len(self.shards)):
            try:
                self._intact_bytes(i)
            except DamageError:
                damaged.append(i)
        return damaged

    def _file(self, i: int) -> UPath:
        return self.path / self.shards[i].file

    def _size(self, i: int) -> int | None:
        try:
            return self._file(i).stat().st_size
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _check_size(self, i: int, size: int | None) -> None:
        if size is None:
            raise DamageError(self._file(i), "is missing")
        if size != self.shards[i].bytes:
            right = self.shards[i].bytes
            raise DamageError(self._file(i), f"has {size} bytes instead of {right}")

    def _intact_bytes(self, i: int) -> bytes:
        try:
            data = self._file(i).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            data = None
        self._check_size(i, None if data is None else len(data))
        assert data is not None
        if hashlib.sha256(data).hexdigest() != self.shards[i].sha256:
            raise DamageError(self._file(i), "is altered (its sha256 is not the manifest's)")
        return data


class Store:
    """The artifacts of one suite: ``<root>/<suite>/<asset>/<partition>/<fingerprint>/``."""

    def __init__(self, root: str | os.PathLike[str], suite: str):
        self.root = root_path(root)
        self.suite = suite
        self.path = self.root / safe_name(suite)

    def partition_path(self, asset: str, partition: str) -> UPath:
        """Return the folder that holds all artifacts of a partition."""
        return self.path / safe_name(asset) / safe_name(partition)

    def artifact_path(self, asset: str, partition: str, fingerprint: str) -> UPath:
        """Return the folder of an artifact's shards, which need not exist."""
        return self.partition_path(asset, partition) / safe_name(fingerprint)

    def current(self, asset: str, partition: str) -> Artifact | None:
        """Return the artifact that was built last, or None if none ever was.

        Raises:
            UserError: the pointer names an artifact that is unfinished, damaged or gone.
        """
        fingerprint = self._current_fingerprint(asset, partition)
        return None if fingerprint is None else self.open(asset, partition, fingerprint)

    def open(self, asset: str, partition: str, fingerprint: str) -> Artifact:
        """Return a finished artifact.

        Raises:
            UserError: there is none, it is unfinished, or its manifest is damaged.
        """
        return load(self.artifact_path(asset, partition, fingerprint))

    def set_current(self, artifact: Artifact) -> None:
        """Make an artifact the current one of its partition.

        Raises:
            UserError: the store can't be written.
        """
        where = artifact.asset, artifact.partition
        if self._current_fingerprint(*where) == artifact.fingerprint:
            return  # so that nothing is written when nothing changed
        self.check_writable()
        folder = self.partition_path(*where)
        write_atomically(folder / CURRENT, f"{artifact.fingerprint}\n".encode(), folder / SCRATCH)

    def check_writable(self) -> None:
        """Write and remove a small file.

        Raises:
            UserError: the store can't be written.
        """
        probe = self.path / SCRATCH / f"probe-{uuid.uuid4().hex}"
        try:
            write_atomically(probe, b"", self.path / SCRATCH)
            probe.unlink()
        except Exception as error:  # every file system has its own
            raise UserError(
                f"The store {self.path} can't be written ({type(error).__name__}: {error}): "
                "give a folder that you may write to."
            ) from error

    def _current_fingerprint(self, asset: str, partition: str) -> str | None:
        path = self.partition_path(asset, partition) / CURRENT
        forget_listings(path)
        try:
            return path.read_bytes().decode().strip()
        except (FileNotFoundError, NotADirectoryError):
            return None


def manifest_path(folder: UPath) -> UPath:
    """Return where the manifest of a folder of shards stands."""
    return folder.parent / f"{folder.name}.json"


def load(folder: UPath) -> Artifact:
    """Open the finished artifact whose shards are in ``folder``.

    Raises:
        UserError: there is none, it is unfinished, or its manifest is damaged.
    """
    forget_listings(folder)
    path = manifest_path(folder)
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        if folder.exists():
            why = f"{folder} is unfinished: it has no manifest {path.name}"
            raise UserError(f"{why}; run the build again to finish it.") from None
        raise UserError(f"There is no artifact {folder}: build it first.") from None
    artifact = Artifact(**Manifest.fields_from_json(data, path), path=folder)
    if artifact.fingerprint != folder.name:
        raise DamageError(path, f"is the manifest of another artifact ({artifact.fingerprint})")
    return artifact


@lru_cache(maxsize=64)
def _reopen(folder: UPath, digest: str) -> Artifact:
    """Open an artifact in a worker process, once for all of its shards."""
    artifact = load(folder)
    if artifact.digest != digest:
        raise UserError(f"{folder} changed while it was read: run again.")
    return artifact


def _open(path: UPath) -> pa.NativeFile:
    if is_local(path):
        return pa.OSFile(str(path))
    return pa.PythonFile(path.open("rb"), mode="r")
