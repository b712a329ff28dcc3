"""Paths of the store: its root on any file system, and names as parts of a path."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import fsspec.config
from upath import UPath

from bindbench.errors import UserError

SCRATCH = ".tmp"  # where files are written before they are moved to their place
# Their put is atomic, and they have no folders to make.
OBJECT_STORES = {"memory", "s3", "s3a", "gs", "gcs", "az", "abfs", "abfss"}


def root_path(root: str | os.PathLike[str]) -> UPath:
    """Return the root of a store, absolute, so that it means the same in every process."""
    try:
        path = UPath(root)
        if path.protocol in ("file", "local"):
            path = UPath(path.path)
        return path.absolute() if is_local(path) else UPath(path, **_options(path.protocol))
    except ValueError as error:
        raise UserError(
            f"The store {str(root)!r} is not a path that can be used ({error}): "
            "give a local folder or a URL such as s3://bucket/folder."
        ) from error


def _options(protocol: str) -> dict[str, Any]:
    """Return what the client of an object store is told, beside what its environment says."""
    if protocol not in OBJECT_STORES or protocol == "memory":
        return {}
    options: dict[str, Any] = {"use_listings_cache": False}  # other processes outdate listings
    if protocol in ("s3", "s3a"):  # the layers above try again; all of them would take hours
        own = fsspec.config.conf.get(protocol, {}).get("config_kwargs", {})
        once = {"mode": "standard", "total_max_attempts": 1}
        options["config_kwargs"] = {"retries": once} | own
    return options


def is_local(path: UPath) -> bool:
    """Whether the path is on the local file system."""
    return isinstance(path, Path)


def in_this_process_only(path: UPath) -> bool:
    """Whether other processes see nothing of what is written there."""
    return path.protocol == "memory"


def safe_name(name: str) -> str:
    """Return ``name`` as one path component; distinct names stay distinct.

    Raises:
        ValueError: the name is empty or starts with a dot, which marks the store's own files.
    """
    if not name or name.startswith("."):
        raise ValueError(f"{name!r} can't name a folder of the store")
    return quote(name, safe="-_.~=@+,")
