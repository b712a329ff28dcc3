import numpy as np
import pytest
from scipy import stats

from bindbench.analysis.agreement import agreement, cohen_kappa, kappa_interval


def judges(both_pass, both_fail, only_first, only_second):
    parts = [(both_pass, 1, 1), (both_fail, 0, 0), (only_first, 1, 0), (only_second, 0, 1)]
    first = np.concatenate([np.full(n, bool(a)) for n, a, _ in parts])
    second = np.concatenate([np.full(n, bool(b)) for n, _, b in parts])
    return first, second


def test_the_overall_row_of_table_21():
    result = agreement(*judges(479, 479, 24, 18))  # half of the images pass
    assert result.agreement.value == pytest.approx(0.958)
    assert round(result.kappa, 2) == 0.92
    assert result.disagreement == pytest.approx(0.042)
    assert (result.only_first.value, result.only_second.value) == (0.024, 0.018)
    assert result.only_first.low < 0.024 < result.only_first.high
    assert result.asymmetry_p == pytest.approx(0.4408, abs=1e-4)  # 18 of 42, binomial


def test_kappa_by_hand():
    first, second = judges(20, 15, 10, 5)  # observed .7; expected .6 * .5 + .4 * .5 = .5
    assert cohen_kappa(first, second) == pytest.approx(0.4)
    assert cohen_kappa(np.array(["a", "b"]), np.array(["b", "a"])) == pytest.approx(-1)


def test_kappa_that_means_nothing_is_none():
    assert agreement(*judges(5, 0, 0, 0)).kappa is None


def test_judges_of_different_images_are_an_error():
    with pytest.raises(ValueError, match="same images"):
        agreement(np.ones(2, bool), np.ones(3, bool))


def test_the_interval_of_kappa_is_the_jackknife_of_its_scenes():
    first, second = judges(9, 6, 3, 2)
    scenes = np.arange(20) % 7
    without = np.array([cohen_kappa(first[scenes != s], second[scenes != s]) for s in range(7)])
    half = stats.t.ppf(0.975, 6) * np.sqrt(6 / 7 * np.sum((without - without.mean()) ** 2))
    kappa = cohen_kappa(first, second)
    assert kappa_interval(first, second, scenes) == pytest.approx((kappa - half, kappa + half))


def test_the_interval_of_kappa_covers():
    # Both judges pass half, and agree on 80%: kappa is 0.6.
    rng, inside = np.random.default_rng(0), 0
    for _ in range(400):
        first = rng.random(100) < 0.5
        second = first ^ (rng.random(100) < 0.2)
        low, high = kappa_interval(first, second)
        inside += low <= 0.6 <= high
    assert 0.92 <= inside / 400 <= 0.98


def test_judges_who_never_differ_leave_kappa_without_an_interval():
    assert agreement(*judges(5, 5, 0, 0)).kappa_bounds is None
