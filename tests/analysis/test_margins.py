import numpy as np
import pytest
from analysis_samples import items_of

from bindbench.analysis.margins import Margins, margins_of, summarise_margins
from bindbench.semantics import FALSE, TRUE, UNDECIDED

CODES = [TRUE, FALSE, FALSE, UNDECIDED, TRUE]


def test_margins_and_ranks_by_hand():
    items = items_of(
        [
            [3.0, 1.0, 2.0, 9.0, 3.0],  # strict: above both false ones
            [3.0, 3.0, 1.0, 9.0, 3.0],  # strict: ties with one
            [1.0, 2.0, 4.0, 0.0, 1.0],  # strict: below both
        ],
        [CODES] * 3,
    )
    strict = margins_of(items)
    assert strict.margin.tolist() == [1.0, 0.0, -3.0]
    assert strict.rank.tolist() == [1.0, 1.5, 3.0]
    assert strict.percentile.tolist() == [1.0, 0.75, 0.0]
    paper = margins_of(items, "paper")
    assert paper.margin.tolist() == [-6.0, -6.0, -3.0]
    assert paper.rank.tolist() == [2.5, 3.0, 3.5]  # ties with the other true caption count half
    assert paper.rivals.tolist() == [4, 4, 4]


def test_items_without_rivals_are_left_out():
    items = items_of([[1.0, 2.0], [1.0, 0.5]], [[TRUE, TRUE], [TRUE, FALSE]])
    found = margins_of(items)
    assert np.isnan(found.margin[0]) and found.included.tolist() == [False, True]
    summary = summarise_margins(found, items.design.scenes)
    assert (summary.n_items, summary.median_margin) == (1, 0.5)
    assert summarise_margins(found.take(np.array([0])), items.design.scenes[:1]) is None


def test_scores_within_the_tolerance_tie():
    items = items_of([[1.0, 1.0 + 1e-7]], [[TRUE, FALSE]], dtype="float32")
    assert margins_of(items).rank.tolist() == [1.5]


def test_random_scores_reach_chance():
    rng = np.random.default_rng(0)
    items = items_of(rng.normal(size=(4000, 15)), [[TRUE] + [FALSE] * 14] * 4000)
    found = summarise_margins(margins_of(items), items.design.scenes)
    assert found.reciprocal_chance == pytest.approx(sum(1 / k for k in range(1, 16)) / 15)
    assert found.reciprocal_rank.low < found.reciprocal_chance < found.reciprocal_rank.high
    assert found.percentile.low < 0.5 < found.percentile.high
    assert found.percentile.high - found.percentile.low < 0.02


def test_replicates_widen_the_interval():
    margins = Margins(np.zeros(60), np.repeat(np.arange(20) % 5 + 1.0, 3), np.full(60, 4))
    own = summarise_margins(margins, np.arange(60))
    shared = summarise_margins(margins, np.repeat(np.arange(20), 3))
    assert own.percentile.value == shared.percentile.value == pytest.approx(0.5)
    width, wide = (e.percentile.high - e.percentile.low for e in (own, shared))
    assert wide == pytest.approx(np.sqrt(3) * width, rel=0.15)
