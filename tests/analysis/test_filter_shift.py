from math import comb, floor

import numpy as np
import pytest

from bindbench.analysis.filter_shift import (
    Mentions,
    filter_shift,
    null_distances,
    shift,
    total_variation,
)


def expected_tv(n_words, n_mentions):
    """The exact mean: words * E|X - mp| / 2m, by de Moivre's mean deviation of the binomial."""
    p = 1 / n_words
    k = floor(n_mentions * p) + 1
    deviation = 2 * k * comb(n_mentions, k) * p**k * (1 - p) ** (n_mentions - k + 1)
    return n_words * deviation / n_mentions / 2


def test_distance_by_hand():
    assert total_variation(np.array([2, 1, 1, 0])) == pytest.approx(0.25)  # (.25 + 0 + 0 + .25) / 2
    assert total_variation(np.array([5, 5])) == 0
    assert total_variation(np.array([0, 0])) == 0
    assert total_variation(np.array([9, 0, 0, 0])) == pytest.approx(0.75)


@pytest.mark.parametrize(("n_words", "tv"), [(20, 0.16), (150, 0.45)])
def test_what_sampling_alone_gives(n_words, tv):
    distances = null_distances(n_words, 120, seed=0)
    assert expected_tv(n_words, 120) == pytest.approx(tv, abs=0.005)
    assert distances.mean() == pytest.approx(expected_tv(n_words, 120), abs=0.003)


def test_shares_and_excess_by_hand():
    words = ["a", "b", "c", "d"]
    validated = ["a"] * 10 + ["b"] * 5 + ["c"] * 4 + ["d"]  # of target: 2, 1, 0.8, 0.2
    result = shift(validated, ["a", "a", "b", "c", "d"], words, seed=0)
    assert (result.n_words, result.n_mentions) == (4, 20)
    assert result.tv == pytest.approx((0.25 + 0 + 0.05 + 0.2) / 2)
    assert (result.within, result.below) == (0.5, 0.25)
    assert result.sampled_tv == pytest.approx(0.15)
    assert result.excess == pytest.approx(0.1)
    assert result.excess_over_null == pytest.approx(0.25 - result.null_mean)
    assert result.null_low < result.null_mean < result.null_high


def test_the_bounds_of_within_belong_to_it():
    result = shift(["a"] * 3 + ["b"], [], ["a", "b"], seed=0)  # 1.5 and 0.5 times the target
    assert (result.within, result.below) == (1, 0)
    quarter = shift(["a"] + ["b"] * 5 + ["c"] * 5 + ["d"] * 5, [], list("abcd"), seed=0)
    assert quarter.below == 0  # exactly 0.25 times is not below


def test_pairs_join_each_object_with_its_label():
    sample = Mentions([("cup", "chair")], [("red", "blue")])
    assert sample.pairs() == [("cup", "red"), ("chair", "blue")]
    assert Mentions([("cup", "chair")], [("above",)]).pairs() == [("cup", "above")]
    result = filter_shift(sample, sample, ["cup", "chair"], ["red", "blue"])
    assert result.labels.tv == result.objects.tv == 0
    assert result.pairs.tv == pytest.approx(0.5)  # 2 of 4 pairs
    assert result.pairs.n_words == 4


def test_draws_from_the_prior_lie_in_the_band_and_a_filter_does_not():
    rng = np.random.default_rng(5)
    words = [f"w{i}" for i in range(20)]
    inside = sum(
        not shift(rng.choice(words, 300).tolist(), [], words, seed=1).beyond_null for _ in range(40)
    )
    assert inside >= 36
    kept = [word for word in rng.choice(words, 600) if word not in words[:4]]
    assert shift(kept, [], words, seed=1).beyond_null


def test_nothing_validated_and_strange_words():
    assert shift([], ["a"], ["a", "b"], seed=0).n_mentions == 0
    with pytest.raises(ValueError, match="outside the vocabulary: \\['z'\\]"):
        shift(["z"], [], ["a"], seed=0)


def test_the_seed_decides_the_band():
    assert np.array_equal(null_distances(20, 50, 3), null_distances(20, 50, 3))
    assert not np.array_equal(null_distances(20, 50, 3), null_distances(20, 50, 4))
