"""Facts about a run: when, how long, where, with which packages. No comparison reads them."""

import os
import platform
import socket
import sys
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

from bindbench import machine
from bindbench.storage.progress import Tracker

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
    "sam2",
    "torch",
    "torchvision",
    "transformers",
)


def run_facts(started: datetime, workers: int, tracker: Tracker) -> dict[str, Any]:
    """Return what is worth knowing of a run that began at ``started`` (UTC) and ends now."""
    ended, first = datetime.now(UTC), tracker.first_seconds
    return {
        "started": started.isoformat(timespec="seconds"),
        "ended": ended.isoformat(timespec="seconds"),
        "wall_seconds": round((ended - started).total_seconds(), 3),
        "first_shard_seconds": None if first is None else round(first, 3),
        "shards_computed": tracker.computed,
        "shards_reused": tracker.reused,
        "workers": workers,
        "host": socket.gethostname(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "processor": machine.processor(),
        "accelerators": _accelerators(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "packages": package_versions(),
    }


def _accelerators() -> list[str]:
    """Return the accelerators that this process has computed on; torch is not imported to ask."""
    if "torch" not in sys.modules:
        return []
    from bindbench.accelerators import in_use

    return in_use()


def package_versions() -> dict[str, str | None]:
    """Return the versions of the packages that content may depend on; None: not installed."""
    return {name: _version(name) for name in PACKAGES}


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
