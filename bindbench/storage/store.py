"""The store: where artifacts are found, and reading them."""

import hashlib
import logging
import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
from upath import UPath

from bindbench.errors import UserError
from bindbench.storage.files import (
    file_size,
    files,
    open_ranges,
    read_bytes,
    remove,
    write_atomically,
)
from bindbench.storage.manifest import DamageError, Manifest
from bindbench.storage.paths import SCRATCH, root_path, safe_name
from bindbench.storage.schema import decode

CURRENT = "current"
FROZEN = "frozen"  # a file in a release's store

log = logging.getLogger(__name__)


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
        self._check_size(i, file_size(self._file(i)))
        try:
            with open_ranges(self._file(i), self.shards[i].bytes) as source:
                return decode(source, columns)
        except (OSError, pa.ArrowException) as error:
            raise DamageError(self._file(i), f"is altered ({error})") from error

    def verify(self) -> None:
        """Compare every shard with its sha256.

        Raises:
            DamageError: a shard is missing, truncated or altered.
        """
        for i in range(len(self.shards)):
            self.verify_shard(i)

    def verify_shard(self, i: int) -> None:
        """Compare shard ``i`` with its sha256.

        Raises:
            DamageError: it is missing, truncated or altered.
        """
        self._intact_bytes(i)

    def verify_sizes(self) -> None:
        """Notice missing and truncated shards, without reading them.

        Raises:
            DamageError: a shard is missing or does not have its size.
        """
        found = files(self.path)
        for i, shard in enumerate(self.shards):
            self._check_size(i, found[shard.file].bytes if shard.file in found else None)

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

    def _check_size(self, i: int, size: int | None) -> None:
        if size is None:
            raise DamageError(self._file(i), "is missing")
        if size != self.shards[i].bytes:
            right = self.shards[i].bytes
            raise DamageError(self._file(i), f"has {size} bytes instead of {right}")

    def _intact_bytes(self, i: int) -> bytes:
        try:
            data = read_bytes(self._file(i))
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

    @property
    def frozen(self) -> str:
        """The version of the release that it is, else "".

        In a release scores stand as they are, and their models need not be here.
        """
        if file_size(self.path / FROZEN) is None:
            return ""
        return read_bytes(self.path / FROZEN).decode().strip()

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
        fingerprint = self.current_fingerprint(asset, partition)
        return None if fingerprint is None else self.open(asset, partition, fingerprint)

    def open(self, asset: str, partition: str, fingerprint: str) -> Artifact:
        """Return a finished artifact.

        Raises:
            UserError: there is none, it is unfinished, or its manifest is damaged.
        """
        return load(self.artifact_path(asset, partition, fingerprint))

    def current_fingerprint(self, asset: str, partition: str) -> str | None:
        """Return the fingerprint of the artifact that was built last, or None if none ever was."""
        try:
            return read_bytes(self.partition_path(asset, partition) / CURRENT).decode().strip()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def set_current(self, artifact: Artifact, before: str | None) -> bool:
        """Make an artifact the current one of its partition; return whether that changed anything.

        Args:
            artifact: finished.
            before: what was current when its build began; another run may have changed it since.

        Raises:
            UserError: the store can't be written.
        """
        where = artifact.asset, artifact.partition
        now = self.current_fingerprint(*where)
        if now == artifact.fingerprint:
            return False  # so that nothing is written when nothing changed
        if now != before:
            log.warning(
                "%s of %s: another run made %s the current artifact while %s was built; the one "
                "that is finished last counts, and that is now %s.",
                *(*where, now, artifact.fingerprint, artifact.fingerprint),
            )
        self.check_writable()
        folder = self.partition_path(*where)
        write_atomically(folder / CURRENT, f"{artifact.fingerprint}\n".encode(), folder / SCRATCH)
        return True

    def check_writable(self) -> None:
        """Write and remove a small file.

        Raises:
            UserError: the store can't be written.
        """
        probe = self.path / SCRATCH / f"probe-{uuid.uuid4().hex}"
        try:
            write_atomically(probe, b"", self.path / SCRATCH)
            remove(probe)
        except Exception as error:  # every file system has its own
            cause = error.__cause__ or error
            raise UserError(
                f"The store {self.path} can't be written ({type(cause).__name__}: {cause}): "
                "give a folder or a bucket that you may write to."
            ) from error


def manifest_path(folder: UPath) -> UPath:
    """Return where the manifest of a folder of shards stands."""
    return folder.parent / f"{folder.name}.json"


def load(folder: UPath) -> Artifact:
    """Open the finished artifact whose shards are in ``folder``.

    Raises:
        UserError: there is none, it is unfinished, or its manifest is damaged.
    """
    path = manifest_path(folder)
    try:
        data = read_bytes(path)
    except (FileNotFoundError, NotADirectoryError):
        if files(folder):
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
