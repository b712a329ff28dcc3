"""Shards as files: written by the worker that computed them, found again by their fingerprint.

Beside each part stands a record with its sha256, at
``<partition>/.shards/<shard fingerprint>/<artifact fingerprint>.<part>.json``. It is written before
the part: a part that has its record, and the record's sha256, is finished. The shard's fingerprint
is not in the part itself, so that equal content has an equal digest whatever it was made from.
"""

import contextlib
import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from upath import UPath

from bindbench.errors import UserError
from bindbench.storage.files import files, read_bytes, write_atomically
from bindbench.storage.manifest import ShardInfo
from bindbench.storage.paths import SCRATCH, safe_name
from bindbench.storage.retries import ABSENT
from bindbench.storage.schema import encode

RECORDS = ".shards"


@dataclass(frozen=True)
class PartJob:
    """One shard to compute."""

    file: str
    fingerprint: str
    task: Any
    expected: ShardInfo | None = None  # in a repair: what it was


@dataclass(frozen=True)
class WritePart:
    """Computes a shard and writes it, in the worker: tables never travel between processes."""

    function: Callable[[Any], pa.Table]
    schema: pa.Schema
    folder: UPath

    def __call__(self, job: PartJob) -> ShardInfo:
        """Write the part and return what a manifest says of it.

        Raises:
            UserError: a repair gave something else than what was there.
        """
        table = self.function(job.task)
        data = encode(table, self.schema)
        sha256 = hashlib.sha256(data).hexdigest()
        info = ShardInfo(job.file, sha256, table.num_rows, len(data), job.fingerprint)
        if job.expected is not None and job.expected != info:
            raise UserError(_difference(self.folder / job.file, job.expected, info))
        save(self.folder, info, data)
        return info


def save(folder: UPath, info: ShardInfo, data: bytes) -> None:
    """Write a part of the artifact in ``folder``, and its record before it."""
    partition = folder.parent
    record = {"artifact": folder.name, **asdict(info)}
    text = json.dumps(record, sort_keys=True)
    home = partition / RECORDS / safe_name(info.fingerprint)
    path = home / f"{folder.name}.{info.file}.json"
    write_atomically(path, text.encode(), partition / SCRATCH)
    write_atomically(folder / info.file, data, partition / SCRATCH)


class Known:
    """The parts that the builds of a partition have written, by their records."""

    def __init__(self, partition: UPath):
        self._partition = partition
        self._records: dict[str, list[str]] = {}  # by the shard's fingerprint, as a name
        for name in files(partition / RECORDS):
            self._records.setdefault(name.partition("/")[0], []).append(name)

    def reuse(
        self, folder: UPath, file: str, fingerprint: str, schema: pa.Schema
    ) -> ShardInfo | None:
        """Make sure of a part that was computed before, here or for a sibling artifact.

        Returns None if no intact part of this fingerprint exists.
        """
        for home, info in self._parts(folder, file, fingerprint):
            data = _intact(home / info.file, info, schema)
            if data is None:
                continue
            found = ShardInfo(file, info.sha256, info.rows, info.bytes, fingerprint)
            if (home, info.file) != (folder, file):
                save(folder, found, data)
            return found
        return None

    def _parts(self, folder: UPath, file: str, fingerprint: str) -> list[tuple[UPath, ShardInfo]]:
        """Return where parts of this fingerprint were written, the wanted place first."""
        parts = []
        for name in self._records.get(safe_name(fingerprint), ()):
            # A record that is gone or can't be read vouches for nothing: the shard is computed.
            with contextlib.suppress(ValueError, KeyError, TypeError, *ABSENT):
                content = json.loads(read_bytes(self._partition / RECORDS / name))
                home = self._partition / safe_name(content.pop("artifact"))
                parts.append((home, ShardInfo(**content)))
        return sorted(parts, key=lambda part: (part[0], part[1].file) != (folder, file))


def _intact(path: UPath, info: ShardInfo, schema: pa.Schema) -> bytes | None:
    try:
        data = read_bytes(path)
    except ABSENT:
        return None
    if hashlib.sha256(data).hexdigest() != info.sha256:
        return None
    found = pq.read_schema(pa.BufferReader(data))
    return data if found.equals(schema, check_metadata=False) else None


def _difference(path: UPath, expected: ShardInfo, found: ShardInfo) -> str:
    different = [
        f"{name} {getattr(found, name)} instead of {getattr(expected, name)}"
        for name in ("rows", "bytes", "sha256")
        if getattr(found, name) != getattr(expected, name)
    ]
    return (
        f"{path} can't be repaired, because it is not what it was ({', '.join(different)}): build "
        f"with the package versions in {path.parent.name}.run.json, or remove {path.parent} and "
        "its manifest to build the artifact anew."
    )
