"""What undoes a filter: levels worked by hand, and the greedy choice on small pools."""

import numpy as np
import pytest

from bindbench.analysis.filter_shift import null_distances, total_variation
from bindbench.analysis.quotas import Supply, choose, mean_distance, need

NONE = np.zeros(4, bool)


@pytest.mark.parametrize(("words", "mentions"), [(5, 7), (5, 300), (59, 120), (20, 2000)])
def test_the_mean_distance_is_that_of_draws(words, mentions):
    drawn = null_distances(words, mentions, 1, 20_000)
    assert mean_distance(words, mentions) == pytest.approx(drawn.mean(), rel=0.01)
    assert mean_distance(2, 1) == pytest.approx(0.5)


def test_an_even_set_needs_nothing():
    found = need(np.array([40, 41, 39, 40]), NONE, 0)
    assert found.met
    assert found.quota == 0
    assert not found.missing.any()


def test_a_word_that_was_hit_is_filled_to_the_lowest_level_that_does():
    counts = np.array([20, 100, 100, 100])
    found = need(counts, NONE, 0)
    assert not found.met
    assert found.missing.tolist() == [found.quota - 20, 0, 0, 0]
    level = int(found.quota)
    for quota, enough in ((level, True), (level - 1, False)):
        filled = np.maximum(counts, quota)
        assert (total_variation(filled) <= mean_distance(4, int(filled.sum()))) == enough


def test_a_word_that_is_given_up_is_left_alone_and_the_others_are_even():
    found = need(np.array([0, 20, 100, 100]), np.array([True, False, False, False]), 0)
    assert found.missing[0] == 0
    assert found.missing[1] > 0
    only = need(np.array([0, 100, 100, 100]), np.array([True, False, False, False]), 0)
    assert not only.met
    assert not only.missing.any()


def test_only_sure_failures_are_hopeless():
    supply = Supply(np.array([100, 100, 10, 0]), np.array([0, 9, 0, 0]))
    assert supply.hopeless(0.05).tolist() == [True, False, False, False]
    assert supply.mean_survival == pytest.approx(9 / 210)


def chosen(pool, sampled, accepted, most=100, unit=1):
    supply = Supply(np.array(sampled), np.array(accepted))
    needs = {"set": {"labels": need(supply.accepted, np.zeros(len(sampled), bool), 0)}}
    words = {"labels": np.array(pool)}
    free = np.ones(len(pool), bool)
    return choose({"set": {"labels": supply}}, needs, words, free, most, unit)


def test_concepts_with_the_missing_word_are_taken_until_enough_are_expected():
    pool = [[0], [1], [2]] * 400
    found = chosen(pool, [100, 100, 100], [20, 100, 100], most=1000)
    assert {place % 3 for place in found} == {0}
    # Survival of word 0: 20/100, drawn to the mean of 0.73 by four mentions: 0.22.
    level = need(np.array([20, 100, 100]), np.zeros(3, bool), 0).quota
    smoothed = (20 + 4 * 220 / 300) / 104
    assert len(found) == int(np.ceil((level - 20) / smoothed))


def test_of_two_concepts_the_one_with_the_rarer_other_word_comes_first():
    found = chosen([[0, 1], [0, 2]], [100, 100, 100], [20, 100, 60], most=1)
    assert found == [1]


def test_bounds_and_units():
    pool = [[0], [1]] * 50
    assert len(chosen(pool, [100, 100], [10, 100], most=7)) == 7
    pairs = chosen(pool, [100, 100], [10, 100], most=7, unit=2)
    assert len(pairs) == 6
    assert pairs[::2] == [place - 1 for place in pairs[1::2]]
    assert chosen([[1]] * 5, [100, 100], [10, 100]) == []  # no concept has the missing word
