from dataclasses import replace

import numpy as np
import pytest
from analysis_samples import attribute_space, items_of, swap_mask
from hypothesis import given, settings
from hypothesis import strategies as st

from bindbench.analysis.accuracy import (
    decide,
    evaluate,
    negatives,
    outcomes_of,
    tolerance,
    undecided,
)
from bindbench.analysis.resampling import blaker
from bindbench.errors import UserError
from bindbench.semantics import FALSE, TRUE, UNDECIDED

HAND = [  # positive, true, false, false, undecided
    ([5.0, 9.0, 4.0, 1.0, 2.0], [TRUE, TRUE, FALSE, FALSE, UNDECIDED]),  # only a true one is above
    ([5.0, 1.0, 5.0, 5.0, 2.0], [TRUE, TRUE, FALSE, FALSE, UNDECIDED]),  # ties with two false ones
    ([5.0, 1.0, 6.0, 5.0, 2.0], [TRUE, TRUE, FALSE, FALSE, UNDECIDED]),  # beaten
    ([5.0, 1.0, 2.0, 3.0, 7.0], [TRUE, TRUE, FALSE, FALSE, UNDECIDED]),  # undecided above
    ([5.0, 1.0, 2.0, 3.0, 4.0], [TRUE, TRUE, TRUE, TRUE, UNDECIDED]),  # nothing false: excluded
]


def hand():
    return items_of(*zip(*HAND, strict=True))


def test_strict_by_hand():
    result = evaluate(hand(), "strict")
    assert (result.n_items, result.n_excluded) == (4, 1)
    assert result.accuracy == 2 / 4
    assert result.credit == pytest.approx((1 + 1 / 3 + 0 + 1) / 4)
    assert result.tie_rate == 1 / 4
    assert result.chance == pytest.approx(1 / 3)
    assert result.ceiling == result.ceiling_ties_lose == 1
    assert (result.low, result.high) == blaker(2, 4)
    assert result.wide_low <= result.low < result.high <= result.wide_high


def test_paper_by_hand():
    result = evaluate(hand(), "paper")
    assert (result.n_items, result.n_excluded) == (5, 0)
    assert result.accuracy == 1 / 5  # the last alone
    assert result.credit == pytest.approx((0 + 1 / 3 + 0 + 0 + 1) / 5)
    assert result.chance == pytest.approx(1 / 5)
    assert result.ceiling == pytest.approx((4 * 1 / 2 + 1 / 4) / 5)
    assert result.ceiling_ties_lose == 0


def test_a_subset_and_a_slice():
    subset = np.array([True, False, True, False, False])
    assert evaluate(hand(), subset=subset).accuracy == 2 / 4  # items 0 and 3
    result = evaluate(hand(), keep=np.array([True, True, False, False, True]))
    assert (result.n_items, result.n_excluded, result.accuracy) == (2, 1, 1 / 2)


def test_a_subset_for_each_item_leaves_out_its_count_negatives():
    with_count = np.ones((5, 5), bool)
    with_count[2, 2] = False  # the one that beats item 2
    result = evaluate(hand(), subset=with_count)
    assert result.accuracy == 2 / 4
    assert result.credit == pytest.approx((1 + 1 / 3 + 1 / 2 + 1) / 4)
    assert result.chance == pytest.approx((3 * 1 / 3 + 1 / 2) / 4)


def test_rows_of_different_lengths_are_padded_without_effect():
    items = items_of([[1.0, 0.0], [1.0, 0.0, 2.0]], [[TRUE, FALSE], [TRUE, FALSE, FALSE]])
    assert outcomes_of(items).rivals.tolist() == [1, 2]
    assert outcomes_of(items, "paper").win.tolist() == [True, False]


def test_nothing_to_count_is_said_not_averaged():
    result = evaluate(items_of([[1.0, 2.0]], [[TRUE, TRUE]]))
    assert (result.n_items, result.n_excluded, result.low, result.high) == (0, 1, 0, 1)


@pytest.mark.parametrize(
    ("dtype", "distance", "tie"),
    [
        ("float64", 1e-12, False),
        ("float64", 1e-15, True),
        ("float32", 5e-6, False),
        ("float32", 5e-7, True),
        ("float16", 2e-3, False),
        ("float16", 5e-4, True),
        ("bfloat16", 1e-2, False),
        ("bfloat16", 5e-3, True),
    ],
)
@pytest.mark.parametrize("scale", [1.0, -60.0, 0.3])
def test_what_a_tie_is_depends_on_dtype_and_magnitude(dtype, distance, tie, scale):
    scores = np.array(
        [[scale, scale - distance * abs(scale)], [scale, scale + distance * abs(scale)]]
    )
    outcomes = decide(scores, np.array([[False, True]] * 2), dtype)
    assert outcomes.win.tolist() == [not tie, False]
    assert outcomes.beaten.tolist() == [False, not tie]
    assert outcomes.at_top_tied.tolist() == [tie, tie]


def test_bad_input_is_named():
    with pytest.raises(UserError, match="scene s1"):
        items_of([[1.0, 0.0], [1.0, np.nan]], [[TRUE, FALSE]] * 2)
    with pytest.raises(ValueError, match="positive"):
        items_of([[1.0, 0.0]], [[FALSE, FALSE]])
    with pytest.raises(UserError, match="bfloat16"):
        tolerance("bfloat")


@pytest.mark.parametrize("n", [2, 3])
def test_published_chance_and_ceiling(n):
    objects, labels, semantics = attribute_space(n)
    items = items_of(np.zeros((3, len(semantics))), [semantics] * 3)
    paper = evaluate(items, "paper")
    assert paper.chance == pytest.approx({2: 0.0625, 3: 1 / 729}[n])  # 6.3% and 0.14%
    assert paper.ceiling == pytest.approx({2: 1 / 2, 3: 1 / 6}[n])  # 1 / N!
    assert paper.ceiling_ties_lose == 0
    swap = evaluate(items, "paper", swap_mask(objects, labels))
    assert swap.chance == pytest.approx({2: 1 / 2, 3: 1 / 6}[n])  # 50% and 16.7%
    assert swap.ceiling == 1  # no swap is true
    assert evaluate(items).chance == pytest.approx({2: 1 / 15, 3: 1 / 724}[n])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_order_of_the_other_candidates_does_not_matter(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    n, k = 20, data.draw(st.integers(2, 12))
    scores = rng.integers(0, 4, (n, k)).astype(float)
    semantics = rng.integers(0, 3, (n, k)).astype(np.int8)
    semantics[:, 0] = TRUE
    order = np.concatenate([[0], 1 + rng.permutation(k - 1)])
    for mode in ("strict", "paper"):
        assert evaluate(items_of(scores, semantics), mode) == evaluate(
            items_of(scores[:, order], semantics[:, order]), mode
        )


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_against_a_slow_reading_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 3, (30, 5)).astype(float)
    semantics = rng.integers(0, 3, (30, 5)).astype(np.int8)
    semantics[:, 0] = TRUE
    wins = credit = counted = 0
    for row, codes in zip(scores.tolist(), semantics.tolist(), strict=True):
        rivals = [s for s, code in zip(row[1:], codes[1:], strict=True) if code == FALSE]
        if rivals:
            counted += 1
            wins += all(row[0] > s for s in rivals)
            credit += 0 if max(rivals) > row[0] else 1 / (1 + rivals.count(row[0]))
    result = evaluate(items_of(scores, semantics))
    assert result.n_items == counted
    assert result.accuracy == pytest.approx(wins / counted)
    assert result.credit == pytest.approx(credit / counted)


def test_chunks_do_not_show():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(9000, 3))
    rivals = np.tile([False, True, True], (9000, 1))
    whole = decide(scores, rivals, "float64")
    assert np.array_equal(whole.win, scores[:, 0] > scores[:, 1:].max(axis=1))


def test_negatives_leave_their_input_alone():
    semantics = np.array([[TRUE, FALSE, UNDECIDED]], np.int8)
    assert negatives(semantics, "paper", np.array([True, True, False])).tolist() == [
        [False, True, False]
    ]
    assert semantics.tolist() == [[TRUE, FALSE, UNDECIDED]]


def test_a_difference_of_large_numbers_ties_by_their_size():
    """Two sums of -60 and -61 nats, right to 5e-5: their difference of 1 is no better known."""
    scores = [[1.00002, 1.0], [1.0002, 1.0]]
    semantics = [[TRUE, FALSE]] * 2
    plain = items_of(scores, semantics, "float32")
    sized = replace(plain, sizes=np.full((2, 2), 61.0))
    assert outcomes_of(plain).win.tolist() == [True, True]
    assert outcomes_of(sized).tied.tolist() == [1, 0]
    assert outcomes_of(sized).win.tolist() == [False, True]
    part = sized.take(np.array([False, True]))
    assert part.sizes is not None and part.sizes.shape == (1, 2)
    assert outcomes_of(part).win.tolist() == [True]


def test_undecided_items_are_those_whose_two_best_are_close():
    scores = [
        [5.0, 4.6, 0.0, 0.0],  # the positive and its rival
        [0.0, 4.6, 5.0, 4.9],  # two rivals above the positive; the true one does not count
        [5.0, 1.0, 0.0, 4.9],  # close to a true caption only
        [5.0, 4.5, 0.0, 0.0],  # exactly the gap is decided
    ]
    semantics = [[TRUE, FALSE, FALSE, TRUE]] * 4
    found = items_of(scores, semantics)
    assert undecided(found, 0.5).tolist() == [True, True, False, False]
    assert undecided(found, 0.5, "paper").tolist() == [True, True, True, False]
    nothing = np.zeros(4, bool)
    assert undecided(found, 0.5, subset=nothing).tolist() == [False] * 4
    assert undecided(found.take(np.zeros(4, bool)), 0.5).tolist() == []
