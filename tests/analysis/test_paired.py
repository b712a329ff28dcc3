import itertools
from dataclasses import replace

import numpy as np
import pytest
from analysis_samples import attribute_space, items_of

from bindbench.analysis.paired import compare, compare_tracks, in_concept_order, winoground
from bindbench.candidates import candidate_space
from bindbench.semantics import FALSE, TRUE, UNDECIDED

CODES = [TRUE, FALSE, UNDECIDED]


def test_only_candidates_false_in_both_tracks_count():
    minimal = items_of(
        [[3.0, 9.0, 1.0], [3.0, 4.0, 1.0], [3.0, 1.0, 1.0]],
        [[TRUE, UNDECIDED, FALSE], [TRUE, FALSE, FALSE], [TRUE, FALSE, UNDECIDED]],
    )
    contextual = items_of(
        [[3.0, 9.0, 1.0], [3.0, 2.0, 1.0], [3.0, 1.0, 9.0]],
        [[TRUE, FALSE, FALSE], [TRUE, FALSE, FALSE], [TRUE, UNDECIDED, FALSE]],
    )
    result = compare_tracks(minimal, contextual)
    assert (result.n_items, result.n_excluded) == (2, 1)  # the last has none false in both
    assert (result.first.value, result.second.value) == (0.5, 1.0)
    assert (result.difference.value, result.ratio.value) == (0.5, 2.0)
    assert result.p_value == 1.0  # a single differing pair
    paper = compare_tracks(minimal, contextual, "paper")
    assert (paper.n_items, paper.first.value, paper.second.value) == (3, 1 / 3, 1 / 3)


def test_a_row_of_table_6():
    first = np.array([True] * 220 + [False] * 780)
    second = np.array([True] * 150 + [False] * 70 + [True] * 46 + [False] * 734)
    result = compare(first, second, items_of(np.zeros((1000, 2)), [[0, 1]] * 1000).design)
    assert result.difference.value == pytest.approx(-0.024)  # 22.0 to 19.6
    assert result.difference.low < -0.024 < result.difference.high < 0.01
    assert result.wide_low <= result.difference.low < result.difference.high <= result.wide_high
    assert result.p_value == pytest.approx(0.0322, abs=1e-3)  # 46 of 116, binomial
    assert result.ratio.value == pytest.approx(196 / 220)


def test_repeated_scenes_count_once():
    first, second = np.zeros(12, bool), np.ones(12, bool)
    design = items_of(np.zeros((12, 2)), [[0, 1]] * 12, scenes=list("aaabbbcccddd")).design
    result = compare(first, second, design)
    assert result.p_value > 0.1  # four scenes: at best 2 / 2**4
    assert compare(first[:0], second[:0], design.take(np.zeros(12, bool))) is None


def test_different_scenes_are_an_error():
    items = items_of([[1.0, 0.0]], [[TRUE, FALSE]])
    with pytest.raises(ValueError, match="same scenes"):
        compare_tracks(items, items_of([[1.0, 0.0]], [[TRUE, FALSE]], scenes=["other"]))


@pytest.mark.parametrize("n", [2, 3])
def test_candidates_are_moved_to_the_same_claim(n):
    """The score stands for the claim; after the move, equal claims have equal scores."""
    objects, labels, semantics = attribute_space(n)
    orders = np.array(list(itertools.permutations(range(n))))

    def claims(order):  # what each candidate says of the concept's objects, and in what order
        return [
            tuple(zip(o, s, strict=True))
            for o, s in zip(order[objects].tolist(), order[labels].tolist(), strict=True)
        ]

    number = {claim: float(k) for k, claim in enumerate(claims(np.arange(n)))}
    scores = [[number[claim] for claim in claims(order)] for order in orders]
    items = items_of(scores, [semantics] * len(orders))
    sized = replace(items, sizes=items.scores + 1)
    moved = in_concept_order(sized, objects, labels, orders)
    assert np.array_equal(moved.sizes, moved.scores + 1)  # they stay beside their scores
    assert np.array_equal(moved.semantics, items.semantics)
    assert np.array_equal(moved.scores[:, 0], items.scores[:, 0])  # the positive stays
    for order, row in zip(orders, moved.scores.astype(int), strict=True):
        in_order = claims(np.arange(n))
        for k, score in enumerate(row):
            said = in_order[score]  # the claims of the caption, clause by clause as it was scored
            assert sorted(said) == sorted(in_order[k])
            assert said == tuple(in_order[k][c] for c in order)


@pytest.mark.parametrize("n", [2, 3])
def test_the_move_keeps_swaps_and_error_families(n):
    space = candidate_space("attribute", n)
    kinds = np.stack([space.swap, space.errors]).astype(float)
    for order in itertools.permutations(range(n)):
        items = items_of(kinds, np.zeros((2, len(space)), np.int8))
        moved = in_concept_order(items, space.objects, space.labels, np.array([order, order]))
        assert np.array_equal(moved.scores, kinds)


def test_relational_captions_keep_their_order():
    items = items_of([[1.0, 0.0]], [[TRUE, FALSE]])
    objects, labels = np.array([[0, 1], [1, 0]]), np.zeros((2, 1), int)
    same = in_concept_order(items, objects, labels, np.array([[0, 1]]))
    assert np.array_equal(same.scores, items.scores)
    with pytest.raises(ValueError, match="reordered"):
        in_concept_order(items, objects, labels, np.array([[1, 0]]))


def test_winoground_by_hand():
    table = np.array(
        [
            [[2.0, 1.0], [1.0, 2.0]],  # all right
            [[2.0, 1.0], [3.0, 4.0]],  # text right; caption 0 prefers image 1
            [[2.0, 3.0], [1.0, 4.0]],  # image right; image 0 prefers caption 1
            [[1.0, 1.0], [1.0, 1.0]],  # ties lose
        ]
    )
    scores = winoground(table, "float64")
    assert (scores.text.value, scores.image.value, scores.group.value) == (0.5, 0.5, 0.25)
