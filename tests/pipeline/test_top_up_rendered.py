"""Matching the prior on real renders: one color and one object are hard to draw."""

from dataclasses import replace

import pytest
import yaml
from spine_driver import small_suite

from bindbench.engine.local import LocalEngine
from bindbench.pipeline import concept_set, filter_shift, spine, top_up
from bindbench.pipeline.base import Context
from bindbench.storage.store import Store
from bindbench.suite import MatchPrior
from bindbench.tasks import TRACKS

KEY, CONCEPTS = "color-n2", 360
MEASURES = ("label_tv", "object_tv")
VOCABULARIES = {
    "objects": ("objects_embedded", ["stool", "couch", "broom", "key", "umbrella"]),
    "colors": ("colors20", ["red", "blue", "green", "yellow", "black"]),
}


def suite(root):
    """The embedded suite, few words, and a fault in 90% of the images of red things and couches."""
    sources = {}
    for kind, (base, only) in VOCABULARIES.items():
        content = {"kind": kind, "name": f"few-{kind}", "extends": base, "only": only}
        (root / f"{kind}.yaml").write_text(yaml.safe_dump(content))
        sources[kind] = str(root / f"{kind}.yaml")
    overrides = {
        "vocabularies": sources,
        "generator": {"options": {"samples": 4, "hard": {"red": 0.9, "couch": 0.9}}},
        "scorers": [{"model": "check:oracle"}],
        "survival": {name: {"low": 0.0} for name in ("presence", "label")},
    }
    return small_suite(
        name="hard", benchmarks=[KEY], concepts=CONCEPTS, replicates=True, overrides=overrides
    )


def distances(context):
    rows = context.current(filter_shift.NAME, KEY).read().to_pylist()
    return {(r["track"], r["measure"]): r for r in rows if r["measure"] in MEASURES}


@pytest.mark.slow
def test_what_the_faults_remove_comes_back(tmp_path):
    made = suite(tmp_path)
    plain = Context(made, Store(tmp_path / "store", made.name), LocalEngine(2))
    spine.build_benchmark(plain, KEY)
    before = distances(plain)
    matched = replace(plain, suite=made.model_copy(update={"match_prior": MatchPrior()}))
    spine.build_benchmark(matched, KEY)
    after, summary = distances(matched), matched.current(top_up.NAME, KEY).summary
    matched.engine.close()
    for track in TRACKS:
        for measure in MEASURES:
            assert before[track, measure]["value"] > 1.2 * before[track, measure]["null_high"]
            assert after[track, measure]["value"] <= after[track, measure]["null_high"]
    assert summary["stopped"] == "met"
    assert summary["rounds"][-1]["concepts"] == matched.current(concept_set.NAME, KEY).rows
    assert summary["plain"] < summary["rounds"][-1]["concepts"] <= 4 * CONCEPTS
