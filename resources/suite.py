"""The suite that this code location builds, named by the environment variable BINDBENCH_SUITE."""

import functools
import os
from pathlib import Path

from bindbench.suite import Suite, load_suite

PROJECT = Path(__file__).resolve().parent.parent


@functools.cache
def current_suite() -> Suite:
    """Return the suite named by BINDBENCH_SUITE (default: embedded)."""
    return load_suite(os.environ.get("BINDBENCH_SUITE", "embedded"), PROJECT / "suites")
