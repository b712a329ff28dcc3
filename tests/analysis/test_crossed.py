import numpy as np
import pytest
from scipy import stats

from bindbench.analysis.crossed import (
    crossed_difference,
    crossed_mean,
    crossed_proportion,
    half_width,
)
from bindbench.analysis.differences import paired_difference
from bindbench.analysis.resampling import proportion


def slowly(values, members):
    """Half the width by the definition, with whole matrices."""
    n = len(values)
    centre = np.eye(n) - 1 / n
    residuals = centre @ values
    total = residuals @ residuals / (n - 1)
    square, items = 0.0, total
    for words in members:
        names = np.unique(words)
        counts = (words[:, :, None] == names).sum(axis=1).astype(float)
        c = counts.T @ centre @ counts
        k, mean = len(names) - 1, counts.mean(axis=0)
        distinct = np.sum(c**2) - np.trace(c) ** 2 / (n - 1)
        magnified = n * (mean @ mean) * np.trace(c) / distinct
        noise = (k - 1) / (k - 1 + magnified) * total * np.trace(c)
        variance = max(0.0, np.sum((counts.T @ residuals) ** 2) - noise) / distinct
        items -= variance * np.trace(c) / (n - 1)
        square += stats.t.ppf(0.975, k) ** 2 * variance * (mean @ mean)
    return np.sqrt(square + stats.norm.ppf(0.975) ** 2 * max(0.0, items) / n)


def test_against_whole_matrices():
    rng = np.random.default_rng(0)
    objects = np.array([rng.permutation(12)[:2] for _ in range(80)])
    labels = rng.integers(0, 5, (80, 2))  # a label may be mentioned twice
    effects = rng.normal(size=12)
    wins = (effects[objects].sum(axis=1) + rng.normal(size=80) > 0).astype(float)
    half, plain = half_width(wins, (objects, labels))
    assert half == pytest.approx(slowly(wins, (objects, labels)))
    assert plain == pytest.approx(wins.var() / 79)


def test_where_the_label_decides_it_is_the_t_interval_of_the_labels():
    labels = np.repeat(np.arange(4), 25)[:, None]
    rates = np.array([0.2, 0.4, 0.6, 0.9])
    half, _ = half_width(rates[labels[:, 0]], (labels,))
    assert half == pytest.approx(stats.t.ppf(0.975, 3) * rates.std(ddof=1) / 2)


def test_where_nothing_recurs_it_is_the_plain_interval():
    values = np.random.default_rng(0).random(50)
    half, plain = half_width(values, (np.arange(50)[:, None],))
    assert half == pytest.approx(1.96 * values.std(ddof=1) / np.sqrt(50), rel=1e-4)
    assert half == pytest.approx(1.96 * np.sqrt(plain), rel=1e-4)
    assert half_width(values, (np.zeros((50, 1)),))[0] == pytest.approx(half)  # a single word


def test_a_proportion_decided_by_the_object():
    objects = np.arange(200)[:, None] % 6
    labels = np.arange(200)[:, None] % 7
    wins = objects[:, 0] < 3
    crossed, plain = crossed_proportion(wins, objects, labels), proportion(wins)
    assert crossed.low < plain.low < plain.high < crossed.high
    assert crossed.n_effective < 10
    logits = np.log([crossed.low / (1 - crossed.low), crossed.high / (1 - crossed.high)])
    assert logits.mean() == pytest.approx(np.log(crossed.value / (1 - crossed.value)))
    assert crossed_proportion(np.ones(200, bool), objects, labels).n_effective == 6
    assert crossed_proportion(wins[:0], objects[:0], labels[:0]).n == 0


def test_a_difference_decided_by_the_object():
    objects = np.arange(240)[:, None] % 6
    labels = np.arange(240)[:, None] % 7
    first, second = np.zeros(240, bool), objects[:, 0] < 2
    crossed, plain = (
        crossed_difference(first, second, objects, labels),
        paired_difference(first, second),
    )
    assert crossed.value == plain.value == pytest.approx(1 / 3)
    assert crossed.low < plain.low < plain.high < crossed.high
    assert crossed_difference(first, first, objects, labels).n_effective == 6  # nothing differs


def test_a_mean_of_one_value_says_nothing():
    found = crossed_mean(np.array([0.5]), np.zeros((1, 1)))
    assert (found.low, found.high) == (-1.0, 1.0)
