"""Accuracy on the target prior: weights worked by hand, and an oracle of known accuracy."""

import numpy as np
import pytest
from scipy import stats

from bindbench.analysis.reweighting import Margin, kish, rake, reweighted

ACCURACY = np.array([0.95, 0.85, 0.6, 0.4, 0.2])  # of an item: the mean over its two labels
SURVIVAL = np.array([0.95, 0.9, 0.7, 0.35, 0.2])
TRUTH = float(ACCURACY.mean())  # every label is mentioned equally often before the checks


def test_one_mention_is_plain_post_stratification():
    """3 of word 0 and 1 of word 1: weights 2/3 and 2, and Kish's size 16 / (3 * 4/9 + 4) = 3."""
    found = rake([Margin(np.array([[0], [0], [0], [1]]), 2)])
    assert found.values == pytest.approx([2 / 3, 2 / 3, 2 / 3, 2])
    assert found.effective == pytest.approx(3)
    assert found.tv == pytest.approx((0,))


def test_items_that_mention_two_words_each():
    """Pairs 01, 01, 02: word 0 is in all, so its share stays 1/2; the others' become equal."""
    mentions = np.array([[0, 1], [0, 1], [0, 2]])
    found = rake([Margin(mentions, 3)], most=1000)
    assert found.values[0] == pytest.approx(found.values[1])
    assert found.values[2] / found.values[0] == pytest.approx(2, rel=1e-3)
    assert found.tv[0] == pytest.approx(1 / 6, abs=1e-4)  # 1/2, 1/4, 1/4 against thirds


def test_both_margins_meet_the_prior_where_they_can():
    rng = np.random.default_rng(0)
    labels = np.argsort(rng.random((400, 5)) ** (1 / SURVIVAL), axis=1)[:, :2]
    objects = np.argsort(rng.random((400, 8)) * np.arange(1, 9), axis=1)[:, :2]
    found = rake([Margin(labels, 5), Margin(objects, 8)], most=20)
    assert found.tv == pytest.approx((0, 0), abs=1e-5)
    assert found.values.mean() == pytest.approx(1, abs=1e-6)
    assert found.effective < 400


def test_bounds_hold_and_what_they_leave_is_told():
    found = rake([Margin(np.array([[0]] * 99 + [[1]]), 2)], most=5)
    assert found.values.max() == 5
    assert 0.3 < found.tv[0] < 0.49


def test_an_absent_word_can_not_come_back():
    found = rake([Margin(np.array([[0], [1]]), 4)])
    assert found.values == pytest.approx([1, 1])
    assert found.absent == (2,)
    assert found.tv == pytest.approx((0.5,))


def test_nothing_to_weigh():
    nothing = rake([Margin(np.zeros((0, 2), int), 3)])
    found = reweighted(np.zeros(0, bool), np.zeros(0, str), nothing)
    assert (found.n_items, found.low, found.high) == (0, 0.0, 1.0)
    assert kish(np.zeros(0)) == 0


def test_equal_weights_give_the_plain_mean_and_the_usual_interval():
    wins = np.array([True] * 30 + [False] * 30)
    even = rake([Margin(np.arange(60)[:, None] % 3, 3)])
    found = reweighted(wins, np.arange(60), even)
    assert (found.value, found.plain, even.effective) == pytest.approx((0.5, 0.5, 60))
    wilson = stats.binomtest(30, 60).proportion_ci(method="wilson")
    assert (found.low, found.high) == pytest.approx((wilson.low, wilson.high), abs=0.015)


def filtered(rng, count=900, words=12):
    """Items after the checks: a label's survival multiplies; objects survive equally."""
    labels = np.argsort(rng.random((count, 5)), axis=1)[:, :2]
    objects = np.argsort(rng.random((count, words)), axis=1)[:, :2]
    kept = rng.random(count) < SURVIVAL[labels].prod(axis=1)
    wins = rng.random(count) < ACCURACY[labels].mean(axis=1)
    return wins[kept], labels[kept], objects[kept]


def test_an_oracle_of_known_accuracy_is_right_to_its_interval():
    """500 benchmarks: 95% hold the truth, which the plain accuracy lies far from."""
    rng, held, plain, runs = np.random.default_rng(3), 0, [], 500
    for _ in range(runs):
        wins, labels, objects = filtered(rng)
        weights = rake([Margin(labels, 5), Margin(objects, 12)])
        found = reweighted(wins, np.arange(len(wins)), weights)
        held += found.low <= TRUTH <= found.high
        plain.append(found.plain)
        assert weights.effective < len(wins)
    assert 0.93 <= held / runs <= 0.99
    assert np.mean(plain) > TRUTH + 0.1


def test_replicates_of_a_scene_count_as_one():
    wins = np.repeat(np.random.default_rng(1).random(50) < 0.5, 4)
    scenes = np.repeat(np.arange(50), 4)
    even = rake([Margin(np.zeros((200, 1), int), 1)])
    clustered = reweighted(wins, scenes, even)
    apart = reweighted(wins, np.arange(200), even)
    width = clustered.high - clustered.low
    assert width / (apart.high - apart.low) == pytest.approx(2, rel=0.1)  # sqrt(4)
