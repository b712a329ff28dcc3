"""``bindbench backfill``: what it chooses, and on a small built suite what it runs and says."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from bindbench.cli.backfill import Wanted, plan
from bindbench.errors import UserError
from bindbench.suite import resolve_suite

PROJECT = Path(__file__).parent.parent.parent
PROGRAM = str(Path(sys.executable).parent / "bindbench")
A = "a" * 40


@pytest.fixture(scope="module")
def suite():
    scorers = [{"model": m} for m in ("check:random", "check:oracle", f"hf:org/m@{A}")]
    keys = ["color-n1", "color-n2", "position-n2"]
    fields = {"name": "s", "benchmarks": keys, "overrides": {"scorers": scorers}}
    return resolve_suite(fields, "s.yaml")


def titles(suite, **wanted) -> list[str]:
    return [step.title for step in plan(suite, Wanted(**wanted))]


def test_a_task_and_n_is_a_benchmark_and_its_scores(suite):
    assert titles(suite, tasks=("color",), ns=(2,)) == [
        "build_benchmark color-n2",
        "score_model color-n2|check-random",
        "score_model color-n2|check-oracle",
        f"score_model color-n2|hf-org-m-{A}",
    ]


def test_a_task_is_all_its_benchmarks_and_nothing_is_all(suite):
    built = [t for t in titles(suite, tasks=("color",)) if t.startswith("build")]
    assert built == ["build_benchmark color-n1", "build_benchmark color-n2"]
    assert len(titles(suite)) == 3 * (1 + 3)


@pytest.mark.parametrize("name", [f"hf:org/m@{A}", "hf:org/m", f"hf-org-m-{A}"])
def test_a_model_is_its_scores_and_builds_nothing(suite, name):
    assert titles(suite, models=(name,), ns=(2,)) == [
        f"score_model {key}|hf-org-m-{A}" for key in ("color-n2", "position-n2")
    ]


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ({"tasks": ("colour",)}, "did you mean color"),
        ({"models": ("check:orcale",)}, "did you mean check:oracle"),
        ({"tasks": ("position",), "ns": (3,)}, "has no benchmark of --task position, --n 3"),
    ],
)
def test_what_the_suite_does_not_have(suite, wanted, why):
    with pytest.raises(UserError, match=why):
        titles(suite, **wanted)


@pytest.mark.slow
def test_a_failing_partition_does_not_stop_the_others(tmp_path):
    file = tmp_path / "few.yaml"
    bounds = {"captions": {"low": 0.0}, "presence": {"low": 0.0}, "background": {"low": 0.0}}
    fields = {
        "name": "few",
        "benchmarks": ["color-n1", "position-n2"],
        "concepts": 4,
        "models": "models.yaml",
        "overrides": {
            "generator": {"options": {"samples": 4, "faults": {}}},
            "survival": bounds | {"label": {"low": 0.0}},
            "scorers": [{"model": "check:random"}],
        },
    }
    file.write_text(yaml.safe_dump(fields))
    # One model that can't be scored: its checkpoint is no checkpoint.
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text("{}")
    broken = {"model": f"hf:{tmp_path / 'broken'}"}
    (tmp_path / "models.yaml").write_text(yaml.safe_dump({"models": [broken]}))
    environment = {
        **os.environ,
        "DAGSTER_HOME": str(tmp_path / "home"),
        "BINDBENCH_STORE": str(tmp_path / "store"),
        "BINDBENCH_WORKERS": "1",
    }

    def backfill(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [PROGRAM, "backfill", "--suite", str(file), *arguments]
        return subprocess.run(
            command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False
        )

    done = backfill()
    assert done.returncode == 1
    assert "4 of 6 partitions are up to date." in done.stdout
    assert done.stdout.count("failed: see above") >= 2
    again = backfill("--task", "color", "--model", "check:random")
    assert "score_model color-n1|check-random: up to date" in again.stdout
    assert "1 of 1 partitions are up to date." in again.stdout
