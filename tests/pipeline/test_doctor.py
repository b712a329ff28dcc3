"""The diagnosis of a suite as a whole."""

import dataclasses
import json

import pytest

from bindbench import machine
from bindbench.pipeline import doctor
from bindbench.pipeline.costs import Cost
from bindbench.pipeline.doctor import diagnose
from bindbench.suite import resolve_suite


def suite_of(**fields):
    defaults = {"name": "planned", "benchmarks": ["color-n2"], "concepts": 8}
    return resolve_suite(defaults | fields, "planned.yaml")


def test_a_suite_that_can_run(tmp_path):
    found = diagnose(suite_of(), str(tmp_path / "store"), 2)
    assert found.problems == ()
    assert [m.role for m in found.models[:4]] == ["writer", "generator", "detector", "judge"]
    assert {m.name for m in found.models[4:]} >= {"check:random", "check:oracle"}
    assert found.packages["torch"]
    assert found.cores == machine.cores()
    assert found.disks[0].path == str(tmp_path / "store")
    assert found.disks[0].free == pytest.approx(machine.free_disk(tmp_path), rel=0.01)
    assert all(cost.seconds is None for cost in found.costs)
    assert not (tmp_path / "store").exists()  # nothing is written
    json.dumps(dataclasses.asdict(found), default=str)


def test_every_problem_is_found_at_once(tmp_path):
    (tmp_path / "store").write_text("a file")
    over = {
        "scorers": [
            {"model": "check:rondom"},
            {"model": "nano:clip", "options": {"device": "cuda:7"}},
            {"model": "check:random"},
            {"model": "check:random"},
        ],
        "vocabularies": {"objects": "objects365"},
    }
    found = diagnose(suite_of(overrides=over, concepts=10**9), str(tmp_path / "store"), 1)
    problems = "\n".join(found.problems)
    assert "did you mean check:random" in problems
    assert "can't draw" in problems
    assert "share the partition check-random" in problems
    assert "ask for at most" in problems
    assert f"The store {tmp_path / 'store'} can't be written" in problems
    assert all(problem.endswith(".") for problem in found.problems[1:])


def test_a_run_that_would_fill_the_disk(tmp_path, monkeypatch):
    cost = Cost("images", "", 1.0, 5_000_000, 8, 1, (), ())
    monkeypatch.setattr(doctor, "suite_costs", lambda *_: [cost, cost])
    monkeypatch.setattr(machine, "free_disk", lambda path: 7_000_000)
    (problem,) = diagnose(suite_of(), str(tmp_path), 1).problems
    assert f"A run takes about 10 MB, but {tmp_path} has 7.0 MB free" in problem


def test_a_store_elsewhere_has_no_disk_here():
    found = diagnose(suite_of(), "memory://doctor", 1)
    assert found.disks[0].free is None
    assert found.problems == ()


def test_a_damaged_manifest_hides_the_costs_and_nothing_else(tmp_path):
    folder = tmp_path / "s/images/color-n2"
    folder.mkdir(parents=True)
    (folder / "abc.json").write_text("{")
    (folder / "abc.run.json").write_text(
        '{"shards_computed": 1, "wall_seconds": 1, "workers": 1, "host": "h"}'
    )
    found = diagnose(suite_of(), str(tmp_path), 1)
    assert (found.costs, found.problems) == ((), ())
    assert "abc.json is not a manifest" in found.notes[-1]
