"""Progress of long work, as lines of the log: Dagster and the terminal both show them."""

import logging
import time

from bindbench.storage.progress import Progress

logger = logging.getLogger("bindbench")
SECONDS_BETWEEN_LINES = 2.0


def log_progress(asset: str, partition: str, unit: str = "shards") -> Progress:
    """Return a callback that logs a line every two seconds and at the end."""
    last = time.monotonic()

    def report(done: int, total: int, reused: int, rate: float, seconds_left: float | None) -> None:
        nonlocal last
        now = time.monotonic()
        if done < total and now - last < SECONDS_BETWEEN_LINES:
            return
        last = now
        kept = f", {reused} kept" if reused else ""
        left = f", {seconds_left:.0f} s left" if seconds_left else ""
        speed = f", {rate:.1f} {unit}/s" if done > reused else ""
        logger.info("%s %s: %d/%d %s%s%s%s", asset, partition, done, total, unit, kept, speed, left)

    return report
