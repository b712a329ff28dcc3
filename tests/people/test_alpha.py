"""Krippendorff's alpha, against the examples that he works through (2011)."""

import pytest

from bindbench.people.agreement import alpha


def units(*observers: str) -> list[list[str]]:
    """Return the values of each unit; a point stands for none."""
    return [[value for value in given if value != "."] for given in zip(*observers, strict=True)]


def test_two_observers_and_two_values():
    # 10 units, of which 6 agree: 14 zeros and 6 ones, observed 8 / 20, expected 2 * 14 * 6 / 380.
    found = alpha(units("0100000000", "1110010010"))
    assert found == pytest.approx(1 - (8 / 20) / (168 / 380))
    assert round(found, 3) == 0.095


def test_two_observers_and_five_values():
    assert round(alpha(units("aabbdcccedda", "babbbccceddd")), 3) == 0.692


def test_four_observers_and_missing_values():
    found = alpha(units("123321412...", "1233224125.3", ".3332342251.", "12332441251."))
    assert round(found, 3) == 0.743


def test_one_value_alone_tells_nothing():
    assert alpha([["a", "a"], ["a"]]) is None
    assert alpha([["a"], ["b"], []]) is None
    assert alpha([["a", "b"], ["b", "a"]]) == pytest.approx(-0.5)  # 1 - 1 / (2 * 2 * 2 / 12)


def test_all_agree_on_several_values():
    assert alpha([["a", "a", "a"], ["b", "b"]]) == 1
