import itertools

import numpy as np
import pytest
from scipy import stats

from bindbench.analysis import resampling


def test_wilson_and_clopper_pearson_agree_with_scipy():
    for wins, n in [(0, 10), (1, 60), (30, 60), (59, 60), (60, 60)]:
        exact, wilson = (
            stats.binomtest(wins, n).proportion_ci(0.95, method) for method in ("exact", "wilson")
        )
        found = resampling.clopper_pearson(wins, n)
        assert (float(found[0]), float(found[1])) == pytest.approx((exact.low, exact.high))
        found = resampling.wilson(wins, n)
        assert (float(found[0]), float(found[1])) == pytest.approx((wilson.low, wilson.high))


def blaker_slowly(wins, n):
    """Acceptable rates by Blaker's definition, on a fine grid."""
    rates = np.linspace(0, 1, 20001)
    x = np.arange(n + 1)[:, None]
    smaller = np.minimum(stats.binom.cdf(x, n, rates), stats.binom.sf(x - 1, n, rates))
    as_odd = smaller <= smaller[wins] * (1 + 1e-9)
    acceptable = rates[(stats.binom.pmf(x, n, rates) * as_odd).sum(axis=0) > 0.05]
    return acceptable.min(), acceptable.max()


@pytest.mark.parametrize(("wins", "n"), [(0, 12), (1, 12), (5, 12), (11, 12), (2, 60), (31, 60)])
def test_blaker_is_what_its_definition_says(wins, n):
    assert resampling.blaker(wins, n) == pytest.approx(blaker_slowly(wins, n), abs=2e-4)


def test_blaker_lies_inside_clopper_pearson():
    for wins in range(41):
        low, high = resampling.clopper_pearson(wins, 40)
        found = resampling.blaker(wins, 40)
        assert low - 1e-12 <= found[0] <= wins / 40 <= found[1] <= high + 1e-12


def test_mid_p_halves_the_observed_outcome():
    low, high = (float(bound) for bound in resampling.mid_p(3, 20))
    half = 0.5 * stats.binom.pmf(3, 20, [low, high])
    assert stats.binom.sf(3, 20, low) + half[0] == pytest.approx(0.025)
    assert stats.binom.cdf(2, 20, high) + half[1] == pytest.approx(0.025)
    assert float(resampling.mid_p(0, 20)[1]) == pytest.approx(1 - 0.05 ** (1 / 20))
    assert [float(bound) for bound in resampling.mid_p(0, 0)] == pytest.approx([0, 1])


def test_a_proportion_of_nothing():
    assert resampling.proportion(np.zeros(0, bool)) == resampling.Estimate(0, 0, 1, 0, 0)
    assert resampling.blaker(0, 0) == (0, 1)


def test_clusters_reduce_the_sample():
    wins = np.repeat(np.arange(20) < 8, 3)  # three replicates, always alike
    clusters = np.repeat(np.arange(20), 3)
    found = resampling.proportion(wins, clusters)
    assert (found.value, found.n) == (0.4, 60)
    assert found.n_effective == pytest.approx(19 * (1.96 / 2.093) ** 2, rel=1e-3)
    single = resampling.proportion(wins, np.arange(60))
    assert single.n_effective == 60
    assert (single.low, single.high) == resampling.blaker(24, 60)
    assert resampling.proportion(np.ones(6, bool), np.repeat([0, 1], 3)).n_effective == 2


def test_bootstrap_mean():
    differences = np.array([1.0] * 30 + [-1.0] * 10 + [0.0] * 160)
    found = resampling.bootstrap_mean(differences, seed=1)
    deviation = np.sqrt((42 - 20**2 / 202) / 202**2)  # of the 202 with the two added
    assert found.value == pytest.approx(0.1)
    assert found.low == pytest.approx(20 / 202 - 1.96 * deviation, abs=0.006)
    assert found.high == pytest.approx(20 / 202 + 1.96 * deviation, abs=0.006)
    assert resampling.bootstrap_mean(differences, seed=1) == found
    nothing = resampling.bootstrap_mean(np.zeros(100))
    assert nothing.low < 0 < nothing.high
    assert resampling.bootstrap_mean(np.zeros(0)).n == 0


def test_bootstrap_by_cluster_is_wider():
    differences = np.repeat([1.0, -1.0, 0.0, 0.0], 30)
    clusters = np.repeat(np.arange(24), 5)
    plain = resampling.bootstrap_mean(differences)
    found = resampling.bootstrap_mean(differences, clusters)
    assert found.high - found.low > 1.8 * (plain.high - plain.low)


def test_bootstrap_ratio():
    top, bottom = np.array([1.0] * 40 + [0.0] * 60), np.array([1.0] * 50 + [0.0] * 50)
    found = resampling.bootstrap_ratio(top, bottom)
    assert found.value == pytest.approx(0.8)
    assert found.low == pytest.approx(0.68, abs=0.03)  # 0.8 +- 1.96 * sqrt(.8 * .2 / 50)
    assert found.high == pytest.approx(0.91, abs=0.03)
    assert resampling.bootstrap_ratio(top, np.zeros(100)) is None


def test_mcnemar():
    first = np.array([True] * 8 + [False] * 2 + [True] * 5)
    second = np.array([False] * 8 + [True] * 2 + [True] * 5)
    assert resampling.mcnemar(first, second) == pytest.approx(stats.binomtest(8, 10).pvalue)
    assert resampling.mcnemar(first, first) == 1


def test_permutation_against_all_sign_flips():
    differences = np.array([1.0, 1.0, 0.5, -0.25, 1.0, 0.5, 0.0, 0.75])
    flips = np.array(list(itertools.product([-1, 1], repeat=8)))
    exact = np.mean(np.abs(flips @ differences) >= differences.sum() - 1e-9)
    assert resampling.paired_permutation(differences, seed=2) == pytest.approx(exact, abs=0.01)
    together = resampling.paired_permutation(np.ones(12), np.repeat([0, 1, 2], 4))
    assert together == pytest.approx(0.25, abs=0.02)  # three clusters: 2 / 2**3
    assert resampling.paired_permutation(np.zeros(5)) == 1


def test_holm_by_hand():
    assert resampling.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert resampling.holm([0.6, 0.9]) == [1.0, 1.0]
    assert resampling.holm([]) == []


def test_the_smallest_detectable_difference_is_detected_at_its_power():
    n, differing = 400, 78  # share (78 + 2) / 402
    found = resampling.smallest_detectable_difference(n, differing)
    share = 80 / 402
    better, worse = (share + found) / 2, (share - found) / 2
    draws = np.random.default_rng(0).multinomial(n, [better, worse, 1 - share], size=4000)
    z = (draws[:, 0] - draws[:, 1]) / np.sqrt(draws[:, 0] + draws[:, 1])
    assert np.mean(np.abs(z) > 1.96) == pytest.approx(0.8, abs=0.025)
    assert resampling.smallest_detectable_difference(2, 0) == 1


def test_poisson_binomial_by_hand_and_against_the_binomial():
    assert resampling.poisson_binomial(np.array([0.5, 0.25])) == pytest.approx([0.375, 0.5, 0.125])
    equal = resampling.poisson_binomial(np.full(300, 0.1))
    assert equal == pytest.approx(stats.binom.pmf(np.arange(301), 300, 0.1), abs=1e-14)
    assert resampling.poisson_binomial(np.zeros(0)).tolist() == [1]


def test_poisson_binomial_against_one_by_one_convolution():
    chances = 1 / np.random.default_rng(0).integers(2, 40, 400)
    slow = np.ones(1)
    for chance in chances:
        slow = np.convolve(slow, [1 - chance, chance])
    assert resampling.poisson_binomial(chances) == pytest.approx(slow, abs=1e-14)


def test_chance_test():
    assert resampling.chance_test(0, np.full(60, 1 / 729)) == 1
    assert resampling.chance_test(6, np.full(6, 0.5)) == pytest.approx(2 / 64)
    pmf = resampling.poisson_binomial(np.full(200, 0.2))
    false_alarms = sum(
        pmf[k] for k in range(201) if resampling.chance_test(k, np.full(200, 0.2)) < 0.05
    )
    assert 0.02 < false_alarms < 0.05
