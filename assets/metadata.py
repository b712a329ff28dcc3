"""From an artifact to what Dagster shows of it."""

import base64
from typing import Any

from dagster import DataVersion, MaterializeResult, MetadataValue

from bindbench.storage.store import Artifact


def result(artifact: Artifact, **extra: Any) -> MaterializeResult:
    """Return the result of an asset: the artifact's digest as data version, and its metadata."""
    metadata = {
        "dagster/row_count": artifact.rows,
        "shards": len(artifact.shards),
        "bytes": sum(shard.bytes for shard in artifact.shards),
        "fingerprint": artifact.fingerprint,
        "path": MetadataValue.path(str(artifact.path)),
        "settings": MetadataValue.json(artifact.settings),
        "summary": MetadataValue.json(artifact.summary),
    }
    return MaterializeResult(data_version=DataVersion(artifact.digest), metadata=extra | metadata)


def picture(png: bytes) -> MetadataValue:
    """Return a PNG as an inline picture."""
    data = base64.b64encode(png).decode()
    return MetadataValue.md(f"![samples](data:image/png;base64,{data})")


def page(path: str) -> MetadataValue:
    """Return the address of a page on this machine."""
    return MetadataValue.url(f"file://{path}") if path.startswith("/") else MetadataValue.text(path)
