"""Whether the reported intervals hold the truth as often as they say."""

import functools
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from bindbench.analysis import resampling
from bindbench.analysis.differences import tango

BENCHMARKS = 2000


def load_worlds():
    """Load benchmarks/coverage.py, which prints the table of the docs."""
    path = Path(__file__).parents[2] / "benchmarks" / "coverage.py"
    spec = importlib.util.spec_from_file_location("coverage_worlds", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["coverage_worlds"] = module  # its dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module


@functools.cache
def all_intervals(n):
    return np.array([resampling.blaker(wins, n) for wins in range(n + 1)])


def covered(n, rate):
    low, high = all_intervals(n).T
    return (low <= rate) & (rate <= high)


@pytest.mark.parametrize("n", [60, 100, 200, 300, 400])
@pytest.mark.parametrize("rate", [1 / 729, 0.01, 1 / 16, 0.5, 0.97, 1 - 1 / 729])
def test_exact_coverage_of_a_proportion(n, rate):
    """At least 95%; above 98% only where one outcome less would leave too little."""
    pmf, holds = stats.binom.pmf(np.arange(n + 1), n, rate), covered(n, rate)
    coverage = pmf[holds].sum()
    assert coverage >= 0.95 - 1e-6
    assert coverage <= 0.98 or coverage - pmf[holds].min() < 0.95


def test_exact_coverage_at_every_rate():
    rates = np.linspace(0.0005, 0.9995, 400)
    for n in (60, 200):
        pmf = stats.binom.pmf(np.arange(n + 1)[:, None], n, rates)
        low, high = all_intervals(n).T[:, :, None]
        coverage = (pmf * ((low <= rates) & (rates <= high))).sum(axis=0)
        assert coverage.min() >= 0.95 - 1e-6
        assert coverage.mean() < 0.965


@pytest.mark.parametrize(
    ("n", "rate"), [(200, 1 / 729), (250, 1 / 729), (60, 0.5), (60, 0.97), (400, 0.97)]
)
def test_coverage_on_simulated_benchmarks(n, rate):
    wins = np.random.default_rng([n, int(1e6 * rate)]).binomial(n, rate, BENCHMARKS)
    assert 0.93 <= covered(n, rate)[wins].mean() <= 0.98


@pytest.mark.parametrize(
    ("rate", "scenes", "replicates", "correlation"),
    [(1 / 16, 100, 4, 0.3), (0.5, 60, 3, 0.8), (0.97, 100, 4, 0.1)],
)
def test_coverage_where_scenes_repeat(rate, scenes, replicates, correlation):
    rng = np.random.default_rng([scenes, replicates])
    weight = (1 - correlation) / correlation
    clusters, hits = np.repeat(np.arange(scenes), replicates), 0
    for _ in range(BENCHMARKS):
        rates = rng.beta(rate * weight, (1 - rate) * weight, scenes)
        wins = rng.random((scenes, replicates)) < rates[:, None]
        found = resampling.proportion(wins.reshape(-1), clusters)
        hits += found.low <= rate <= found.high
    assert 0.93 <= hits / BENCHMARKS <= 0.98


@pytest.mark.parametrize(
    ("differing", "gains", "n"),
    [(5, 0.5, 60), (5, 1.0, 400), (5, 0.8, 200), (8, 0.5, 400), (15, 0.9, 60), (60, 0.5, 200)],
)
def test_exact_coverage_of_paired_differences(differing, gains, n):
    """Over all numbers of losses and gains, with their probabilities."""
    truth, covered = differing / n * (2 * gains - 1), 0.0
    differ = stats.binom.pmf(np.arange(n + 1), n, differing / n)
    for total in np.flatnonzero(differ > 1e-6):
        for won, chance in enumerate(stats.binom.pmf(np.arange(total + 1), total, gains)):
            if differ[total] * chance > 1e-7:
                low, high = tango(float(total - won), float(won), float(n))
                covered += differ[total] * chance * (low - 1e-9 <= truth <= high + 1e-9)
    assert 0.93 <= covered <= 0.98


def test_with_few_differing_pairs_coverage_is_forced_up():
    """Two rates that are equal: 0 is only left out where 4 or more pairs differ in one direction.

    A test of 5% can't call fewer than 6 pairs of one direction different, so an interval of 95%
    that leaves out 0 from 4 on is already a bold one.
    """
    bounds = {gains: tango(0.0, float(gains), 200.0)[0] for gains in range(1, 7)}
    assert [gains for gains, low in bounds.items() if low > 0] == [4, 5, 6]


def test_few_differing_pairs_are_covered_conservatively():
    """At 1/729 in both tracks hardly any pair differs; the interval still has a width."""
    for losses, gains in [(0, 0), (1, 0), (0, 1), (1, 1)]:
        values = np.repeat([-1.0, 1.0, 0.0], [losses, gains, 200 - losses - gains])
        found = resampling.bootstrap_mean(values)
        assert found.low < 0 < found.high


WORLDS = load_worlds()


SIMULATED = [
    world
    for worlds in WORLDS.GROUPS.values()
    for world in worlds(WORLDS.ITEMS)
    if not world.exception
]


@pytest.mark.slow
@pytest.mark.parametrize("world", SIMULATED, ids=lambda world: f"{world.group}: {world.name}")
def test_coverage_on_2000_simulated_benchmarks(world):
    """The worlds of benchmarks/coverage.py; docs/numbers.md explains the exceptions."""
    assert 0.93 <= WORLDS.coverage(world, BENCHMARKS) <= 0.98


def test_the_plain_interval_is_too_narrow_where_words_matter():
    """What the crossed one is for."""
    rng, plain, wide = np.random.default_rng(0), 0, 0
    draw = next(w.draw for w in WORLDS.crossed_worlds(300) if w.name == "20 colors, N = 2; p = 0.5")
    for _ in range(200):
        own, crossed = draw(rng)
        plain += own.low <= 0.5 <= own.high
        wide += crossed.low <= 0.5 <= crossed.high
    assert plain / 200 < 0.8
    assert 0.9 < wide / 200 < 0.99
