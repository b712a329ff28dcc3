"""Answerers that never look: what the numbers of InstaBind are where they are known beforehand."""

from collections.abc import Callable, Sequence

from bindbench.models.base import AskedGroup, Reply, ReplyRequest

Think = Callable[[AskedGroup], int]


def _neighbor(group: AskedGroup) -> int:
    """Return the left neighbor of the target, or the right one of the leftmost."""
    return group.target - 1 if group.target else 1


# Which instance a stand-in takes the answer from.
SOURCES: dict[str, Think] = {
    "oracle": lambda group: group.target,
    "leftmost": lambda group: 0,
    "neighbor": _neighbor,
}
NAMES = (*SOURCES, "yes")


class CheckAnswerer:
    """Takes every answer from one instance, or says yes to everything.

    Args:
        name: one of ``NAMES``.
    """

    def __init__(self, name: str) -> None:
        self._source = SOURCES.get(name)

    def reply(self, requests: Sequence[ReplyRequest]) -> list[Reply]:
        """Return the replies."""
        return [Reply(self._text(request)) for request in requests]

    def _text(self, request: ReplyRequest) -> str:
        group = request.truth
        if group is None:
            raise ValueError(f"question {request.key}: a check: model needs to know the group")
        if self._source is None:
            return "yes"
        source = self._source(group)
        if group.level == "L2":
            return group.places[source]
        value = group.values[source]
        return value if group.claimed is None else "yes" if value == group.claimed else "no"
