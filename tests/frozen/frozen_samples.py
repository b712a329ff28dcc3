"""A suite of cheap pictures, built and scored, and what its figures must be, item by item."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "pipeline"))

from spine_driver import build_all
from stand_ins import cheap_context

from bindbench.semantics import FALSE

KEY = "color-n2"
FIELDS = {"name": "cheap", "benchmarks": [KEY, "position-n2"], "concepts": 16}


def build(root: Path):
    """Build everything and return the context."""
    with cheap_context(root, **FIELDS) as context:
        build_all(context)
        return context


def swap_wins(context, key: str, model: str, track: str, without=()) -> list[bool]:
    """Which items are won among the false confusions, one at a time; some concepts left out."""
    scores = {
        (r["index"], r["track"]): r["scores"]
        for r in context.current("model_scores", f"{key}--{model}").read().to_pylist()
    }
    wins = []
    for row in context.current("negatives", key).read().to_pylist():
        if row["track"] == track and row["concept_id"] not in without:
            values = scores[row["index"], track]
            false = np.frombuffer(row["semantics"], np.int8) == FALSE
            if false.any():
                rivals = [v for v, f in zip(values, false, strict=True) if f]
                wins.append(all(values[0] > v for v in rivals))
    return wins


def cell(rows, **where):
    """Return the one row with these values."""
    found = [row for row in rows if row.items() >= where.items()]
    assert len(found) == 1, where
    return found[0]
