import math

import pytest

from bindbench.reporting.numbers import (
    bounds,
    count,
    decimal,
    gigabytes,
    interval,
    lead,
    percent,
    points,
    raw_score,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "—"),
        (math.nan, "—"),
        (0.0, "0%"),
        (1.0, "100%"),
        (1e-7, "<0.01%"),
        (1 / 729, "0.14%"),
        (0.00994, "0.99%"),
        (0.00996, "1.0%"),
        (0.5, "50.0%"),
        (0.9994, "99.9%"),
        (0.99999, ">99.9%"),
    ],
)
def test_percent(value, text):
    assert percent(value) == text


def test_interval():
    assert interval(0.412, 0.58) == "41.2–58.0"
    assert interval(0.0, 1.0) == "0–100"
    assert interval(None, 0.5) == interval(0.5, math.nan) == ""


def test_bounds():
    assert bounds(0.012, 0.04) == "1.2–4.0%"
    assert bounds(None, 0.04) == "at most 4.0%"
    assert bounds(0.95, None) == "at least 95.0%"
    assert bounds(None, None) == ""


def test_signed():
    assert points(0.123) == "+12.3"
    assert points(-0.05) == "−5.0"
    assert points(None) == decimal(None) == count(None) == "—"
    assert decimal(-0.456, signed=True) == "−0.46"
    assert decimal(0.456) == "0.46"
    assert count(1234567) == "1\u2009234\u2009567"


def test_scores_have_the_digits_of_their_kind():
    assert raw_score(0.28137) == "0.2814"
    assert raw_score(-0.5) == "−0.5000"
    assert raw_score(-61.238) == "−61.24"


def test_a_small_lead_is_never_zero():
    assert (lead(0.01234), lead(2e-6), lead(3.26), lead(123.4)) == ("0.012", "2e-06", "3.3", "123")


@pytest.mark.parametrize(
    ("size", "text"),
    [
        *((0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (25_300_000, "25 MB")),
        *((9_960_000, "10 MB"), (1_300_000_000, "1.3 GB"), (2_500_000_000_000, "2,500 GB")),
    ],
)
def test_sizes_in_words(size, text):
    assert gigabytes(size) == text
