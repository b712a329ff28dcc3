"""Asking the targets of a panel one after the other: what each gives, and all of it together."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from bindbench.conme.asking import Wording
from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.models.base import Answerer, Reply, ReplyRequest
from bindbench.pipeline.asking import ask_all, usage_summary
from bindbench.pipeline.base import Context, ShardInputs, aligned, table
from bindbench.storage.store import Artifact
from bindbench.suite import RoleSettings, Suite


@dataclass(frozen=True)
class Target:
    """A model that is asked."""

    name: str  # its slug
    settings: RoleSettings
    model: Answerer
    wording: Wording
    dtype: str  # of its arithmetic, which decides what a tie is

    def reply(self, requests: Sequence[ReplyRequest]) -> list[Reply]:
        """Return the replies to many requests, asked for in batches.

        Raises:
            Unfinished: a server gave none for some; the others were still asked for.
        """
        return ask_all(requests, self.settings.batch_size, self.model.reply, lambda r: r.key)


def load_target(suite: Suite, name: str, settings: RoleSettings) -> Target:
    """Return a loaded model, for one shard."""
    _, _, options = registry.named("answerer", settings)
    model = registry.load("answerer", settings, suite.profile.vocabularies)
    return Target(name, settings, model, options.wording, getattr(options, "dtype", "float32"))


@dataclass(frozen=True)
class Stage:
    """A stage in which every target is asked about the same shards.

    Attributes:
        asset: what is built.
        where: the image set and the panel.
        settings: what determines its content beside the targets.
        inputs: what it reads, by asset.
        targets: by slug.
    """

    asset: str
    where: str
    settings: Mapping[str, Any]
    inputs: Mapping[str, Artifact]
    targets: Mapping[str, RoleSettings]

    def ask(
        self,
        context: Context,
        schema: pa.Schema,
        function: Callable[[str, RoleSettings], Callable[[ShardInputs], pa.Table]],
    ) -> dict[str, Artifact]:
        """Build what each target gives, as a partition of its own.

        A target gets all shards before the next one does, so that an accelerator loads it once;
        one that is added leaves what the others gave; and one that fails does not keep the others
        from being asked.

        Args:
            context: of the build.
            schema: of what a target gives.
            function: makes what asks a target about a shard.

        Raises:
            UserError: a server gave no answer for some items of a target.
        """
        found: dict[str, Artifact] = {}
        failures: list[str] = []
        for name, model in self.targets.items():
            settings = {**self.settings, "target": registry.describe("answerer", model)}
            try:
                found[name] = context.holding("answerer", model).build(
                    self.asset,
                    part_of(self.where, name),
                    schema,
                    settings,
                    aligned(settings, self.inputs),
                    function(name, model),
                )
            except UserError as error:
                failures.append(str(error))
        if failures:
            raise UserError(" ".join(failures))
        return found

    def join(
        self,
        context: Context,
        schema: pa.Schema,
        parts: Mapping[str, Artifact],
        function: Callable[[ShardInputs], pa.Table],
        summarize: Callable[[Artifact], dict[str, Any]],
    ) -> Artifact:
        """Build the stage from what its targets gave, which stands among the inputs by slug."""
        described = {name: registry.describe("answerer", one) for name, one in self.targets.items()}
        settings = {**self.settings, "targets": described}
        shards = aligned(settings, {**self.inputs, **parts})
        return context.build(self.asset, self.where, schema, settings, shards, function, summarize)


def part_of(where: str, name: str) -> str:
    """Return the partition of what one target gives."""
    return f"{where}--{name}"


@dataclass(frozen=True)
class Interleave:
    """Joins what the targets gave: of each item all of their rows, then of the next."""

    names: tuple[str, ...]
    schema: pa.Schema

    def __call__(self, task: ShardInputs) -> pa.Table:
        """Return the rows of a shard."""
        parts = (task.rows(name) for name in self.names)
        return table([row for rows in zip(*parts, strict=True) for row in rows], self.schema)


def seconds_of(context: Context, artifact: Artifact) -> float:
    """Return how long the build of a stage took, waiting for servers and its targets included."""
    names = artifact.settings.get("targets", {})
    parts = [context.current(artifact.asset, part_of(artifact.partition, name)) for name in names]
    times = (json.loads(one.run_path.read_text())["wall_seconds"] for one in (artifact, *parts))
    return math.fsum(times)


def usage_by_target(
    targets: Mapping[str, RoleSettings], raws: Iterable[tuple[str, str | None]]
) -> dict[str, Any]:
    """Return what the answers of the targets' servers took, by target; {} where none is a server.

    Args:
        targets: by name.
        raws: each answer's target, and the JSON of what it took.
    """
    by_name: dict[str, list[str | None]] = {name: [] for name in targets}
    for name, raw in raws:
        by_name[name].append(raw)
    found = {
        name: usage_summary("answerer", targets[name], own).get("usage")
        for name, own in by_name.items()
    }
    used = {name: usage for name, usage in found.items() if usage}
    return {"usage": used} if used else {}
