"""The one exception that a user sees as a sentence instead of a traceback."""

from collections.abc import Iterable
from difflib import get_close_matches


class UserError(Exception):
    """A mistake in what the user asked for.

    The message is one sentence: what is wrong, where (file, field, value), what would be right.
    The command line prints it and exits with code 2.
    """


def unknown_name(kind: str, name: str, known: Iterable[str], where: str = "") -> UserError:
    """Return the error for a name that is not among ``known``, with the nearest right ones."""
    names = sorted(known)
    near = get_close_matches(name, names, n=3, cutoff=0.4) or names[:8]
    place = f" in {where}" if where else ""
    return UserError(f"Unknown {kind} {name!r}{place}: did you mean {' or '.join(near)}?")
