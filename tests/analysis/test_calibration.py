import numpy as np
import pytest
from scipy import stats

from bindbench.analysis.calibration import calibrate, faulty_among_accepted, implied_faulty


def test_half_faulty_at_95_and_95_leaves_5_percent():
    assert faulty_among_accepted({"dropped": 0.95}, 0.95, {"dropped": 0.5}) == pytest.approx(0.05)
    several = faulty_among_accepted({"a": 0.9, "b": 1.0}, 0.8, {"a": 0.2, "b": 0.3})
    assert several == pytest.approx(0.02 / (0.02 + 0.4))
    assert faulty_among_accepted({"a": 1.0}, 1.0, {"a": 1.0}) is None
    with pytest.raises(ValueError, match="leaked"):
        faulty_among_accepted({}, 1.0, {"leaked": 0.1})


def test_rates_and_bounds():
    faults = [""] * 100 + ["dropped"] * 200 + ["leaked"] * 50
    accepted = np.array([True] * 96 + [False] * 4 + [True] * 6 + [False] * 194 + [False] * 50)
    result = calibrate(faults, accepted)
    assert result.specificity.value == 0.96
    assert list(result.sensitivity) == ["dropped", "leaked"]
    dropped, leaked = result.sensitivity.values()
    assert (dropped.value, leaked.value) == (0.97, 1.0)
    assert dropped.lower == pytest.approx(
        stats.binomtest(194, 200, alternative="greater").proportion_ci(0.95).low
    )
    assert leaked.lower == pytest.approx(0.05 ** (1 / 50))


def test_what_calibration_implies_and_its_bound():
    faults = [""] * 400 + ["dropped"] * 400
    accepted = np.array([True] * 380 + [False] * 20 + [True] * 20 + [False] * 380)
    value, bound = implied_faulty(calibrate(faults, accepted), {"dropped": 0.5, "never": 0.0})
    assert value == pytest.approx(0.05)
    lower = stats.binomtest(380, 400, alternative="greater").proportion_ci(0.95).low
    assert bound == pytest.approx(1 - lower)  # f (1 - s) / (f (1 - s) + f s), s = c = lower
    assert implied_faulty(calibrate(faults, accepted), {"leaked": 0.1}) == (None, None)
