import numpy as np
import pytest
from analysis_samples import items_of

from bindbench.analysis.errors import (
    accuracy_by_word,
    family_errors,
    hardest,
    holds_close_pair,
    top_family,
    top_rivals,
)
from bindbench.semantics import FALSE, TRUE

NAMES = ("positive", "swap", "repeated pair", "unused")
FAMILIES = np.array([0, 1, 2, 2], np.int8)
SCORES = [
    [5.0, 1.0, 2.0, 3.0],  # won
    [5.0, 6.0, 2.0, 3.0],  # lost to the swap
    [5.0, 1.0, 7.0, 6.0],  # lost to a repeated pair
    [5.0, 5.0, 5.0, 5.0],  # all tie
]
SEMANTICS = [[TRUE, FALSE, FALSE, FALSE]] * 4


def test_shares_of_the_highest_wrong_caption():
    rivals = np.tile([False, True, True, True], (4, 1))
    shares = top_rivals(np.array(SCORES), rivals)
    assert shares[1].tolist() == [0, 1, 0, 0]
    assert shares[3] == pytest.approx(np.array([0, 1, 1, 1]) / 3)
    assert top_rivals(np.array(SCORES), np.zeros((4, 4), bool)).sum() == 0
    assert top_family(np.array(SCORES), rivals, FAMILIES).tolist() == [2, 1, 2, 1]
    assert top_family(np.array(SCORES), ~rivals & False, FAMILIES).tolist() == [-1] * 4


def test_families_by_hand():
    swap, repeated = family_errors(items_of(SCORES, SEMANTICS), FAMILIES, NAMES)
    assert (swap.family, repeated.family) == ("swap", "repeated pair")
    assert swap.errors == pytest.approx(1 + 1 / 3)
    assert swap.share == pytest.approx((1 + 1 / 3) / 3)
    assert swap.chance_share == pytest.approx(1 / 3)
    assert repeated.share == pytest.approx(1 - swap.share)
    assert swap.wins.value == 2 / 4  # above the swap in items 0 and 2
    assert repeated.wins.value == 2 / 4


def test_items_without_anything_to_beat_are_no_errors():
    families = family_errors(
        items_of([*SCORES, SCORES[1]], [*SEMANTICS, [TRUE] * 4]), FAMILIES, NAMES
    )
    assert [row.errors for row in families] == pytest.approx([4 / 3, 5 / 3])
    assert sum(row.share for row in families) == pytest.approx(1)
    assert families[0].wins.n == 4


def test_a_constant_scorer_errs_as_chance_does():
    families = family_errors(items_of(np.ones((6, 4)), [SEMANTICS[0]] * 6), FAMILIES, NAMES)
    assert [row.share for row in families] == pytest.approx([1 / 3, 2 / 3])
    assert [row.chance_share for row in families] == pytest.approx([1 / 3, 2 / 3])


def test_hardest_candidates():
    first, second, third = hardest(items_of(SCORES, SEMANTICS))
    assert [first.index, second.index, third.index] == [1, 2, 3]
    assert first.not_beaten == second.not_beaten == third.not_beaten == 0.5
    assert first.margin == pytest.approx((4 - 1 + 4 + 0) / 4)
    assert [found.index for found in hardest(items_of(SCORES[2:3], SEMANTICS[2:3]), top=2)] == [
        2,
        3,
    ]


def test_accuracy_by_relation():
    words = [["above"], ["under"], ["above"], ["above", "under"]]
    table = accuracy_by_word(items_of(SCORES, SEMANTICS), words)
    assert list(table) == ["above", "under"]
    assert (table["above"].n_items, table["above"].accuracy) == (3, pytest.approx(1 / 3))
    assert (table["under"].n_items, table["under"].accuracy) == (2, 0)


def test_the_slice_of_look_alikes():
    words = [["gold", "yellow"], ["gold", "red"], ["cyan", "red", "teal"]]
    assert holds_close_pair(words, [("yellow", "gold"), ("cyan", "teal")]).tolist() == [
        True,
        False,
        True,
    ]
