"""The checksums of a release: a list of files as ``sha256sum`` writes it, and its own hash."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from bindbench.errors import UserError
from bindbench.text_files import write_text

SUMS = "SHA256SUMS"
_CHUNK = 1 << 20


def write_sums(folder: Path, files: Iterable[str]) -> str:
    """Write the sha256 of each file of a folder; return the checksum of them all."""
    lines = [f"{file_sum(folder / name)}  {name}\n" for name in sorted(files)]
    write_text(folder / SUMS, "".join(lines))
    return checksum(folder)


def listed(folder: Path) -> dict[str, str]:
    """Return the sha256 of each file that the list names.

    Raises:
        UserError: there is no list, or it is not one.
    """
    try:
        text = (folder / SUMS).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"{folder} has no {SUMS}: give the folder of a release.") from None
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        value, _, name = line.partition("  ")
        if len(value) != 64 or not name:
            raise UserError(f"{folder / SUMS}, line {number}: write a sha256, two spaces, a path.")
        found[name] = value
    return found


def checksum(folder: Path) -> str:
    """Return the checksum of the whole: the sha256 of the list."""
    return file_sum(folder / SUMS)


def file_sum(path: Path) -> str:
    """Return the sha256 of a file."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            found.update(chunk)
    return found.hexdigest()


def verify(folder: Path, expected: str | None = None) -> str:
    """Compare every listed file with its sha256; return the checksum of the whole.

    Files that are not listed, such as a leaderboard made since, are not looked at.

    Args:
        folder: of the release, wherever it lies.
        expected: the checksum of the whole, as it was published.

    Raises:
        UserError: a file is missing or altered (the first one is named), or the whole is another.
    """
    for name, value in listed(folder).items():
        path = folder / name
        if not path.is_file():
            raise UserError(f"{path} is missing, though {SUMS} lists it: copy the release again.")
        if file_sum(path) != value:
            raise UserError(f"{path} is altered (its sha256 is not that of {SUMS}): copy it again.")
    found = checksum(folder)
    if expected is not None and found != expected:
        raise UserError(
            f"The checksum of {folder} is {found}, not {expected}: it is another release or "
            "another version."
        )
    return found
