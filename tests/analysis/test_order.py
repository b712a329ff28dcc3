import numpy as np
import pytest
from scipy import stats

from bindbench.analysis.accuracy import decide, design_of
from bindbench.analysis.order import (
    accuracy_by_concordance,
    along_axis,
    kendall,
    order_correlation,
    spearman,
)


def test_places_along_each_axis():
    boxes, areas = [[(0, 10, 20, 30), (40, 0, 60, 8)]], [[100, 50]]
    matched = [[1, 0]]  # mentioned first: the second detection
    assert along_axis("horizontal", boxes, areas, matched).tolist() == [[50, 10]]
    assert along_axis("vertical", boxes, areas, matched).tolist() == [[-4, -20]]  # up is larger
    assert along_axis("size", boxes, areas, matched).tolist() == [[50, 100]]
    with pytest.raises(ValueError, match="matched"):
        along_axis("size", boxes, areas, [[0, -1]])


def test_correlations_by_hand():
    places = np.array([[1, 2, 3], [3, 2, 1], [1, 3, 2], [5, 5, 5], [1, 1, 2]], float)
    assert kendall(places) == pytest.approx([1, -1, 1 / 3, 0, 2 / 3])
    assert spearman(places) == pytest.approx([1, -1, 0.5, 0, np.sqrt(3) / 2])


def test_against_scipy():
    places = np.random.default_rng(0).normal(size=(50, 4))
    for row, tau, rho in zip(places, kendall(places), spearman(places), strict=True):
        assert tau == pytest.approx(stats.kendalltau(range(4), row).statistic)
        assert rho == pytest.approx(stats.spearmanr(range(4), row).statistic)


def test_a_set_placed_in_mention_order_is_found_and_a_random_one_is_not():
    rng = np.random.default_rng(1)
    places = rng.random((300, 3))
    random = order_correlation("horizontal", places)
    assert random.kendall.low < 0 < random.kendall.high
    ordered = order_correlation("horizontal", np.sort(places, axis=1))
    assert ordered.spearman.value == ordered.kendall.value == 1
    assert ordered.kendall.low > 0.9


def test_accuracy_of_concordant_and_discordant_items():
    scores = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    outcomes = decide(scores, np.tile([False, True], (4, 1)), "float64")
    design = design_of(list("abcd"), [["x", "y"]] * 4, [["r", "g"]] * 4)
    places = np.array([[1.0, 2.0], [3.0, 2.0], [0.0, 9.0], [4.0, 4.0]])
    table = accuracy_by_concordance(outcomes, places, design)
    assert (table["concordant"].n_items, table["concordant"].accuracy) == (2, 1)
    assert (table["discordant"].n_items, table["discordant"].accuracy) == (1, 0)
