"""Asking the targets of a panel one after the other, where servers may fail to answer."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from bindbench.conme.asking import Wording
from bindbench.errors import Unfinished, UserError
from bindbench.models import registry
from bindbench.models.base import Answerer, Reply, ReplyRequest
from bindbench.pipeline.asking import ask_all, usage_summary
from bindbench.pipeline.base import Context
from bindbench.suite import RoleSettings, Suite

T = TypeVar("T")


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


def ask_each(
    suite: Suite, targets: Mapping[str, RoleSettings], ask: Callable[[Target], T]
) -> dict[str, T]:
    """Return what each target gives; one that fails does not keep the others from being asked.

    Raises:
        Unfinished: a server gave no answer for some items of a target.
        UserError: the same of several targets.
    """
    found: dict[str, T] = {}
    failures: list[Unfinished] = []
    for name, settings in targets.items():
        try:
            found[name] = ask(load_target(suite, name, settings))
        except Unfinished as error:
            failures.append(error)
    if len(failures) == 1:
        raise failures[0]
    if failures:
        raise UserError(" ".join(map(str, failures)))
    return found


def holding_targets(context: Context, targets: Mapping[str, RoleSettings]) -> Context:
    """Return the context with an engine whose workers can hold the targets."""
    for settings in targets.values():
        context = context.holding("answerer", settings)
    return context


def describe_targets(targets: Mapping[str, RoleSettings]) -> dict[str, Any]:
    """Return what determines the targets' output, for fingerprints."""
    return {name: registry.describe("answerer", one) for name, one in targets.items()}


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
