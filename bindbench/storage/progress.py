"""How far a build is."""

import time
from typing import Protocol


class Progress(Protocol):
    """Called after each shard."""

    def __call__(
        self, done: int, total: int, reused: int, rate: float, seconds_left: float | None
    ) -> None:
        """Take how far the build is.

        Args:
            done: shards that exist now, the reused ones included.
            total: shards of the artifact.
            reused: shards that were not computed by this build.
            rate: shards computed per second so far; 0 before the first.
            seconds_left: until the end at that rate; None before the first.
        """
        ...


class Tracker:
    """Counts the shards of one build and tells the callback, if there is one."""

    def __init__(self, total: int, callback: Progress | None):
        self.computed = 0
        self.reused = 0
        self.first_seconds: float | None = None  # until the first shard was computed
        self._total = total
        self._callback = callback
        self._started = time.monotonic()

    def start_computing(self) -> None:
        """Start the clock of the rate, which leaves out the time spent on reused shards."""
        self._started = time.monotonic()

    def add_reused(self, count: int = 1) -> None:
        """Count shards that exist already."""
        self.reused += count
        self._tell()

    def add_computed(self) -> None:
        """Count a shard that was computed."""
        self.computed += 1
        if self.first_seconds is None:
            self.first_seconds = time.monotonic() - self._started
        self._tell()

    def _tell(self) -> None:
        if self._callback is None:
            return
        done = self.computed + self.reused
        seconds = max(time.monotonic() - self._started, 1e-9)
        rate = self.computed / seconds
        left = 0.0 if done == self._total else (self._total - done) / rate if rate else None
        self._callback(done, self._total, self.reused, rate, left)
