"""Text files that are written whole or not at all."""

import contextlib
import os
from pathlib import Path

from bindbench.errors import UserError


def write_text(path: Path, text: str) -> None:
    """Replace a file; if that fails, what was there stays.

    Raises:
        UserError: it can't be written.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8", newline="")
        part.replace(path)
    except OSError as error:
        raise UserError(f"Cannot write {path}: {error.strerror}.") from None
    finally:
        with contextlib.suppress(OSError):  # it is there if something failed
            part.unlink()
