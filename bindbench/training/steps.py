"""Steps of a training: their number and order, the rates of the optimizer, and progress."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

Report = Callable[[str], None]
WARM_UP = 50  # steps
WEIGHT_DECAY = 0.05


@dataclass(frozen=True)
class Phase:
    """One part of the training."""

    steps: int
    batch: int
    factor: float = 1.0  # of the learning rates


class Pace:
    """Says how far the work is and how much time is left."""

    def __init__(self, total: int) -> None:
        self._total, self._started = total, time.monotonic()

    def line(self, done: int) -> str:
        """Return steps done, their rate and the minutes left."""
        elapsed = time.monotonic() - self._started
        left = elapsed / done * (self._total - done)
        return f"{done}/{self._total}, {done / elapsed:.2f} steps/s, {left / 60:.1f} min left"


def optimizer_of(groups: Sequence[tuple[Sequence[nn.Parameter], float]]) -> torch.optim.AdamW:
    """Return AdamW on (parameters, peak rate) groups; vectors and scalars do not decay."""
    settings = []
    for parameters, rate in groups:
        for decays in (True, False):
            chosen = [p for p in parameters if (p.ndim > 1) == decays]
            decay = WEIGHT_DECAY if decays else 0.0
            settings.append({"params": chosen, "peak": rate, "weight_decay": decay})
    return torch.optim.AdamW(settings, lr=0.0, betas=(0.9, 0.98))


def schedule(optimizer: torch.optim.Optimizer, step: int, steps: int) -> None:
    """Set the rates of a step (from 1): a warm-up, then a half cosine to 2% of the peak."""
    factor = 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * (step - 1) / steps))
    for group in optimizer.param_groups:
        group["lr"] = group["peak"] * min(1.0, step / WARM_UP) * factor


class Deck:
    """Deals the scenes in random order, again and again."""

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self._size, self._rng, self._cards = size, rng, np.empty(0, np.int64)

    def deal(self, count: int) -> np.ndarray:
        """Return the next ``count`` scenes."""
        while len(self._cards) < count:
            self._cards = np.concatenate([self._cards, self._rng.permutation(self._size)])
        dealt, self._cards = self._cards[:count], self._cards[count:]
        return dealt
