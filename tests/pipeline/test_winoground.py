"""Counterparts: each concept's swap is drawn as well, and Winoground's scores come of the pairs."""

import numpy as np
import pytest
from spine_driver import build_all, small_suite

from bindbench.engine.local import LocalEngine
from bindbench.pipeline.base import Context
from bindbench.storage.store import Store


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    fields = {"shard_size": 4, "generator": {"options": {"samples": 4, "faults": {}}}}
    suite = small_suite(
        benchmarks=["color-n1", "color-n2", "position-n2"], counterparts=True, overrides=fields
    )
    context = Context(suite, Store(tmp_path_factory.mktemp("store"), suite.name), LocalEngine(1))
    return build_all(context)


def test_pairs_are_counted_once_and_the_oracle_is_right(built):
    rows = built["leaderboard/all"].read().to_pylist()
    found = {
        (row["model"], row["benchmark"], row["family"]): row
        for row in rows
        if row["family"].startswith("winoground")
    }
    for key in ("color-n2", "position-n2"):
        negatives = built[f"negatives/{key}"].read(["index", "track"]).to_pylist()
        kept = {row["index"] for row in negatives if row["track"] == "minimal"}
        pairs = sum(i in kept and i + 1 in kept for i in range(0, 8, 2))
        assert pairs > 0
        for name, chance in (("text", 1 / 4), ("image", 1 / 4), ("group", 1 / 6)):
            oracle = found["check:oracle", key, f"winoground_{name}"]
            assert (oracle["n_items"], oracle["accuracy"]) == (pairs, 1.0)
            assert oracle["chance"] == pytest.approx(chance)
            assert found["check:constant", key, f"winoground_{name}"]["accuracy"] == 0
    assert not any(key == "color-n1" for _, key, _ in found)


def test_each_caption_is_a_candidate_of_its_counterpart(built):
    rows = built["negatives/color-n2"].read().to_pylist()
    minimal = {row["index"]: row for row in rows if row["track"] == "minimal"}
    for i, row in minimal.items():
        other = minimal.get(i ^ 1)
        if other:
            assert row["objects"] == other["objects"]
            assert row["labels"] == np.roll(other["labels"], 1).tolist()


def test_the_report_shows_them(built):
    files = {row["path"]: row["data"] for row in built["report/all"].read().to_pylist()}
    assert b"Winoground" in files["leaderboard.html"]
