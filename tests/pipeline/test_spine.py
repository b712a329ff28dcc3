"""The stages together, on a small suite without Dagster."""

import json

import numpy as np
import pytest
from spine_driver import build_all, digests, small_suite

from bindbench.analysis.accuracy import evaluate
from bindbench.analysis.resampling import chance_test
from bindbench.captions.minimal import write_minimal
from bindbench.engine.local import LocalEngine
from bindbench.pipeline import images, validated
from bindbench.pipeline.base import Context
from bindbench.pipeline.negatives import MakeNegatives
from bindbench.pipeline.quality import (
    candidate_counts,
    digests_right,
    image_survival,
    no_true_negative,
    paired_not_empty,
)
from bindbench.pipeline.scored import scored_set
from bindbench.semantics import TRUE
from bindbench.storage.store import Store
from bindbench.tasks import TRACKS


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    suite = small_suite()
    context = Context(suite, Store(tmp_path_factory.mktemp("store"), suite.name), LocalEngine(1))
    return context, build_all(context)


def test_a_second_build_computes_nothing(built):
    context, first = built
    before = {name: artifact.run_path.read_bytes() for name, artifact in first.items()}
    assert digests(build_all(context)) == digests(first)
    assert {name: artifact.run_path.read_bytes() for name, artifact in first.items()} == before


def test_every_caption_that_passed_has_one_image(built):
    _, found = built
    written = found["captions/color-n2"].read(["index", "track", "verdict"]).to_pylist()
    made = found["images/color-n2"].read(["index", "track"]).to_pylist()
    passed = [(row["index"], row["track"]) for row in written if row["verdict"] == "pass"]
    assert [(row["index"], row["track"]) for row in made] == passed


def test_images_are_png_of_the_profiles_size(built):
    _, found = built
    row = found["images/position-n3"].read_shard(0).to_pylist()[0]
    assert images.decode_png(row["image"]["bytes"]).shape == (128, 128, 3)
    assert "fault" in json.loads(row["truth"])


def test_accepted_means_that_no_check_failed(built):
    _, found = built
    for row in found["validated/color-n2"].read().to_pylist():
        verdicts = [row[check] for check in validated.CHECKS]
        assert row["accepted"] == (row["label"] == "pass")
        assert row["accepted"] == all(v in ("pass", "not_run") for v in verdicts)
        if row["track"] == "contextual":
            assert row["background"] == "not_run"


def test_the_paired_set_is_the_intersection_of_both_tracks(built):
    _, found = built
    rows = found["validated/color-n2"].read(["index", "track", "accepted"]).to_pylist()
    accepted = {t: {r["index"] for r in rows if r["accepted"] and r["track"] == t} for t in TRACKS}
    paired = found["paired_set/color-n2"].read(["index"])["index"].to_pylist()
    assert set(paired) == accepted["minimal"] & accepted["contextual"]


def test_negatives_hold_the_positive_first_and_the_formula_s_number(built):
    _, found = built
    for key, count in (("color-n2", 16), ("position-n3", 108)):
        for row in found[f"negatives/{key}"].read().to_pylist():
            assert row["n_candidates"] == count == len(row["semantics"])
            assert row["semantics"][0] == TRUE


def test_the_scored_minimal_caption_has_an_order_of_its_own(built):
    context, found = built

    def order(key, track, i):
        row = {"objects": ["a", "b"], "track": track, "concept_id": str(i), "index": i}
        return MakeNegatives(context.suite, key).order(row)

    drawn = [order("color-n2", "minimal", i) for i in range(400)]
    assert 160 < drawn.count([1, 0]) < 240  # 400 fair draws leave this range once in 16,000
    assert order("color-n2", "contextual", 0) == order("position-n2", "minimal", 0) == [0, 1]
    for row in found["negatives/color-n2"].read().to_pylist():
        if row["track"] == "minimal":
            concept = validated.concept_of("color-n2", row)
            assert row["caption"] == write_minimal(concept, context.lexicon).text


@pytest.mark.parametrize("key", ["color-n2", "position-n3"])
def test_reference_models_score_as_theory_says(built, key):
    context, found = built
    for track in TRACKS:
        negatives = found[f"negatives/{key}"]
        sets = {
            name: scored_set(
                key, track, negatives, found[f"model_scores/{key}--check-{name}"], context.lexicon
            )
            for name in ("constant", "random", "oracle")
        }
        for mode in ("strict", "paper"):
            measured = evaluate(sets["constant"].items, mode)
            assert measured.accuracy == 0
            assert measured.tie_rate == 1
            assert measured.credit == pytest.approx(measured.chance)
        assert evaluate(sets["oracle"].items, "strict").accuracy == 1
        random = sets["random"].items
        wins = int(np.sum(random.scores.argmax(axis=1) == 0))
        assert chance_test(wins, np.full(len(random), 1 / random.scores.shape[1])) > 1e-4


def test_quality_holds(built):
    context, _ = built
    for key in context.suite.benchmarks:
        for judge in (candidate_counts, no_true_negative, paired_not_empty):
            assert judge(context, key).passed, judge(context, key).failed
        assert digests_right(context, "images", key).passed


def test_survival_outside_its_bounds_is_named(built):
    context, _ = built
    fields = {"survival": {"label": {"low": 1.0}, "presence": {"low": 1.0}}, "shard_size": 4}
    strict = small_suite(overrides=fields)
    outcome = image_survival(Context(strict, context.store, context.engine), "color-n2")
    assert not outcome.passed
    assert "it must lie in [1.0, 1.0]" in outcome.failed[0]


def test_more_concepts_recompute_only_new_shards(built):
    context, found = built
    larger = small_suite(concepts=12)
    more = build_all(Context(larger, context.store, context.engine))
    for name in ("images/color-n2", "validated/color-n2", "negatives/color-n2"):
        old, new = found[name].shards, more[name].shards
        assert [s.sha256 for s in new[:2]] == [s.sha256 for s in old]
        assert len(new) == 3
        assert json.loads(more[name].run_path.read_text())["shards_computed"] == 1
