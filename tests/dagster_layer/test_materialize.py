"""The jobs, run in process on a tiny suite: what a partition's materialization records."""

import pytest
from dagster import (
    AssetKey,
    DataVersion,
    MultiPartitionKey,
)

MODELS = ["check-constant", "check-random", "check-oracle"]


@pytest.fixture(scope="module")
def built(run, instance):
    instance.add_dynamic_partitions("model", MODELS)
    first = [run("list_words"), run("build_benchmark", "color-n2")]
    cells = [MultiPartitionKey({"benchmark": "color-n2", "model": model}) for model in MODELS]
    scored = [run("score_model", cell) for cell in cells]
    return [*first, *scored, run("summarize")]


def event(results, asset):
    found = [
        e.materialization
        for result in results
        for e in result.get_asset_materialization_events()
        if e.asset_key == AssetKey(asset)
    ]
    assert found, f"{asset} was not materialized"
    return found[0]


def test_every_job_succeeds(built):
    assert [result.success for result in built] == [True] * 6


def test_metadata_counts_and_pictures(built):
    images = event(built, "images").metadata
    assert images["dagster/row_count"].value == 12
    assert images["samples"].value.startswith("![samples](data:image/png;base64,")
    validated = event(built, "validated").metadata
    assert set(validated["summary"].value) == {"images", "minimal", "contextual"}
    assert "survival" in validated
    assert event(built, "report").metadata["page"].value.startswith("file:///")


def test_the_data_version_is_the_digest(built, run, instance):
    again = run("build_benchmark", "color-n2")
    for asset in ("images", "validated", "negatives"):
        versions = [
            e.materialization.tags["dagster/data_version"]
            for result in (*built, again)
            for e in result.get_asset_materialization_events()
            if e.asset_key == AssetKey(asset)
        ]
        assert len(versions) == 2
        assert versions[0] == versions[1]
        assert DataVersion(versions[0]).value


def test_checks_are_recorded_for_their_partition(built):
    checks = built[1].get_asset_check_evaluations()
    assert {(c.asset_key.to_user_string(), c.check_name) for c in checks} == {
        *((asset, "digests") for asset in ("concept_set", "captions", "images", "validated")),
        ("negatives", "digests"),
        ("captions", "survival"),
        ("validated", "survival"),
        ("paired_set", "not_empty"),
        ("negatives", "candidate_counts"),
        ("negatives", "no_true_negative"),
    }
    assert all(check.passed for check in checks)


def test_a_failing_check_holds_back_what_follows(defs, instance, monkeypatch):
    from bindbench.pipeline import quality

    refused = quality.Outcome(False, ("label (minimal) is 0.1: too low",), {"label": 0.1})
    monkeypatch.setattr(quality, "expect", lambda *_: refused)
    result = defs.resolve_job_def("build_benchmark").execute_in_process(
        instance=instance, partition_key="position-n2", raise_on_error=False
    )
    assert not result.success
    made = {e.asset_key.to_user_string() for e in result.get_asset_materialization_events()}
    assert "captions" in made
    assert "images" not in made
    failed = [c for c in result.get_asset_check_evaluations() if not c.passed]
    assert [c.check_name for c in failed] == ["survival"]
    assert failed[0].metadata["failed"].value == ["label (minimal) is 0.1: too low"]
