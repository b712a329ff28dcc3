"""Differences with intervals over seeds and concepts."""

import numpy as np
import pytest

from bindbench.analysis.accuracy import Design
from bindbench.training.finetuning.gains import gain


def design(items: int) -> Design:
    names = np.arange(items)
    return Design(names.astype(str), np.stack([names % 7, names % 5], 1), names[:, None] % 3)


def test_the_mean_and_each_seed_by_hand():
    before = np.array([[True, False, False, True]])
    after = np.array([[True, True, False, True], [True, True, True, False]])
    found = gain(before, after, design(4))
    assert found is not None
    assert found.seeds == (0.25, 0.25)
    assert found.value == 0.25
    assert found.wide_low <= found.low <= 0.25 <= found.high <= found.wide_high
    assert gain(before[:, :0], after[:, :0], design(0)) is None


def test_an_interval_has_a_width_where_nothing_differs():
    same = np.ones((3, 40), bool)
    found = gain(same, same, design(40))
    assert found is not None and found.low < 0 < found.high


def test_seeds_that_differ_make_the_interval_wider():
    rng = np.random.default_rng(0)
    before = rng.random((1, 200)) < 0.3
    alike = np.stack([rng.random(200) < 0.6 for _ in range(3)])
    apart = np.stack([rng.random(200) < p for p in (0.3, 0.6, 0.9)])
    narrow, wide = gain(before, alike, design(200)), gain(before, apart, design(200))
    assert narrow is not None and wide is not None
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_it_covers_the_truth_of_simulated_trainings():
    rng, covered = np.random.default_rng(1), 0
    for _ in range(200):
        # The true mean gain is 0.2: each seed and each item add something of their own.
        seeds, items = rng.normal(0, 0.05, 3)[:, None], rng.normal(0, 0.15, 80)[None]
        rates = np.clip(0.5 + seeds + items, 0, 1)
        found = gain(
            np.broadcast_to(rng.random((1, 80)) < 0.3, (1, 80)),
            rng.random((3, 80)) < rates,
            design(80),
        )
        assert found is not None
        covered += found.low <= 0.2 <= found.high
    assert covered / 200 == pytest.approx(0.95, abs=0.05)
