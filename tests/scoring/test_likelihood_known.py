"""Scores worked out on paper, from probabilities that are powers of two."""

import math

import numpy as np
import pytest
from stand_in import BRIGHT, DARK, StandIn, image, scorer

from bindbench.models.base import ScoreRequest

BLIND_P = {
    ("say:", "a"): 1 / 2,
    ("a", "red"): 1 / 4,
    ("a", "blue"): 1 / 4,
    ("a", "cup"): 1 / 4,
    ("red", "cup"): 1 / 8,
    ("blue", "cup"): 1 / 2,
}
DARK_P = BLIND_P | {("a", "red"): 1 / 16, ("a", "blue"): 1 / 2}
BRIGHT_P = BLIND_P | {("a", "red"): 1 / 2, ("a", "blue"): 1 / 16, ("red", "cup"): 1 / 2}
TEXTS = ["a red cup", "a blue cup", "a cup", "a red cup"]


def ask(state: int, texts: list[str] = TEXTS) -> ScoreRequest:
    return ScoreRequest(str(state), image(state), texts, np.empty(0, np.int8))


def test_sum_mean_and_subtracted_are_those_on_paper():
    bright, dark = scorer(StandIn([BLIND_P, DARK_P, BRIGHT_P])).score([ask(BRIGHT), ask(DARK)])
    two = math.log(2)
    # a: 1 bit; red: 1 bit; cup after red: 1 bit. a: 1; blue: 4; cup after blue: 1. a: 1; cup: 2.
    np.testing.assert_allclose(bright.values, -two * np.array([3, 6, 3, 3]), atol=1e-6)
    np.testing.assert_allclose(dark.values, -two * np.array([8, 3, 3, 8]), atol=1e-6)
    for found in (bright, dark):
        assert found.tokens.tolist() == [3, 3, 2, 3]
        np.testing.assert_allclose(found.image_free, -two * np.array([6, 4, 3, 6]), atol=1e-6)
    np.testing.assert_allclose(bright.mean, -two * np.array([1, 2, 1.5, 1]), atol=1e-6)
    np.testing.assert_allclose(bright.subtracted, two * np.array([3, -2, 0, 3]), atol=1e-6)
    np.testing.assert_allclose(dark.subtracted, two * np.array([-2, 1, 0, -2]), atol=1e-6)
    assert bright.values.dtype == bright.image_free.dtype == np.float64


def test_a_caption_costs_one_pass_whatever_its_number():
    model = StandIn([BLIND_P, DARK_P, BRIGHT_P])
    asked = scorer(model)
    asked.score([ask(BRIGHT)])  # the self-test runs once
    model.calls.clear()
    asked.score([ask(BRIGHT), ask(DARK)])
    # Two images, each read once and followed by one tree: a, a red, a blue. Blind is remembered.
    assert model.calls == [(1, 2), (1, 3), (1, 2), (1, 3)]


def test_a_fresh_scorer_scores_without_the_image_again_and_gives_the_same():
    model = StandIn([BLIND_P, DARK_P, BRIGHT_P])
    first = scorer(model)
    (before,) = first.score([ask(DARK)])
    model.calls.clear()
    (after,) = first.fresh().score([ask(DARK)])
    assert model.calls == [(1, 2), (1, 3), (1, 1), (1, 3)]
    np.testing.assert_array_equal(before.image_free, after.image_free)


def test_without_the_image_is_left_out_on_demand():
    model = StandIn([BLIND_P, DARK_P, BRIGHT_P])
    (found,) = scorer(model, image_free=False).score([ask(DARK)])
    assert (1, 1) not in model.calls
    assert found.image_free is None
    assert found.subtracted is None


def test_the_method_is_recorded():
    asked = scorer(StandIn([BLIND_P, DARK_P, BRIGHT_P]))
    asked.score([ask(DARK)])
    assert asked.method == "log-likelihood by token tree; self-test passed"


def test_an_image_that_changes_nothing_stops_the_run():
    from bindbench.errors import UserError

    with pytest.raises(UserError, match="stand-in: the self-test failed: another image changes"):
        scorer(StandIn([BLIND_P, DARK_P, DARK_P])).score([ask(DARK)])
