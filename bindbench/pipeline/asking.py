"""Asking a model for many items, where a server may fail to answer, and what its answers took."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from bindbench.errors import Unfinished
from bindbench.models import registry
from bindbench.models.api_options import ServerOptions
from bindbench.models.family import Role
from bindbench.pipeline.base import batches
from bindbench.scoring.choice import cost_of, usage_of
from bindbench.suite import RoleSettings

S = TypeVar("S")
T = TypeVar("T")


def ask_all(
    items: Sequence[S],
    size: int,
    ask: Callable[[Sequence[S]], Sequence[T]],
    key: Callable[[S], str],
) -> list[T]:
    """Return what a model gives for all items, asked for batch by batch.

    Args:
        items: those of one shard.
        size: of a batch.
        ask: returns one result for each item of a batch.
        key: names an item in a message.

    Raises:
        Unfinished: some have no answer. All others were still asked for, so that another run finds
            their answers, unless the server gave none at all.
    """
    out: list[T] = []
    failures: list[Unfinished] = []
    left = [key(item) for item in items]
    for batch in batches(items, size):
        del left[: len(batch)]
        try:
            out += ask(batch)
        except Unfinished as error:
            failures.append(error)
            if error.hopeless:
                break
    if failures:
        raise Unfinished.all_of(failures, left, len(items))
    return out


def usage_summary(role: Role, settings: RoleSettings, raws: Iterable[str | None]) -> dict[str, Any]:
    """Return what the answers of a server took, and their cost where prices are known.

    Empty for a model that is no server.
    """
    usage = usage_of(raws)
    if not usage:
        return {}
    _, _, options = registry.named(role, settings)
    if isinstance(options, ServerOptions) and options.prices:
        usage["cost"] = cost_of(usage, *options.prices)
    return {"usage": usage}
