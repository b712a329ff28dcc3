"""The weights that the project ships, and their digests."""

import functools
import hashlib
from pathlib import Path

from bindbench.errors import UserError

WEIGHTS = Path(__file__).parent.parent / "weights"


@functools.cache
def folder_digest(name: str) -> str:
    """Return the SHA-256 of the weights and configuration in ``bindbench/weights/<name>``."""
    folder = WEIGHTS / name
    files = sorted(p for p in folder.glob("*") if p.suffix in (".safetensors", ".json"))
    if not any(path.suffix == ".safetensors" for path in files):
        raise UserError(
            f"{folder} holds no model.safetensors: rebuild it with 'bindbench train {name}'."
        )
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
