"""Choices and their agreement, by hand."""

import numpy as np
import pytest

from bindbench.analysis.accuracy import Items, design_of
from bindbench.analysis.prompt_agreement import NO_CHOICE, agreement, chosen
from bindbench.semantics import FALSE, TRUE

SEMANTICS = [TRUE, FALSE, TRUE, FALSE]  # candidate 2 says the same as the positive


def items(scores, dtype="float64", semantics=SEMANTICS) -> Items:
    n = len(scores)
    words = [[f"o{i}"] for i in range(n)]
    return Items(
        np.array(scores, float),
        np.tile(np.array(semantics, np.int8), (n, 1)),
        dtype,
        design_of([f"s{i}" for i in range(n)], words, words),
    )


def test_the_choice_is_the_highest_of_the_positive_and_its_rivals():
    found = items([[3, 1, 9, 2], [3, 1, 9, 4], [0, 5, 9, 4]])
    assert chosen(found).tolist() == [0, 3, 1]
    assert chosen(found, "paper").tolist() == [2, 2, 2]
    only_last = np.array([False, False, False, True])
    assert chosen(found, subset=only_last).tolist() == [0, 3, 3]


def test_a_tie_at_the_top_is_no_choice():
    assert chosen(items([[1, 1, 0, 0], [1, 2, 0, 2], [1, 0, 0, 0]])).tolist() == [
        NO_CHOICE,
        NO_CHOICE,
        0,
    ]
    near = [[60.0, 60.2, 0, 0]]  # within one unit of bfloat16, 0.47
    assert chosen(items(near)).tolist() == [1]
    assert chosen(items(near, "bfloat16")).tolist() == [NO_CHOICE]


def test_an_item_without_rivals_has_no_choice():
    assert chosen(items([[1, 2, 3, 4]], semantics=[TRUE] * 4)).tolist() == [NO_CHOICE]


def test_agreement_of_three_prompts():
    a = items([[9, 1, 0, 0], [9, 1, 0, 0], [1, 9, 0, 0], [1, 0, 0, 9], [5, 5, 0, 0]])
    b = items([[9, 1, 0, 0], [1, 9, 0, 0], [1, 9, 0, 0], [1, 0, 0, 9], [5, 5, 0, 0]])
    c = items([[9, 1, 0, 0], [1, 9, 0, 0], [9, 1, 0, 0], [1, 0, 0, 9], [5, 5, 0, 0]])
    found = agreement({"a": a, "b": b, "c": c})
    assert found is not None
    shares = {names: estimate.value for names, estimate in found.pairs.items()}
    # Of five items the last is a tie under each prompt, which agrees with nothing.
    assert shares == {("a", "b"): 3 / 5, ("a", "c"): 2 / 5, ("b", "c"): 3 / 5}
    assert found.all.value == pytest.approx(2 / 5)
    assert found.all.low < 2 / 5 < found.all.high
    assert found.n_items == 5


def test_no_agreement_where_nothing_can_be_chosen():
    alone = items([[1, 2, 3, 4]], semantics=[TRUE] * 4)
    assert agreement({"a": alone, "b": alone}) is None
