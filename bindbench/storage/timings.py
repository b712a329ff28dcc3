"""What earlier builds took: the run files of a store, beside the manifests that they belong to."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bindbench.storage.files import files, read_bytes
from bindbench.storage.paths import root_path
from bindbench.storage.store import Artifact, load

RUN = ".run.json"


@dataclass(frozen=True)
class Timing:
    """What one build took."""

    suite: str
    artifact: Artifact
    seconds: float  # from its start to its manifest
    computed: int  # shards; the others were kept from earlier builds
    workers: int
    host: str
    first: float | None = None  # seconds until the first shard was computed, where known

    @property
    def startup(self) -> float:
        """The seconds before the work began, such as those that loading a model took.

        They are told from the shards of one worker: by what the first took longer than the others,
        row for row. 0 where that can't be told.
        """
        rows = [shard.rows for shard in self.artifact.shards]
        if self.first is None or self.lanes > 1 or self.computed < len(rows) or not sum(rows[1:]):
            return 0.0
        return max(0.0, self.first - (self.seconds - self.first) * rows[0] / sum(rows[1:]))

    @property
    def lanes(self) -> int:
        """How many shards were computed at the same time."""
        return min(self.workers, self.computed)

    @property
    def share(self) -> float:
        """The computed part of the artifact's shards."""
        return self.computed / len(self.artifact.shards)


def timings(root: str | os.PathLike[str]) -> Iterator[Timing]:
    """Yield the builds of all suites of a store, in the order of their paths.

    Raises:
        DamageError: a manifest is damaged.
    """
    path = root_path(root)
    names = files(path)
    for name in names:
        suite, *_, file = name.split("/")
        manifest = f"{name.removesuffix(RUN)}.json"
        # Without a manifest it was killed between the two: it is built again.
        if name.count("/") == 3 and file.endswith(RUN) and manifest in names:
            folder = (path / name).parent / file.removesuffix(RUN)
            yield timing_of(suite, load(folder))


def timing_of(suite: str, artifact: Artifact) -> Timing:
    """Return what the build of an artifact took, by the run file beside it.

    Raises:
        FileNotFoundError: it has none.
    """
    facts: dict[str, Any] = json.loads(read_bytes(artifact.run_path))
    return Timing(
        suite,
        artifact,
        facts["wall_seconds"],
        facts["shards_computed"],
        facts["workers"],
        facts["host"],
        facts.get("first_shard_seconds"),
    )
