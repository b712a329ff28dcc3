"""Deleting what no ``current`` pointer refers to.

A partition to which anything was written within the age limit is left alone: a build may be at
work there. Builds show themselves by a file of their own in the partition, and by their shards.

Of an artifact the manifest is deleted first: from then on it is unfinished, wherever the deletion
stops. A build that makes it current at this very moment looks for the manifest afterwards and
makes it again; here the pointer is read again after the deletion, and the manifest put back.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from bindbench.storage.files import FileFacts, read_bytes, remove, write_atomically
from bindbench.storage.inventory import Held, Partition, look, orphans, pointer
from bindbench.storage.paths import SCRATCH, is_local
from bindbench.storage.retries import ABSENT


@dataclass(frozen=True)
class Waste:
    """Files of one partition that can go, and why."""

    partition: Partition
    what: str  # replaced, unfinished, damaged, orphan records, scratch
    fingerprint: str  # of an artifact; else empty
    files: dict[str, FileFacts]  # in the order in which they are deleted
    read_by: tuple[str, ...] = ()  # current artifacts that were made from it

    @property
    def bytes(self) -> int:
        """What its deletion frees."""
        return sum(facts.bytes for facts in self.files.values())


def waste(partitions: Sequence[Partition], hours: float) -> Iterator[Waste]:
    """Yield what can be deleted.

    A partition whose pointer names something that is not finished keeps everything: its other
    artifacts may serve to make it again.

    Args:
        partitions: of whole suites.
        hours: the age limit of a partition's last change.
    """
    readers = _readers(partitions)
    for partition in partitions:
        if not is_in_use(partition, hours) and not _is_broken(partition):
            yield from _waste_of(partition, readers)


def is_in_use(partition: Partition, hours: float) -> bool:
    """Whether something was written to a partition within the last hours."""
    return time.time() - partition.modified < hours * 3600


def _is_broken(partition: Partition) -> bool:
    if partition.current is None:
        return False
    held = partition.held.get(partition.current)
    return held is None or held.artifact is None


def _waste_of(partition: Partition, readers: dict[str, tuple[str, ...]]) -> Iterator[Waste]:
    kept_records = {}
    for held in partition.held.values():
        state = partition.state(held)
        if state == "current":
            kept_records |= held.records
        elif held.files:
            digest = held.artifact.digest if held.artifact else ""
            equal = digest and _current_digest(partition) == digest
            read_by = () if equal else readers.get(f"{partition.suite}:{digest}", ())
            yield Waste(partition, state, held.fingerprint, _in_order(held), read_by)
    lost = {
        name: facts
        for name, facts in orphans(partition).items()
        if name in kept_records or not _owner(partition, name).files
    }
    if lost:
        yield Waste(partition, "orphan records", "", lost)
    if partition.scratch:
        yield Waste(partition, "scratch", "", partition.scratch)


def _owner(partition: Partition, record: str) -> Held:
    return partition.held[record.rpartition("/")[2].partition(".")[0]]


def _current_digest(partition: Partition) -> str:
    held = partition.held.get(partition.current or "")
    return held.artifact.digest if held and held.artifact else ""


def _readers(partitions: Sequence[Partition]) -> dict[str, tuple[str, ...]]:
    """Return by suite and digest which current artifacts were made from it."""
    readers: dict[str, tuple[str, ...]] = {}
    for partition in partitions:
        held = partition.held.get(partition.current or "")
        inputs = held.artifact.settings.get("inputs", {}) if held and held.artifact else {}
        for digest in inputs.values():
            key = f"{partition.suite}:{digest}"
            readers[key] = (*readers.get(key, ()), f"{partition.asset}/{partition.partition}")
    return readers


def _in_order(held: Held) -> dict[str, FileFacts]:
    """Return an artifact's files, the manifest first and the records last."""
    manifest = f"{held.fingerprint}.json"
    first = {manifest: held.files[manifest]} if manifest in held.files else {}
    return first | held.files | held.records


def delete(found: Waste, hours: float) -> bool:
    """Delete waste unless the partition came into use meanwhile; return whether it is gone.

    Raises:
        UserError: a file can't be removed.
    """
    partition = look(found.partition)
    if is_in_use(partition, hours) or partition.current != found.partition.current:
        return False
    scratch = partition.path / SCRATCH
    names = list(found.files)
    if found.fingerprint and names[0] == f"{found.fingerprint}.json":
        manifest = partition.path / names[0]
        try:
            content = read_bytes(manifest)
        except ABSENT:
            content = b""
        remove(manifest)
        if pointer(partition.path) == found.fingerprint:
            write_atomically(manifest, content, scratch)
            return False
    for name in names:
        remove(partition.path / name)
    _remove_empty_folders(found)
    return True


def _remove_empty_folders(found: Waste) -> None:
    """Remove the folders that the deletion left empty; object stores have none."""
    root = found.partition.path
    if not is_local(root):
        return
    for folder in {(root / name).parent for name in found.files} - {root}:
        with suppress(OSError):  # it still holds something, or another process was first
            folder.rmdir()
