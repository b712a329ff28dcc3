"""Label noise: how much of a model's error may be the benchmark's own.

A benchmark's images are accepted by checks that err, so that some share of them, the faulty share,
does not show what their captions say. It comes from one of three sources:

- calibration: the checks' rates on images whose faults are known, and the share accepted here;
- two judges who answered about the same images, their errors independent given the truth
  (Hui and Walter, 1980): two or more sets of images with different shares of good ones are needed;
- people, who looked at some of the accepted images.

On a good item a model errs at its true rate. On a faulty one it may be right always, never, or as
often as by chance: which of these is an assumption, and the first two are bounds. Uncertainty is
propagated by draws from Jeffreys' posteriors, and from a parametric bootstrap of the judges.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bindbench.analysis.resampling import LEVEL, Estimate

DRAWS = 4000
_BOOTSTRAP = 400
_STEPS, _MORE_STEPS = 2000, 150  # of EM: from scratch, and of a replicate from where that led
_GOOD, _CAUGHT, _PASSED = 0.7, 0.8, 0.9  # where EM starts: better than chance, "good" is good


@dataclass(frozen=True)
class Uncertain:
    """A number with draws of what it may be."""

    value: float
    draws: np.ndarray  # float64 (draws,)

    @property
    def interval(self) -> tuple[float, float]:
        """The central interval of the draws, which holds the value."""
        low, high = np.quantile(self.draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        return min(float(low), self.value), max(float(high), self.value)


@dataclass(frozen=True)
class Tally:
    """How often something was so, of how many."""

    right: int
    n: int

    def draws(self, rng: np.random.Generator) -> np.ndarray:
        """Return draws from Jeffreys' posterior of the rate, float64 (draws,)."""
        return rng.beta(self.right + 0.5, self.n - self.right + 0.5, DRAWS)


def audited(faulty: Tally, seed: int = 0) -> Uncertain:
    """Return the faulty share of accepted images of which some were looked at.

    Args:
        faulty: accepted images that are faulty, of those looked at.
        seed: of the draws.
    """
    rng = np.random.default_rng([seed, 1])
    return Uncertain(faulty.right / max(faulty.n, 1), faulty.draws(rng))


def by_calibration(caught: Tally, passed: Tally, accepted: Tally, seed: int = 0) -> Uncertain:
    """Return the faulty share of accepted images, by how often the checks are right.

    With the sensitivity s, the specificity c and the share accepted A = (1 - f) c + f (1 - s), the
    share f = (c - A) / (c + s - 1) of all images is faulty (Rogan and Gladen, 1978), and of the
    accepted ones f (1 - s) / A. The kinds of faults are taken to be mixed as in the calibration.

    Args:
        caught: faulty images that were rejected, of those in the calibration.
        passed: fault-free images that were accepted, likewise.
        accepted: images that were accepted here, of all.
        seed: of the draws.
    """
    rng = np.random.default_rng([seed, 2])
    drawn = [tally.draws(rng) for tally in (caught, passed, accepted)]
    point = [np.array([tally.right / max(tally.n, 1)]) for tally in (caught, passed, accepted)]
    return Uncertain(float(_faulty(*point)[0]), _faulty(*drawn))


def _faulty(caught: np.ndarray, passed: np.ndarray, accepted: np.ndarray) -> np.ndarray:
    better = np.maximum(passed + caught - 1, 1e-9)  # checks no better than chance tell nothing
    share = np.clip((passed - accepted) / better, 0, 1)
    return np.clip(share * (1 - caught) / np.maximum(accepted, 1e-9), 0, 1)


@dataclass(frozen=True)
class Judges:
    """What two judges' answers say of them and of the images; first judge, then second."""

    caught: tuple[Uncertain, Uncertain]  # bad images that are rejected (sensitivity)
    passed: tuple[Uncertain, Uncertain]  # good images that are passed (specificity)
    faulty: dict[str, Uncertain]  # by set: the bad ones among the images that the first passes


def two_judges(counts: Mapping[str, np.ndarray], seed: int = 0) -> Judges | None:
    """Return both judges' rates, by maximum likelihood (EM) over sets of images.

    None with one set: its three free counts can't tell five rates. Where the sets have about the
    same share of good images the rates are hardly known either, and the intervals say so.

    Args:
        counts: by set, int64 (2, 2): images by whether the first judge rejects (0) or passes (1)
            them, then the second.
        seed: of the bootstrap.
    """
    names = [name for name, table in counts.items() if table.sum()]
    if len(names) < 2:
        return None
    table = np.array([counts[name] for name in names], float)
    fitted = _fit(table[None], _start(len(names)), _STEPS)
    rng = np.random.default_rng([seed, 3])
    cells = _cells(*fitted)[0].reshape(len(names), 4)
    again = np.stack(
        [
            rng.multinomial(int(one.sum()), shares / shares.sum(), _BOOTSTRAP)
            for one, shares in zip(table, cells, strict=True)
        ],
        axis=1,
    ).reshape(_BOOTSTRAP, len(names), 2, 2)
    drawn = _fit(again.astype(float), fitted, _MORE_STEPS)
    caught, passed = (
        tuple(Uncertain(float(now[0, j]), many[:, j]) for j in range(2))
        for now, many in ((fitted[1], drawn[1]), (fitted[2], drawn[2]))
    )
    bad, bad_drawn = _bad_among_passed(*fitted), _bad_among_passed(*drawn)
    faulty = {name: Uncertain(float(bad[0, i]), bad_drawn[:, i]) for i, name in enumerate(names)}
    return Judges((caught[0], caught[1]), (passed[0], passed[1]), faulty)


Fit = tuple[np.ndarray, np.ndarray, np.ndarray]  # good (r, sets), caught (r, 2), passed (r, 2)


def _start(sets: int) -> Fit:
    return np.full((1, sets), _GOOD), np.full((1, 2), _CAUGHT), np.full((1, 2), _PASSED)


def _fit(tables: np.ndarray, start: Fit, steps: int) -> Fit:
    """Return the rates of each replicate's tables (replicates, sets, 2, 2)."""
    good, caught, passed = start
    for _ in range(steps):
        of_good = good[..., None, None] * _given(passed)
        of_bad = (1 - good)[..., None, None] * _given(1 - caught)
        fine = tables * of_good / np.maximum(of_good + of_bad, 1e-300)
        bad = tables - fine
        good = fine.sum((2, 3)) / np.maximum(tables.sum((2, 3)), 1e-300)
        passed, caught = _passing(fine), 1 - _passing(bad)
    return good, caught, passed


def _given(rates: np.ndarray) -> np.ndarray:
    """Return P(first, second) of independent judges who pass at these rates, (r, 1, 2, 2)."""
    first, second = (np.stack([1 - rates[:, j], rates[:, j]], axis=1) for j in range(2))
    return (first[:, :, None] * second[:, None, :])[:, None]


def _passing(tables: np.ndarray) -> np.ndarray:
    """Return the share that each judge passes, (replicates, 2)."""
    total = np.maximum(tables.sum((1, 2, 3)), 1e-300)
    return (
        np.stack([tables[:, :, 1].sum((1, 2)), tables[..., 1].sum((1, 2))], axis=1) / total[:, None]
    )


def _cells(good: np.ndarray, caught: np.ndarray, passed: np.ndarray) -> np.ndarray:
    of_bad = (1 - good)[..., None, None] * _given(1 - caught)
    return good[..., None, None] * _given(passed) + of_bad


def _bad_among_passed(good: np.ndarray, caught: np.ndarray, passed: np.ndarray) -> np.ndarray:
    """Return P(bad | the first judge passes), (replicates, sets)."""
    bad = (1 - good) * (1 - caught[:, :1])
    return bad / np.maximum(bad + good * passed[:, :1], 1e-300)


@dataclass(frozen=True)
class Split:
    """A model's error, and what of it is the benchmark's, under one assumption."""

    part: Uncertain  # of all items: errors on faulty ones
    share: Uncertain  # of the errors: those on faulty items
    true_error: Uncertain  # on good items


def split_error(error: Estimate, faulty: Uncertain, on_faulty: float, seed: int = 0) -> Split:
    """Return how much of a model's error is the benchmark's.

    e = (1 - phi) t + phi (1 - a), with the observed error e, the faulty share phi, the accuracy a
    on faulty items and the true error t. All are kept between 0 and 1, and the benchmark's part at
    most e.

    Args:
        error: share of items that the model got wrong; its effective size gives its uncertainty.
        faulty: the faulty share of the items.
        on_faulty: the model's accuracy on faulty items: 1 and 0 are bounds, chance lies between.
        seed: of the draws.
    """
    rng = np.random.default_rng([seed, 4])
    size, draws = error.n_effective, len(faulty.draws)
    errors = rng.beta(error.value * size + 0.5, (1 - error.value) * size + 0.5, draws)
    point = _split(np.array([error.value]), np.array([faulty.value]), on_faulty)
    drawn = _split(errors, rng.permutation(faulty.draws), on_faulty)
    parts = [Uncertain(float(now[0]), many) for now, many in zip(point, drawn, strict=True)]
    return Split(*parts)


def _split(
    errors: np.ndarray, faulty: np.ndarray, on_faulty: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    part = np.minimum(faulty * (1 - on_faulty), errors)
    share = part / np.maximum(errors, 1e-12)
    return part, share, np.clip((errors - part) / np.maximum(1 - faulty, 1e-12), 0, 1)
