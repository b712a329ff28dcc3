"""Whether the reported intervals hold the truth as often as they say."""

import functools

import numpy as np
import pytest
from scipy import stats

from bindbench.analysis import resampling

BENCHMARKS = 2000


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
    ("first", "second", "both", "n"),
    [
        (0.5, 0.5, 0.35, 60),
        (0.5, 0.4, 0.3, 200),
        (0.97, 0.93, 0.92, 60),
        (0.97, 0.97, 0.95, 400),
        (0.01, 0.03, 0.005, 400),
        (1 / 729, 0.02, 0.0, 400),
    ],
)
def test_coverage_of_paired_differences(first, second, both, n):
    """Minimal against contextual: wins in both, in one, in the other, in neither."""
    cells = [both, first - both, second - both, 1 - first - second + both]
    drawn = np.random.default_rng([n, int(1e4 * second)]).multinomial(n, cells, BENCHMARKS)

    @functools.cache
    def holds(losses, gains):
        values = np.repeat([-1.0, 1.0, 0.0], [losses, gains, n - losses - gains])
        found = resampling.bootstrap_mean(values, seed=1, replicates=1000)
        return found.low - 1e-12 <= second - first <= found.high + 1e-12

    assert 0.93 <= np.mean([holds(*pair) for pair in drawn[:, 1:3].tolist()]) <= 0.98


def test_few_differing_pairs_are_covered_conservatively():
    """At 1/729 in both tracks hardly any pair differs; the interval still has a width."""
    for losses, gains in [(0, 0), (1, 0), (0, 1), (1, 1)]:
        values = np.repeat([-1.0, 1.0, 0.0], [losses, gains, 200 - losses - gains])
        found = resampling.bootstrap_mean(values)
        assert found.low < 0 < found.high


def test_coverage_beyond_these_objects_and_labels():
    """Objects and labels drawn anew for each benchmark, each with an effect of its own."""
    rng, rate, hits, plain_hits, runs = np.random.default_rng(0), 0.6, 0, 0, 500
    centre = stats.norm.ppf(rate) * np.sqrt(1 + 4 * 0.3**2)
    for _ in range(runs):
        objects = np.argsort(rng.random((300, 60)), axis=1)[:, :2]
        labels = np.argsort(rng.random((300, 20)), axis=1)[:, :2]
        effects = rng.normal(0, 0.3, 60)[objects].sum(1) + rng.normal(0, 0.3, 20)[labels].sum(1)
        wins = rng.normal(size=300) < centre + effects
        wide, plain = (
            resampling.crossed_proportion(wins, objects, labels),
            resampling.proportion(wins),
        )
        hits += wide.low <= rate <= wide.high
        plain_hits += plain.low <= rate <= plain.high
    assert 0.9 <= hits / runs <= 0.98
    assert plain_hits / runs < 0.85  # what the wider interval is for
