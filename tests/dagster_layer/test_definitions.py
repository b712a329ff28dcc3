"""What the definitions hold, and that loading them stays light."""

import subprocess
import sys
from pathlib import Path

import pytest
from dagster import AssetKey, AssetSelection

PROJECT = Path(__file__).parent.parent.parent
ASSETS = (
    *("vocabulary", "concept_set", "captions", "images", "validated", "paired_set", "negatives"),
    *("model_scores", "filter_shift", "leaderboard", "tables", "report", "api_drift"),
)
HEAVY = (
    *("torch", "transformers", "diffusers", "open_clip", "sam2", "mitsuba", "ray"),
    *("great_expectations", "matplotlib"),
)


def test_the_assets_of_the_design(defs):
    keys = {key.to_user_string() for key in defs.resolve_all_asset_keys()}
    assert keys == set(ASSETS)


@pytest.mark.parametrize("module", ["definitions", "bindbench.cli.main", "bindbench"])
def test_importing_loads_no_heavy_library(module):
    script = f"import sys, {module}; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_library_imports_no_dagster():
    script = (
        "import sys, bindbench.pipeline.report, bindbench.cli.main; print('dagster' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_partitions(defs):
    benchmark = defs.resolve_assets_def(AssetKey("images")).partitions_def
    assert benchmark.get_partition_keys() == ["color-n2", "position-n2"]
    scores = defs.resolve_assets_def(AssetKey("model_scores")).partitions_def
    assert sorted(scores.partition_dimension_names) == ["benchmark", "model"]


@pytest.mark.parametrize("name", ["captions", "images", "validated", "model_scores"])
def test_assets_that_run_models_share_the_gpu_pool(defs, name):
    assert defs.resolve_assets_def(AssetKey(name)).op.pool == "gpu"


def test_checks_are_blocking_and_partitioned_like_their_asset(defs):
    specs = [spec for check in defs.asset_checks for spec in check.check_specs]
    assert len(specs) == 10
    for spec in specs:
        assert spec.blocking
        assert spec.partitions_def == defs.resolve_assets_def(spec.asset_key).partitions_def


def test_string_selections_are_broken_by_sam2s_antlr():
    """Why selections are objects here: hydra pins an antlr that Dagster's grammar can't use.

    When this test fails, string selections work again.
    """
    with pytest.raises(TypeError, match="ord"):
        AssetSelection.from_string("key:images")
