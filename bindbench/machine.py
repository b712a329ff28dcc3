"""This machine: processor, cores, memory and disk. Its accelerators: ``bindbench.accelerators``."""

import os
import platform
import re
import shutil
import tempfile
from pathlib import Path

CPUS = Path("/proc/cpuinfo")
CGROUP_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),  # version 2
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),  # version 1
)


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def processor() -> str:
    """Return the name of the processor, or its kind where the system does not say."""
    if CPUS.is_file() and (found := re.search(r"^model name\s*:\s*(.+)$", CPUS.read_text(), re.M)):
        return found[1]
    return platform.processor() or platform.machine()


def memory() -> int | None:
    """Return the bytes of memory that this process may use; None if the system does not say.

    In a container that is its limit.
    """
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
    return min([total, *_limits()])


def _limits() -> list[int]:
    texts = [path.read_text().strip() for path in CGROUP_LIMITS if path.is_file()]
    return [int(text) for text in texts if text.isdecimal()]  # "max" is none


def free_disk(path: Path) -> int:
    """Return the free bytes where a folder is, or will be made."""
    return shutil.disk_usage(_existing(path)).free


def is_writable(path: Path) -> bool:
    """Whether a folder is, or can be made, where this process may write.

    Tried with a file that is gone at once: permissions say nothing to root.
    """
    try:
        with tempfile.TemporaryFile(dir=_existing(path)):
            return True
    except OSError:
        return False


def _existing(path: Path) -> Path:
    """Return the nearest path, from here upwards, that exists."""
    return next(place for place in (path, *path.parents) if place.exists())
