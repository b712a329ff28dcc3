"""The content of a model's files as one hash: other weights never pass for the same model."""

import functools
import hashlib
from collections.abc import Iterable
from pathlib import Path

CONTENT = "sha256-"  # begins a revision of a local checkpoint: the hash of its files


def files_digest(files: Iterable[Path]) -> str:
    """Return the SHA-256 of the names and contents of files, computed once while they stay."""
    return _digest(tuple((f, f.stat().st_size, f.stat().st_mtime_ns) for f in sorted(files)))


def tree_digest(folder: Path) -> str:
    """Return the hash of all files in a folder and below, hidden ones left out."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    hidden = [any(part.startswith(".") for part in f.relative_to(folder).parts) for f in files]
    return files_digest(f for f, skip in zip(files, hidden, strict=True) if not skip)


def content_revision(path: Path) -> str:
    """Return the revision that stands for what a checkpoint's folder or file holds now."""
    digest = tree_digest(path) if path.is_dir() else files_digest([path])
    return f"{CONTENT}{digest[:16]}"


@functools.cache
def _digest(files: tuple[tuple[Path, int, int], ...]) -> str:
    digest = hashlib.sha256()
    for path, size, _ in files:
        digest.update(f"{path.name}\0{size}\0".encode())
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()
