import numpy as np
import pytest
from scipy import stats

from bindbench.analysis.faithfulness import clip_score, clustered_mean


def test_clip_score_by_hand():
    image, texts = np.array([3.0, 4.0]) / 5, np.array([[1.0, 0.0], [0.0, -1.0]])
    cosines = texts @ image  # 0.6 and -0.8
    assert clip_score(cosines) == pytest.approx([1.5, 0.0])
    assert clip_score(cosines, 100) == pytest.approx([60.0, 0.0])


def test_the_mean_of_independent_values_has_students_interval():
    values = np.array([0.2, 0.5, 0.4, 0.9])
    found = clustered_mean(values)
    low, high = stats.t.interval(0.95, 3, values.mean(), stats.sem(values))
    assert found is not None and found.value == pytest.approx(0.5)
    assert (found.low, found.high) == pytest.approx((low, high))


def test_equal_values_of_a_cluster_count_as_one():
    once, scenes = np.array([0.2, 0.5, 0.4, 0.9]), np.array(["a", "b", "c", "d"])
    single, thrice = clustered_mean(once), clustered_mean(np.repeat(once, 3), np.repeat(scenes, 3))
    assert single is not None and thrice is not None
    assert (thrice.low, thrice.high) == pytest.approx((single.low, single.high))
    assert (thrice.n, thrice.n_effective) == (12, 4)
    assert clustered_mean(once, np.zeros(4)) is None
