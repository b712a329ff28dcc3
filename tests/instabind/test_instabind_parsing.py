import pytest

from bindbench.instabind.parsing import (
    canonical,
    normalise,
    parse_attribute,
    parse_position,
    parse_yes_no,
    relevant,
)

COLORS = ["red", "gray", "multicolor", "blue"]
PLACES = ["leftmost", "middle", "rightmost"]
FOUR = ["leftmost", "second from left", "third from left", "rightmost"]


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("Red", "red"),
        (" RED. ", "red"),
        ("grey", "gray"),
        ("Dark-gray", "gray"),
        ("navy", "blue"),
        ("maroon", "red"),
        ("Red and blue", "multicolor"),
        ("red & white", "multicolor"),
        ("red+white", "multicolor"),
        ("The car is red.", "red"),
        ("Reddish", None),  # no word of its own
        ("green", None),
        ("The red car is blue", None),  # two values: which?
        ("1. red 2. blue\nFinal answer: Gray", "gray"),
        ("answer: red\nAnswer: blue.", "blue"),
        ("final  ANSWER : blue", "blue"),
    ],
)
def test_attributes(answer, value):
    parsed = parse_attribute(answer, COLORS)
    assert (parsed.value, parsed.valid) == (value, True)


def test_several_colors_are_out_of_a_set_without_multicolor():
    assert parse_attribute("red and green", ["red", "blue"]).value is None


@pytest.mark.parametrize("answer", ["", " .", "Unknown.", "unclear", "Not sure", "answer: "])
def test_invalid(answer):
    assert not parse_attribute(answer, COLORS).valid
    assert not parse_position(answer, PLACES).valid
    assert not parse_yes_no(answer).valid


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("A", "leftmost"),
        ("b.", "middle"),
        ("(C) rightmost", "rightmost"),
        ("Option B", "middle"),
        ("C: the right one", "rightmost"),
        ("middle", "middle"),
        ("It is the rightmost car", "rightmost"),
        ("D", None),
        ("leftmost or middle", None),
        ("Final answer: A. leftmost", "leftmost"),
        ("A white car", None),
        ("None (A. leftmost, B. middle, C. rightmost)", None),
    ],
)
def test_positions(answer, value):
    parsed = parse_position(answer, PLACES)
    assert (parsed.value, parsed.valid) == (value, True)


def test_compat_reads_articles_as_letters():
    assert parse_position("A white car", PLACES, compat=True).value == "leftmost"
    assert parse_position("A car in the middle", PLACES, compat=True).value == "leftmost"
    assert parse_position("A car in the middle", PLACES).value == "middle"
    assert parse_position("None (A. leftmost, B. middle)", PLACES, compat=True).value == "leftmost"


def test_positions_of_several_words():
    assert parse_position("The second from left.", FOUR).value == "second from left"
    assert parse_position("Third-from-left", FOUR).value == "third from left"


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("Yes", "yes"),
        ("no.", "no"),
        ("No, yes", "no"),
        ("So the answer is Yes", "yes"),
        ("1. No 2. Yes", None),
        ("The car is red", None),
        ("Nothing", None),
    ],
)
def test_yes_no(answer, value):
    assert parse_yes_no(answer).value == value
    assert parse_yes_no(answer).valid == (value is not None)


def test_texts():
    assert normalise("  Light_Blue--car!! & x ") == "light blue car & x"
    assert relevant("no marker") == "no marker"
    assert canonical("See-through") == "transparent"
