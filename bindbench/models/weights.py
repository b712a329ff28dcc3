"""The weights that the project ships, and their digests."""

import functools
import hashlib
import json
from pathlib import Path

from bindbench.errors import UserError

WEIGHTS = Path(__file__).parent.parent / "weights"
COMMANDS = {"nano-negclip": "nano-clip", "nano-vlm-small": "nano-vlm"}  # that rebuild a pair
DIGESTS = WEIGHTS / "digests.json"  # what folder_digest gives for each folder as it is shipped


@functools.cache
def folder_digest(name: str) -> str:
    """Return the SHA-256 of the weights and configuration in ``bindbench/weights/<name>``."""
    folder = WEIGHTS / name
    files = sorted(p for p in folder.glob("*") if p.suffix in (".safetensors", ".json", ".jinja"))
    if not any(path.suffix == ".safetensors" for path in files):
        command = COMMANDS.get(name, name)
        raise UserError(
            f"{folder} holds no model.safetensors: rebuild it with 'bindbench train {command}'."
        )
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def shipped_digest(name: str) -> str | None:
    """Return the digest of a folder as the project ships it; None if it ships no such folder."""
    return json.loads(DIGESTS.read_text(encoding="utf-8")).get(name)
