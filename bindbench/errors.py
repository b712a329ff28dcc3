"""The one exception that a user sees as a sentence instead of a traceback."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Self


class UserError(Exception):
    """A mistake in what the user asked for.

    The message is one sentence: what is wrong, where (file, field, value), what would be right.
    The command line prints it and exits with code 2.
    """


NAMED = 5  # items in a message; more are counted
CAUSES = 3
NOT_ASKED = "not asked, as the server gave no answers"


class Unfinished(UserError):
    """Items that a model gave no answer for; what it did answer is kept, and others may go on."""

    def __init__(self, model: str, items: Mapping[str, str], total: int, hopeless: bool = False):
        """Make the sentence.

        Args:
            model: its name.
            items: of each item without an answer: why.
            total: how many items were asked for.
            hopeless: it makes no sense to ask for others now.
        """
        self.model, self.items, self.hopeless = model, dict(items), hopeless
        more = f" and {len(items) - NAMED} more" if len(items) > NAMED else ""
        causes = Counter(items.values()).most_common(CAUSES)
        why = "; ".join(
            f"{cause} ({count})" if len(causes) > 1 else cause for cause, count in causes
        )
        super().__init__(
            f"{model} gave no answer for {len(items)} of {total} items "
            f"({', '.join(list(items)[:NAMED])}{more}): {why}; all that was answered is kept, and "
            "another run asks for the rest."
        )

    @classmethod
    def all_of(cls, failures: Sequence["Unfinished"], left: Sequence[str], total: int) -> Self:
        """Return the one error that stands for those of several batches.

        Args:
            failures: at least one.
            left: the items that were not asked for then.
            total: how many items there are.
        """
        items = {key: why for failure in failures for key, why in failure.items.items()}
        items |= dict.fromkeys(left, NOT_ASKED)
        last = failures[-1]
        return cls(last.model, items, total, last.hopeless)


def unknown_name(kind: str, name: str, known: Iterable[str], where: str = "") -> UserError:
    """Return the error for a name that is not among ``known``, with the nearest right ones."""
    names = sorted(known)
    near = get_close_matches(name, names, n=3, cutoff=0.4) or names[:8]
    place = f" in {where}" if where else ""
    return UserError(f"Unknown {kind} {name!r}{place}: did you mean {' or '.join(near)}?")
