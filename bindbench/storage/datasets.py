"""Building an artifact: only the shards that no earlier build left, then the manifest."""

import json
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Protocol

import pyarrow as pa
from upath import UPath

from bindbench.engine.base import Engine
from bindbench.errors import UserError
from bindbench.storage.facts import run_facts
from bindbench.storage.files import file_size, remove, sweep, write_atomically
from bindbench.storage.manifest import DamageError, ShardInfo, fingerprint_of
from bindbench.storage.parts import Known, PartJob, WritePart
from bindbench.storage.paths import SCRATCH, in_this_process_only
from bindbench.storage.progress import Progress, Tracker
from bindbench.storage.store import Artifact, Store, load, manifest_path

__all__ = ["Progress", "Shard", "ShardFunction", "build"]


@dataclass(frozen=True)
class Shard:
    """A unit of work, of retry and of resume."""

    fingerprint: str  # a hash of all that determines its content
    task: Any  # picklable; what the function is called with


class ShardFunction(Protocol):
    """Computes a shard; a top-level function, or a frozen dataclass with this method."""

    def __call__(self, task: Any, /) -> pa.Table:
        """Return the shard of a task, the same for the same task."""
        ...


def build(
    store: Store,
    asset: str,
    partition: str,
    *,
    schema: pa.Schema,
    settings: dict[str, Any],
    shards: Sequence[Shard],
    function: ShardFunction,
    engine: Engine,
    summarize: Callable[[Artifact], dict[str, Any]] | None = None,
    on_progress: Progress | None = None,
    repair: bool = False,
    make_current: bool = True,
) -> Artifact:
    """Return the artifact of these settings and shards, made the current one of its partition.

    If it is finished, nothing is computed. Else a shard is computed only if no artifact of the
    partition, finished or not, holds one of its fingerprint. The result is byte-identical whatever
    was reused, killed before, or computed where.

    Args:
        store: where it is kept.
        asset: what it is.
        partition: of what; "all" if the asset has no partitions.
        schema: of the tables, exactly. A column of type ``schema.IMAGE`` is an image.
        settings: what determined the content, as JSON data; recorded, so no secrets.
        shards: at least one.
        function: computes a shard.
        engine: where.
        summarize: makes the manifest's summary (JSON data) from the computed artifact.
        on_progress: called after each shard.
        repair: recompute the damaged shards of a finished artifact, which must become what
            they were.
        make_current: False leaves the partition's current artifact as it is.

    Raises:
        UserError: the store can't be written; a finished artifact is damaged (DamageError); a
            repair gave something else; or every failed shard failed with a UserError.
        ShardError: shards failed otherwise. The others are kept.
        ValueError, TypeError: there are no shards, or settings or summary are not JSON data.
    """
    if not shards:
        raise ValueError(f"{asset} of {partition} has no shards")
    # As a reader of the manifest will see them.
    settings = json.loads(json.dumps(settings, allow_nan=False))
    fingerprint = fingerprint_of(settings, [shard.fingerprint for shard in shards])
    folder = store.artifact_path(asset, partition, fingerprint)
    run = _Build(folder, schema, shards, function, engine, Tracker(len(shards), on_progress))
    before = store.current_fingerprint(asset, partition)
    artifact = _finished(folder, repair)
    if artifact is None:
        with _at_work(store, folder, engine):
            artifact = run.make(asset, partition, settings, summarize)
    elif repair and (damaged := artifact.damaged_shards()):
        with _at_work(store, folder, engine):
            run.repair(artifact, damaged)
    else:
        run.tracker.add_reused(len(shards))
    gone = make_current and store.set_current(artifact, before) and not _has_manifest(folder)
    if gone:  # a clean-up removed it before it became current; it removes nothing that is
        with _at_work(store, folder, engine):
            artifact = run.make(asset, partition, settings, summarize)
    return artifact


def _finished(folder: UPath, repair: bool) -> Artifact | None:
    if not _has_manifest(folder):
        return None
    try:
        artifact = load(folder)
        if not repair:
            artifact.verify_sizes()
    except DamageError:
        if not repair:
            raise
        return None  # the manifest is damaged: it is made again from the shards
    return artifact


def _has_manifest(folder: UPath) -> bool:
    return file_size(manifest_path(folder)) is not None


@contextmanager
def _at_work(store: Store, folder: UPath, engine: Engine) -> Iterator[None]:
    """Prepare for work, and show a clean-up that the partition is in use."""
    if in_this_process_only(store.root) and engine.workers > 1:
        raise UserError(
            f"The store {store.root} exists in one process only, but the engine has "
            f"workers={engine.workers}: use workers=1 or a store on a disk."
        )
    store.check_writable()
    scratch = folder.parent / SCRATCH
    sweep(scratch)
    sign = scratch / f"build-{uuid.uuid4().hex}"
    write_atomically(sign, b"", scratch)
    try:
        yield
    finally:
        with suppress(UserError):  # it grows stale; what went wrong before says more
            remove(sign)


@dataclass(frozen=True)
class _Build:
    """One call of ``build`` that may have work to do."""

    folder: UPath
    schema: pa.Schema
    shards: Sequence[Shard]
    function: ShardFunction
    engine: Engine
    tracker: Tracker

    def make(
        self,
        asset: str,
        partition: str,
        settings: dict[str, Any],
        summarize: Callable[[Artifact], dict[str, Any]] | None,
    ) -> Artifact:
        """Make the shards that are missing, then the manifest."""
        started = datetime.now(UTC)
        infos = self._reused()
        self._compute([self._job(i) for i in range(len(self.shards)) if i not in infos], infos)
        ordered = tuple(infos[i] for i in range(len(self.shards)))
        artifact = Artifact(asset, partition, settings, ordered, {}, self.folder)
        if summarize is not None:
            summary = json.loads(json.dumps(summarize(artifact), allow_nan=False))
            artifact = replace(artifact, summary=summary)
        facts = run_facts(started, self.engine.workers, self.tracker)
        self._write(artifact.run_path, json.dumps(facts, indent=1).encode())
        self._write(artifact.manifest_path, artifact.to_json())  # last: it says "finished"
        return artifact

    def repair(self, artifact: Artifact, damaged: Sequence[int]) -> None:
        """Compute the damaged shards again; they must become what they were."""
        self.tracker.add_reused(len(self.shards) - len(damaged))
        self._compute([self._job(i, artifact.shards[i]) for i in damaged], {})

    def _reused(self) -> dict[int, ShardInfo]:
        infos, known = {}, Known(self.folder.parent)
        for i, shard in enumerate(self.shards):
            info = known.reuse(self.folder, _part(i), shard.fingerprint, self.schema)
            if info is not None:
                infos[i] = info
                self.tracker.add_reused()
        return infos

    def _job(self, i: int, expected: ShardInfo | None = None) -> PartJob:
        return PartJob(_part(i), self.shards[i].fingerprint, self.shards[i].task, expected)

    def _compute(self, jobs: Sequence[PartJob], infos: dict[int, ShardInfo]) -> None:
        index = {_part(i): i for i in range(len(self.shards))}

        def on_done(_: int, info: ShardInfo) -> None:
            infos[index[info.file]] = info
            self.tracker.add_computed()

        self.tracker.start_computing()
        write = WritePart(self.function, self.schema, self.folder)
        self.engine.map(write, jobs, on_done, [str(self.folder / job.file) for job in jobs])

    def _write(self, path: UPath, data: bytes) -> None:
        write_atomically(path, data, self.folder.parent / SCRATCH)


def _part(i: int) -> str:
    return f"part-{i:05d}.parquet"
