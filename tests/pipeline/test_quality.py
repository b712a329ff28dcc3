"""The checks of artifacts find what is planted."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from bindbench.pipeline.base import suite_lexicon
from bindbench.pipeline.quality import no_true_negative
from bindbench.semantics import FALSE, TRUE
from bindbench.suite import resolve_suite


def context_of(rows) -> Any:
    """Return a context whose negatives are these rows."""
    artifact = SimpleNamespace(read=lambda columns: pa.Table.from_pylist(rows).select(columns))
    suite = resolve_suite({"name": "quality", "benchmarks": ["color-n2"], "concepts": 4}, "here")
    return SimpleNamespace(current=lambda asset, key: artifact, lexicon=suite_lexicon(suite))


def row_of(objects, labels, false, count):
    """Return an item of which some candidates (indices) are called false, all others true."""
    semantics = np.full(count, TRUE, np.int8)
    semantics[false] = FALSE
    return {"objects": objects, "labels": labels, "semantics": semantics.tobytes()}


@pytest.mark.parametrize(
    ("key", "objects", "labels", "count", "true"),
    [
        # The reordered caption, and the positive itself: by hand, of the 16 and 729 index tuples.
        ("color-n2", ["cup", "chair"], ["red", "blue"], 16, 2),
        ("color-n3", ["cup", "chair", "lamp"], ["red", "blue", "green"], 729, 6),
        # "A above B", or "A above B, which is under C" told from its other end.
        ("position-n2", ["cup", "chair"], ["above"], 4, 1),
        ("position-n3", ["cup", "chair", "lamp"], ["above", "under"], 108, 2),
        ("relative_size-n2", ["cup", "chair"], ["larger than"], 4, 1),
    ],
)
def test_true_candidates_that_are_called_false_are_counted(key, objects, labels, count, true):
    everything = row_of(objects, labels, np.arange(count), count)
    nothing = row_of(objects[::-1], labels, [], count)
    outcome = no_true_negative(context_of([everything, nothing, everything]), key)
    assert not outcome.passed
    assert outcome.observed == {"true_negatives": 2 * true}
    assert no_true_negative(context_of([nothing]), key).passed
