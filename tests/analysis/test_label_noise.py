"""The noise model finds planted error rates, and splits an error as worked by hand."""

import numpy as np
import pytest
from scipy import stats

from bindbench.analysis.label_noise import (
    Tally,
    Uncertain,
    audited,
    by_calibration,
    split_error,
    two_judges,
)
from bindbench.analysis.resampling import Estimate

CERTAIN = Uncertain(0.1, np.full(4000, 0.1))


def holds(found: Uncertain, truth: float) -> bool:
    low, high = found.interval
    return low <= truth <= high


def test_half_faulty_at_95_and_95_leaves_5_percent():
    found = by_calibration(Tally(950, 1000), Tally(950, 1000), Tally(500, 1000))
    assert found.value == pytest.approx(0.05)
    assert holds(found, 0.05)


def test_checks_that_accept_all_that_is_good_and_nothing_else_leave_nothing():
    assert by_calibration(Tally(100, 100), Tally(100, 100), Tally(60, 100)).value == 0
    # More is accepted than the specificity allows: no image can be faulty.
    assert by_calibration(Tally(90, 100), Tally(80, 100), Tally(95, 100)).value == 0


def test_an_audit_is_a_proportion():
    found = audited(Tally(3, 50))
    low, high = found.interval
    assert found.value == 0.06
    exact = stats.beta(3.5, 47.5)
    assert (low, high) == pytest.approx((exact.ppf(0.025), exact.ppf(0.975)), abs=0.005)


@pytest.mark.parametrize(
    ("caught", "passed", "faulty"), [(0.9, 0.95, 0.3), (0.97, 0.99, 0.5), (0.8, 0.9, 0.15)]
)
def test_planted_rates_of_the_checks_are_recovered(caught, passed, faulty):
    """400 simulated calibrations, each with another run that they are used on."""
    rng, runs, n, size = np.random.default_rng(7), 400, 300, 600
    accepted = (1 - faulty) * passed + faulty * (1 - caught)
    truth = faulty * (1 - caught) / accepted
    hits = sum(
        holds(
            by_calibration(
                Tally(int(rng.binomial(n, caught)), n),
                Tally(int(rng.binomial(n, passed)), n),
                Tally(int(rng.binomial(size, accepted)), size),
            ),
            truth,
        )
        for _ in range(runs)
    )
    assert 0.93 <= hits / runs <= 0.985


def tables(rng, sizes, good, caught, passed):
    """The answers of two judges about images of several sets."""
    out = {}
    for name, size, share in zip("ab", sizes, good, strict=True):
        fine = rng.random(size) < share
        said = [
            np.where(fine, rng.random(size) < passed[j], rng.random(size) >= caught[j]).astype(int)
            for j in range(2)
        ]
        table = np.zeros((2, 2), np.int64)
        np.add.at(table, (said[0], said[1]), 1)
        out[name] = table
    return out


@pytest.mark.slow
def test_planted_rates_of_two_judges_are_recovered():
    """120 simulated benchmarks of two tracks with different shares of good images."""
    rng, runs = np.random.default_rng(5), 120
    good, caught, passed = (0.9, 0.55), (0.85, 0.8), (0.97, 0.93)
    leaked = [(1 - g) * (1 - caught[0]) for g in good]
    faulty = [bad / (bad + g * passed[0]) for bad, g in zip(leaked, good, strict=True)]
    hits = np.zeros(6)
    for _ in range(runs):
        found = two_judges(tables(rng, (500, 500), good, caught, passed))
        assert found is not None
        hits += [
            *(holds(found.caught[j], caught[j]) for j in range(2)),
            *(holds(found.passed[j], passed[j]) for j in range(2)),
            *(holds(found.faulty[name], faulty[i]) for i, name in enumerate("ab")),
        ]
    assert np.all(hits / runs >= 0.9), hits / runs
    assert hits.mean() / runs <= 0.99


def test_judges_who_are_always_right_agree_and_leave_nothing():
    found = two_judges({"a": np.array([[10, 0], [0, 90]]), "b": np.array([[50, 0], [0, 50]])})
    assert found is not None
    assert [rate.value for rate in (*found.caught, *found.passed)] == pytest.approx([1] * 4)
    assert found.faulty["a"].value == pytest.approx(0, abs=1e-6)


def test_one_set_is_not_enough():
    assert two_judges({"a": np.array([[10, 2], [3, 90]])}) is None


def test_the_split_by_hand():
    """Error 0.3, of which 0.1 faulty: never right there: 0.1 and (0.3 - 0.1) / 0.9."""
    error = Estimate(0.3, 0.2, 0.4, 100, 1e9)
    never = split_error(error, CERTAIN, 0.0)
    assert never.part.value == pytest.approx(0.1)
    assert never.share.value == pytest.approx(1 / 3)
    assert never.true_error.value == pytest.approx(0.2 / 0.9)
    always = split_error(error, CERTAIN, 1.0)
    assert (always.part.value, always.true_error.value) == pytest.approx((0, 0.3 / 0.9))
    chance = split_error(error, CERTAIN, 0.5)
    assert (chance.part.value, chance.true_error.value) == pytest.approx((0.05, 0.25 / 0.9))
    small = split_error(Estimate(0.02, 0, 0.1, 100, 100), CERTAIN, 0.0)
    assert (small.part.value, small.share.value, small.true_error.value) == (0.02, 1, 0)


def test_a_planted_true_error_is_recovered():
    """500 models that err at 0.2 on good items and at 0.5 on the 8% that are faulty."""
    rng, runs, n, looked = np.random.default_rng(2), 500, 400, 250
    hits = 0
    for _ in range(runs):
        faulty = rng.random(n) < 0.08
        errors = np.where(faulty, rng.random(n) < 0.5, rng.random(n) < 0.2)
        share = audited(Tally(int(rng.binomial(looked, 0.08)), looked))
        error = Estimate(float(errors.mean()), 0, 1, n, n)
        hits += holds(split_error(error, share, 0.5).true_error, 0.2)
    assert 0.93 <= hits / runs <= 0.98
