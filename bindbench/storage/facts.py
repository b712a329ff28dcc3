"""Facts about a run: when, how long, where, with which packages. No comparison reads them."""

import os
import platform
import socket
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

PACKAGES = (
    "bindbench",
    "dagster",
    "diffusers",
    "mitsuba",
    "numpy",
    "open_clip_torch",
    "pandas",
    "pillow",
    "pyarrow",
    "torch",
    "torchvision",
    "transformers",
)


def run_facts(started: datetime, workers: int, computed: int, reused: int) -> dict[str, Any]:
    """Return what is worth knowing of a run that began at ``started`` (UTC) and ends now."""
    ended = datetime.now(UTC)
    return {
        "started": started.isoformat(timespec="seconds"),
        "ended": ended.isoformat(timespec="seconds"),
        "wall_seconds": round((ended - started).total_seconds(), 3),
        "shards_computed": computed,
        "shards_reused": reused,
        "workers": workers,
        "host": socket.gethostname(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "packages": package_versions(),
    }


def package_versions() -> dict[str, str | None]:
    """Return the versions of the packages that content may depend on; None: not installed."""
    return {name: _version(name) for name in PACKAGES}


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
