"""Where artifacts are kept and computed, and the context that the library's stages take."""

import functools
import os
from typing import Any

from dagster import ConfigurableResource
from pydantic import Field

from bindbench.engine.base import Engine
from bindbench.engine.choice import open_engine
from bindbench.pipeline.base import Context
from bindbench.pipeline.progress import log_progress
from bindbench.releases.record import joined, read_record
from bindbench.storage.store import Store
from resources.suite import PROJECT, current_suite


def default_store() -> str:
    """Return the store named by BINDBENCH_STORE, or the project's own folder."""
    return os.environ.get("BINDBENCH_STORE") or str(PROJECT / "store")


def default_workers() -> int:
    """Return the number of worker processes named by BINDBENCH_WORKERS, or one for each core."""
    return int(os.environ.get("BINDBENCH_WORKERS") or os.cpu_count() or 1)


@functools.cache
def shared_engine(workers: int, name: str) -> Engine:
    """Return this process's engine; its workers stay for later steps."""
    return open_engine(workers, name)


class StoreResource(ConfigurableResource):
    """Where artifacts are kept."""

    root: str = Field(description="A folder or an fsspec address such as s3://bucket/folder.")

    def open(self) -> Store:
        """Return the store of the current suite."""
        return Store(self.root, current_suite().name)


class EngineResource(ConfigurableResource):
    """Where shards are computed."""

    workers: int = Field(
        description="Worker processes; 1 computes in the step's own process. Or Ray actors.", ge=1
    )
    name: str = Field(
        default="",
        description="local, ray or ray:HOST:PORT; empty: that of BINDBENCH_ENGINE, else local.",
    )

    def open(self) -> Engine:
        """Return this process's engine; its workers stay for later steps."""
        return shared_engine(self.workers, self.name)


class BenchResource(ConfigurableResource):
    """The suite, the store and the engine together."""

    store: StoreResource
    engine: EngineResource
    repair: bool = Field(default=False, description="Recompute shards that were damaged.")

    def context(self, **roles: Any) -> Context:
        """Return the library's context, with the given roles' settings in the suite's profile.

        The record of releases is read now: a model that was added needs no restart.
        """
        store = self.store.open()
        suite = joined(current_suite(), read_record(store))
        profile = suite.profile.model_copy(update=roles)
        return Context(
            suite.model_copy(update={"profile": profile}),
            store,
            self.engine.open(),
            log_progress,
            self.repair,
        )
