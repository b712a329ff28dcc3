import itertools

import numpy as np
import pytest

from bindbench.analysis.choice import MOST_WRONG, choice_subset


def test_the_positive_and_49_others_are_offered():
    for key in ("a", "b", "c"):
        offered = choice_subset(key, 729)
        assert offered.dtype == bool and offered.shape == (729,)
        assert offered[0]
        assert offered[1:].sum() == MOST_WRONG == 49


@pytest.mark.parametrize("candidates", [1, 2, 16, 50])
def test_all_are_offered_where_they_can_be_listed(candidates):
    assert choice_subset("a", candidates).all()


def test_it_depends_on_key_seed_and_number_alone():
    first = choice_subset("a", 108)
    assert np.array_equal(first, choice_subset("a", 108))
    assert not np.array_equal(first, choice_subset("b", 108))
    assert not np.array_equal(first, choice_subset("a", 108, seed=1))


def test_smaller_choices_are_parts_of_larger_ones():
    sizes = [choice_subset("a", 729, most=most) for most in (0, 5, 49, 200)]
    assert [int(s.sum()) for s in sizes] == [1, 6, 50, 201]
    for small, large in itertools.pairwise(sizes):
        assert not (small & ~large).any()


def test_every_candidate_is_drawn_equally_often():
    counts = sum(choice_subset(f"item {i}", 108).astype(int) for i in range(4000))[1:]
    expected = 4000 * 49 / 107
    # 107 counts, each with a standard deviation of about 31.5
    assert np.abs(counts - expected).max() < 4.5 * 31.5
    # A hypergeometric sum: the mean is exact.
    assert counts.mean() == pytest.approx(expected)
