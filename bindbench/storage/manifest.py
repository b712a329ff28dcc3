"""The manifest: what an artifact was made from, and what its shards must contain."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from bindbench.concepts import content_id
from bindbench.errors import UserError

FORMAT = 1


class DamageError(UserError):
    """A file of a finished artifact is not what it was; a repair can make it again."""

    def __init__(self, path: object, why: str):
        super().__init__(
            f"{path} {why}: run again with --repair to recompute it, or copy a release again."
        )


@dataclass(frozen=True)
class ShardInfo:
    """One shard as a file."""

    file: str
    sha256: str
    rows: int
    bytes: int
    fingerprint: str  # of all that determined the shard's content


def fingerprint_of(settings: dict[str, Any], shard_fingerprints: Sequence[str]) -> str:
    """Return the hash of all that determines an artifact's content."""
    return content_id({"settings": settings, "shards": list(shard_fingerprints)})


@dataclass(frozen=True)
class Manifest:
    """Everything that is known of an artifact without reading its shards."""

    asset: str
    partition: str
    settings: dict[str, Any]
    shards: tuple[ShardInfo, ...]
    summary: dict[str, Any]

    @cached_property
    def fingerprint(self) -> str:
        """The hash of what determined the content: settings and the shards' fingerprints."""
        return fingerprint_of(self.settings, [shard.fingerprint for shard in self.shards])

    @cached_property
    def digest(self) -> str:
        """The hash of the content: equal for equal shards, whatever they were made from."""
        return content_id([shard.sha256 for shard in self.shards])

    @property
    def rows(self) -> int:
        """The number of rows of all shards."""
        return sum(shard.rows for shard in self.shards)

    def to_json(self) -> bytes:
        """Return the manifest's file; the same manifest gives the same bytes.

        Raises:
            TypeError, ValueError: settings or summary hold something that JSON can't, such as NaN.
        """
        content = {
            "format": FORMAT,
            "asset": self.asset,
            "partition": self.partition,
            "fingerprint": self.fingerprint,
            "digest": self.digest,
            "rows": self.rows,
            "settings": self.settings,
            "summary": self.summary,
            "shards": [asdict(shard) for shard in self.shards],
        }
        text = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
        return f"{text}\n".encode()

    @classmethod
    def fields_from_json(cls, data: bytes, path: object) -> dict[str, Any]:
        """Return the arguments that make the manifest of a file again.

        Raises:
            DamageError: the file at ``path`` is not a manifest, or contradicts itself.
        """
        try:
            content = json.loads(data)
            shards = tuple(ShardInfo(**shard) for shard in content["shards"])
            fields = {
                "asset": content["asset"],
                "partition": content["partition"],
                "settings": content["settings"],
                "shards": shards,
                "summary": content["summary"],
            }
            manifest = Manifest(**fields)
            stated = [content[key] for key in ("format", "fingerprint", "digest", "rows")]
            found = [FORMAT, manifest.fingerprint, manifest.digest, manifest.rows]
        except (ValueError, KeyError, TypeError) as error:
            raise DamageError(path, f"is not a manifest ({error})") from error
        if stated != found:
            raise DamageError(path, f"contradicts itself (it says {stated}, its shards {found})")
        return fields
