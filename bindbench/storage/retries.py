"""Asking a remote file system again when it fails for a moment."""

import logging
import random
import time
from collections.abc import Callable
from typing import TypeVar

from bindbench.errors import UserError

T = TypeVar("T")

log = logging.getLogger(__name__)

# Seconds between the tries; those of S3's own client are switched off.
WAITS = (0.5, 1.0, 2.0, 4.0, 8.0)
ABSENT = (FileNotFoundError, NotADirectoryError)  # an answer that the callers know how to take
# Of the program: asking again changes nothing.
MISTAKES = (ValueError, TypeError, KeyError, AttributeError, ImportError, NotImplementedError)
# Asking again would give the same; the second of botocore, which need not be installed.
REFUSALS = ("PermissionError", "NoCredentialsError", "PartialCredentialsError", "ProfileNotFound")


def patiently(action: Callable[[], T], doing: str) -> T:
    """Return what ``action`` returns, tried again after what may pass.

    Such are the answers 500 and 503, time-outs, broken connections and bodies that were cut off.

    Args:
        action: may be called several times; the last call counts.
        doing: what it does, for the error, such as "read s3://bucket/file".

    Raises:
        FileNotFoundError, NotADirectoryError: there is no such file.
        UserError: the storage refuses, or failed in every try.
    """
    tries = len(WAITS) + 1
    for number in range(1, tries + 1):
        try:
            return action()
        except (*ABSENT, *MISTAKES, UserError):
            raise
        except Exception as error:  # every client has its own
            why = f"{type(error).__name__}: {error}"
            if type(error).__name__ in REFUSALS:
                raise UserError(
                    f"Can't {doing} ({why}): give credentials that are allowed to, as the "
                    "storage's client reads them from its environment."
                ) from error
            if number == tries:
                raise UserError(
                    f"Can't {doing} ({why}), tried {tries} times: the storage fails or is out of "
                    "reach; what is finished is kept, so run again when it answers."
                ) from error
            log.warning("Can't %s (%s): trying again (%d of %d).", doing, why, number + 1, tries)
            # Workers that were refused together don't come back together.
            time.sleep(WAITS[number - 1] * random.uniform(0.5, 1.0))
    raise AssertionError("the last try returns or raises")
