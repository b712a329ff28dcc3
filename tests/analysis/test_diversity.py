import pytest

from bindbench.analysis.diversity import distinct, words


def test_words():
    assert words("A T-shirt, and the chef's cup: 2 cups.") == [
        "a",
        "t-shirt",
        "and",
        "the",
        "chef's",
        "cup",
        "2",
        "cups",
    ]


def test_distinct_by_hand():
    captions = ["A red cup.", "a red chair"]
    assert distinct(captions, 1) == pytest.approx(4 / 6)
    assert distinct(captions, 2) == pytest.approx(3 / 4)
    assert distinct(captions, 3) == 1
    assert distinct(captions, 4) is None
    assert distinct(["a a a a"], 2) == pytest.approx(1 / 3)
