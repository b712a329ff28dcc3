"""A script that keeps two Ray actors busy until it dies: ``python ray_driver.py FOLDER``."""

import signal
import sys
from pathlib import Path

from engine_samples import write_pid_and_sleep

from bindbench.engine.choice import open_engine

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    paths = [Path(sys.argv[1]) / f"pid{i}" for i in range(2)]
    open_engine(2, "ray").map(write_pid_and_sleep, paths, lambda index, result: None)
