"""What every stage shares: its context, its inputs, and shards that follow those of the inputs."""

import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import pyarrow as pa

from bindbench.concepts import content_id
from bindbench.engine.base import Engine
from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.models.family import Role
from bindbench.storage.datasets import Shard, build
from bindbench.storage.progress import Progress
from bindbench.storage.store import Artifact, Store
from bindbench.suite import RoleSettings, Suite
from bindbench.vocabulary import Lexicon
from bindbench.vocabulary_files import load_lexicon

UNPARTITIONED = "all"


@dataclass(frozen=True)
class ShardInputs:
    """The task of one shard: its number and the artifacts that it reads."""

    index: int
    artifacts: Mapping[str, Artifact]

    def rows(self, asset: str, columns: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Return the rows of the input's shard of the same number."""
        return self.artifacts[asset].read_shard(self.index, columns).to_pylist()


@dataclass(frozen=True)
class Context:
    """What a stage needs to know and use."""

    suite: Suite
    store: Store
    engine: Engine
    on_progress: Callable[[str, str], Progress] | None = None  # asset, partition -> callback
    repair: bool = False
    make_current: bool = True  # whether what is built becomes its partition's current artifact
    # Artifacts that stand for the current ones of all partitions, by asset.
    standing: Mapping[str, Artifact] = field(default_factory=dict)

    @property
    def lexicon(self) -> Lexicon:
        """The suite's vocabularies."""
        return suite_lexicon(self.suite)

    def current(self, asset: str, partition: str) -> Artifact:
        """Return the artifact that a stage builds on.

        Raises:
            UserError: it has not been built.
        """
        artifact = self.standing.get(asset) or self.store.current(asset, partition)
        if artifact is None:
            raise UserError(
                f"{asset} of {partition} is not in the store {self.store.root}: "
                f"build it with 'bindbench run --suite {self.suite.name}'."
            )
        return artifact

    def holding(self, role: Role, settings: RoleSettings) -> "Context":
        """Return the context with an engine whose workers can hold a model."""
        engine = self.engine.holding(registry.demand(role, settings))
        return self if engine is self.engine else replace(self, engine=engine)

    def build(
        self,
        asset: str,
        partition: str,
        schema: pa.Schema,
        settings: dict[str, Any],
        shards: Sequence[Shard],
        function: Callable[[Any], pa.Table],
        summarize: Callable[[Artifact], dict[str, Any]] | None = None,
    ) -> Artifact:
        """Build an artifact, or return the one that stands for the same settings and inputs."""
        progress = self.on_progress(asset, partition) if self.on_progress else None
        read = shards[0].task.artifacts if isinstance(shards[0].task, ShardInputs) else {}
        inputs = {name: artifact.digest for name, artifact in read.items()}
        return build(
            self.store,
            asset,
            partition,
            schema=schema,
            settings=settings | {"inputs": inputs},
            shards=shards,
            function=function,
            engine=self.engine,
            summarize=summarize,
            on_progress=progress,
            repair=self.repair,
            make_current=self.make_current,
        )


def suite_lexicon(suite: Suite) -> Lexicon:
    """Return a suite's vocabularies, loaded once in a process."""
    return _lexicon(suite.profile.vocabularies.model_dump_json())


@functools.lru_cache(maxsize=4)
def _lexicon(sources: str) -> Lexicon:
    return load_lexicon(json.loads(sources))


def fresh(
    context: Context, asset: str, partition: str, settings: dict[str, Any], names: Sequence[str]
) -> Artifact | None:
    """Return an artifact if it is of these settings and of its inputs as they are, else None.

    Args:
        context: where it is.
        asset: what it is.
        partition: of it and of its inputs.
        settings: that it would be built with now.
        names: of its inputs.
    """
    found = context.store.current(asset, partition)
    inputs = {name: context.store.current(name, partition) for name in names}
    digests = {name: artifact.digest for name, artifact in inputs.items() if artifact}
    now = json.loads(json.dumps(settings | {"inputs": digests}))
    return found if found and found.settings == now else None


def aligned(settings: dict[str, Any], artifacts: Mapping[str, Artifact]) -> list[Shard]:
    """Return one shard for each shard of the inputs, which must have equally many.

    A shard's fingerprint covers the settings and the content of the input shards of its number,
    so that it is recomputed only when one of them changes.
    """
    counts = {name: len(artifact.shards) for name, artifact in artifacts.items()}
    if len(set(counts.values())) > 1:
        raise UserError(
            f"The inputs have different numbers of shards ({counts}): rebuild them all."
        )
    return [
        Shard(
            content_id([settings, {k: a.shards[i].sha256 for k, a in artifacts.items()}]),
            ShardInputs(i, artifacts),
        )
        for i in range(next(iter(counts.values())))
    ]


def whole(settings: dict[str, Any], artifacts: Mapping[str, Artifact]) -> list[Shard]:
    """Return the single shard of a stage that reads its inputs whole."""
    digests = {name: artifact.digest for name, artifact in artifacts.items()}
    return [Shard(content_id([settings, digests]), ShardInputs(0, artifacts))]


S = TypeVar("S")


def batches(rows: Sequence[S], size: int) -> Iterator[Sequence[S]]:
    """Yield the rows of one shard in batches; a batch never holds rows of two shards."""
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def seed_of(*parts: object) -> int:
    """Return a 31-bit seed that depends on ``parts`` alone."""
    return int(content_id(list(parts)), 16) & 0x7FFFFFFF


def strings() -> pa.DataType:
    """The Arrow type of a list of strings."""
    return pa.list_(pa.string())


def table(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Return the rows as a table with exactly this schema."""
    return pa.Table.from_pylist(list(rows), schema=schema)
