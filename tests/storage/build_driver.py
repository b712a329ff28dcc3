"""``python build_driver.py ROOT LOG WORKERS HOLD``: builds 12 shards and hangs in shard HOLD."""

import sys
from pathlib import Path

from storage_samples import make

if __name__ == "__main__":
    root, log, workers, hold = sys.argv[1:]
    make(root, 12, int(workers), log=Path(log), seconds=0.01, hold=int(hold))
