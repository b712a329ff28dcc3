"""What a store holds: every artifact, from one listing of its files, and whether it is intact."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote

from upath import UPath

from bindbench.errors import UserError
from bindbench.storage.files import FileFacts, files, read_bytes
from bindbench.storage.manifest import DamageError
from bindbench.storage.parts import RECORDS
from bindbench.storage.paths import SCRATCH, root_path
from bindbench.storage.progress import Progress, Tracker
from bindbench.storage.retries import ABSENT
from bindbench.storage.store import CURRENT, Artifact, load

FINGERPRINT = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class Held:
    """One artifact as the store holds it, finished or not."""

    fingerprint: str
    files: dict[str, FileFacts]  # by their path in the partition: manifest, run file, parts
    records: dict[str, FileFacts]  # the records of its parts
    artifact: Artifact | None  # None: unfinished, or its manifest is damaged
    damage: DamageError | None = None

    @property
    def bytes(self) -> int:
        """The size of all its files."""
        return sum(facts.bytes for facts in (*self.files.values(), *self.records.values()))

    @property
    def modified(self) -> float:
        """When the last of its files was written, in seconds since 1970."""
        return max(facts.modified for facts in (*self.files.values(), *self.records.values()))


@dataclass(frozen=True)
class Partition:
    """All that the store holds of one partition of an asset."""

    path: UPath
    suite: str
    asset: str
    partition: str
    current: str | None  # the fingerprint that the pointer names
    held: dict[str, Held]
    scratch: dict[str, FileFacts]
    modified: float  # when anything was written to it last

    def state(self, held: Held) -> str:
        """Say in a word what an artifact is: current, replaced, unfinished or damaged."""
        if held.damage is not None:
            return "damaged"
        if held.artifact is None:
            return "unfinished"
        return "current" if held.fingerprint == self.current else "replaced"

    @property
    def name(self) -> str:
        """How messages call it."""
        return f"{self.suite}/{self.asset}/{self.partition}"


@dataclass
class _Found:
    """The files of one partition, sorted by what they belong to."""

    all: dict[str, FileFacts] = field(default_factory=dict)
    files: dict[str, dict[str, FileFacts]] = field(default_factory=dict)
    records: dict[str, dict[str, FileFacts]] = field(default_factory=dict)
    scratch: dict[str, FileFacts] = field(default_factory=dict)

    @property
    def is_partition(self) -> bool:
        """Whether builds wrote this: others keep folders of their own in the store."""
        return bool(self.records) or CURRENT in self.all

    def add(self, name: str, facts: FileFacts) -> None:
        self.all[name] = facts
        first, _, rest = name.partition("/")
        if first == SCRATCH:
            self.scratch[name] = facts
        elif first == RECORDS:
            owner = rest.rpartition("/")[2].partition(".")[0]
            self.records.setdefault(owner, {})[name] = facts
        elif FINGERPRINT.fullmatch(owner := first.partition(".")[0]):
            self.files.setdefault(owner, {})[name] = facts


def survey(root: str | os.PathLike[str], suite: str | None = None) -> list[Partition]:
    """Return all partitions of a store, or of one of its suites, in the order of their paths.

    Files that no build wrote, such as exported pages and checkpoints, are in none of them.

    Raises:
        UserError: there is no such suite, or the storage fails.
    """
    path, found = root_path(root), {}
    for name, facts in files(path / suite if suite else path).items():
        parts = (f"{suite}/{name}" if suite else name).split("/", 3)
        if len(parts) == 4 and SCRATCH not in parts[:3]:
            found.setdefault(tuple(parts[:3]), _Found()).add(parts[3], facts)
    if suite and not found:
        raise UserError(f"The store {path} holds nothing of a suite {suite!r}.")
    return [
        _partition(path.joinpath(*key), key, sorted_)
        for key, sorted_ in found.items()
        if sorted_.is_partition
    ]


def look(partition: Partition) -> Partition:
    """Return what a partition holds now."""
    found = _Found()
    for name, facts in files(partition.path).items():
        found.add(name, facts)
    return _partition(
        partition.path, (partition.suite, partition.asset, partition.partition), found
    )


def _partition(path: UPath, key: Sequence[str], found: _Found) -> Partition:
    suite, asset, partition = map(unquote, key)
    held = {
        owner: _held(path, owner, found.files.get(owner, {}), found.records.get(owner, {}))
        for owner in sorted(found.files.keys() | found.records.keys())
        if owner in found.records or f"{owner}.json" in found.files[owner]
    }
    newest = max((facts.modified for facts in found.all.values()), default=0.0)
    return Partition(path, suite, asset, partition, pointer(path), held, found.scratch, newest)


def pointer(path: UPath) -> str | None:
    """Return the fingerprint that a partition's pointer names, if there is one."""
    try:
        return read_bytes(path / CURRENT).decode().strip()
    except ABSENT:
        return None


def _held(
    path: UPath, owner: str, found: dict[str, FileFacts], records: dict[str, FileFacts]
) -> Held:
    if f"{owner}.json" not in found:
        return Held(owner, found, records, None)
    try:
        return Held(owner, found, records, load(path / owner))
    except DamageError as error:
        return Held(owner, found, records, None, error)


def damages(partitions: Sequence[Partition], on_progress: Progress | None = None) -> Iterator[str]:
    """Yield a line for each damaged thing: pointers, manifests and shards, each read in full."""
    finished = [h.artifact for p in partitions for h in p.held.values() if h.artifact]
    tracker = Tracker(sum(len(artifact.shards) for artifact in finished), on_progress)
    for partition in partitions:
        whole = {h.fingerprint for h in partition.held.values() if h.artifact or h.damage}
        if partition.current is not None and partition.current not in whole:
            yield f"{partition.path / CURRENT} names {partition.current}, which has no manifest"
        for held in partition.held.values():
            if held.damage is not None:
                yield str(held.damage)
            for i in range(len(held.artifact.shards) if held.artifact else 0):
                assert held.artifact is not None
                try:
                    held.artifact.verify_shard(i)
                except DamageError as error:
                    yield str(error)
                tracker.add_computed()


def orphans(partition: Partition) -> dict[str, FileFacts]:
    """Return the records of parts that are not there: they vouch for nothing."""
    return {
        name: facts
        for held in partition.held.values()
        for name, facts in held.records.items()
        if f"{held.fingerprint}/{_part_of(name)}" not in held.files
    }


def _part_of(record: str) -> str:
    """Return the part that a record is of, by its name ``<fingerprint>.<part>.json``."""
    return record.rpartition("/")[2].partition(".")[2].removesuffix(".json")
