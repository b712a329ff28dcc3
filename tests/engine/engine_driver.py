"""A script that keeps two workers busy until it dies: ``python engine_driver.py FOLDER``."""

import signal
import sys
from pathlib import Path

from engine_samples import write_pid_and_sleep

from bindbench.engine.local import LocalEngine

if __name__ == "__main__":
    # A shell that put the tests in its background had them ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    paths = [Path(sys.argv[1]) / f"pid{i}" for i in range(2)]
    LocalEngine(2).map(write_pid_and_sleep, paths, lambda index, result: None)
