import itertools

import numpy as np
import pytest

from bindbench.permutation import Permutation, arrangements, unrank


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100, 1009, 4097])
def test_permutation_visits_every_element_once(size):
    assert sorted(Permutation(size, [1])(np.arange(size)).tolist()) == list(range(size))


def test_permutation_depends_on_the_seed_alone():
    places = np.arange(500)
    first = Permutation(10**12, [3, 4])(places)
    assert (first == Permutation(10**12, [3, 4])(places)).all()
    assert (first[100:] == Permutation(10**12, [3, 4])(places[100:])).all()
    assert (first != Permutation(10**12, [3, 5])(places)).all()


def test_permutation_looks_uniform():
    values = Permutation(10**9, [0])(np.arange(20_000))
    counts = np.bincount(values * 20 // 10**9, minlength=20)
    # Chi-square with 19 degrees of freedom: 43.8 is exceeded once in a thousand.
    assert ((counts - 1000) ** 2 / 1000).sum() < 43.8
    assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 0.03


@pytest.mark.parametrize(("n", "k"), [(5, 0), (5, 1), (5, 2), (4, 4), (6, 3)])
def test_unrank_lists_the_arrangements_in_order(n, k):
    expected = list(itertools.permutations(range(n), k))
    assert arrangements(n, k) == len(expected)
    rows = unrank(np.arange(len(expected)), n, k)
    assert [tuple(row) for row in rows.tolist()] == expected
