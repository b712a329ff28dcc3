import numpy as np
import pytest
from scipy import optimize

from bindbench.analysis.differences import paired_difference, tango


def score_statistic(losses, gains, n, difference):
    """By its definition: the likeliest rates with this difference are searched for."""

    def minus_log_likelihood(rate):  # of losses; that of gains is rate + difference
        cells = (rate, rate + difference, 1 - 2 * rate - difference)
        seen = (losses, gains, n - losses - gains)
        terms = (k * np.log(max(p, 1e-300)) for k, p in zip(seen, cells, strict=True) if k)
        return -sum(terms)

    bounds = (max(0.0, -difference), (1 - difference) / 2)
    rate = optimize.minimize_scalar(
        minus_log_likelihood, bounds=bounds, method="bounded", options={"xatol": 1e-12}
    ).x
    variance = n * (2 * rate + difference - difference**2)
    return (gains - losses - n * difference) / np.sqrt(variance)


@pytest.mark.parametrize(
    ("losses", "gains", "n"), [(3, 9, 60), (0, 4, 60), (12, 12, 200), (1, 0, 30), (20, 5, 40)]
)
def test_tango_holds_what_is_within_z_standard_errors(losses, gains, n):
    low, high = tango(float(losses), float(gains), float(n))
    assert -1 <= low < (gains - losses) / n < high <= 1
    for bound, z in ((low, 1.95996), (high, -1.95996)):
        assert score_statistic(losses, gains, n, bound) == pytest.approx(z, abs=2e-3)


def test_tango_where_nothing_differs_is_wilsons_bound():
    z2 = 1.959964**2
    low, high = tango(0.0, 0.0, 100.0)
    assert (low, high) == pytest.approx((-z2 / (100 + z2), z2 / (100 + z2)), abs=1e-6)


def test_tango_where_everything_differs():
    low, high = tango(0.0, 20.0, 20.0)
    assert high == 1.0
    assert 0.6 < low < 1


def test_signs_follow_the_order_of_the_sides():
    first = np.array([True] * 12 + [False] * 28)
    second = np.array([True] * 10 + [False] * 2 + [True] * 9 + [False] * 19)
    found, turned = paired_difference(first, second), paired_difference(second, first)
    assert found.value == pytest.approx(7 / 40)
    assert (found.low, found.high) == pytest.approx((-turned.high, -turned.low))
    assert (found.n, found.n_effective) == (40, 40)
    assert paired_difference(first[:0], second[:0]).n == 0


def test_replicates_that_are_alike_count_once():
    first = np.repeat(np.arange(20) < 4, 3)
    second = np.repeat(np.arange(20) < 10, 3)
    scenes = np.repeat(np.arange(20), 3)
    found = paired_difference(first, second, scenes)
    # 19 degrees of freedom: t = 2.093; the variance by scene is 20 / 19 of that of 20 pairs.
    assert found.n_effective == pytest.approx(19 * (1.95996 / 2.09302) ** 2, rel=1e-3)
    assert found.high - found.low > 1.6 * (
        paired_difference(first, second).high - paired_difference(first, second).low
    )
    assert paired_difference(first, first, scenes).n_effective == 20  # nothing differs
