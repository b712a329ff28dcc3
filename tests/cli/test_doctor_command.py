"""``bindbench doctor``: what it prints and its exit code."""

import json
from pathlib import Path

import pytest
from command_line import call
from rich.console import Console
from small_store import KEY, SmallStore, small_store

from bindbench.cli.doctor import costs_grid, print_diagnosis
from bindbench.pipeline.costs import Cost
from bindbench.pipeline.doctor import Diagnosis, diagnose


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> SmallStore:
    return small_store(tmp_path_factory.mktemp("doctor"))


@pytest.fixture
def doctor(store, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("BINDBENCH_WORKERS", "2")

    def run(*arguments: str) -> int:
        return call(monkeypatch, "doctor", "--suite", store.file, *arguments)

    return run


def test_a_suite_that_can_run(store, doctor, capsys):
    assert doctor("--store", store.root) == 0
    out = capsys.readouterr().out
    assert "Suite small can run here." in out
    lines = {line.split()[0]: line for line in out.splitlines() if line.split()}
    assert "shipped" in lines["detector"]
    assert "1 of 2, 6 concepts" in lines["images"]
    assert "no measurement yet" in lines["leaderboard"]
    assert "over" in lines["all"]


def test_json(store, doctor, capsys):
    assert doctor("--store", store.root, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["ok"], found["problems"], found["workers"]) == (True, [], 2)
    (images,) = [cost for cost in found["costs"] if cost["stage"] == "images"]
    (run,) = Path(store.root).glob(f"small/images/{KEY}/*.run.json")
    facts = json.loads(run.read_text())
    # Two shards by one worker then, by two workers now; what was loaded at first is loaded again.
    manifest = json.loads(run.with_name(run.name.replace(".run.json", ".json")).read_text())
    first, second = (shard["rows"] for shard in manifest["shards"])
    wall, until = facts["wall_seconds"], facts["first_shard_seconds"]
    startup = max(0.0, until - (wall - until) * first / second)
    assert images["seconds"] == pytest.approx(startup + (wall - startup) / 2)
    files = list(Path(store.root).glob(f"small/images/{KEY}/*/part-*.parquet"))
    assert images["bytes"] == sum(file.stat().st_size for file in files)
    assert images["unmeasured"] == ["position-n2"]
    detector = next(model for model in found["models"] if model["role"] == "detector")
    assert detector["weights"]["where"] == "shipped"
    assert detector["weights"]["bytes"] > 1e6


def test_problems_are_listed_and_the_exit_code_is_1(store, doctor, capsys, tmp_path):
    text = Path(store.file).read_text()
    assert "check:random" in text
    suite = tmp_path / "broken.yaml"
    suite.write_text(text.replace("check:random", "check:rondom"))
    assert doctor("--suite", str(suite), "--store", store.root) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "Problem: Unknown scorer model 'check:rondom': did you mean check:random" in out
    assert "can run here" not in out


def test_a_suite_that_does_not_exist_is_a_mistake(doctor, capsys):
    assert doctor("--suite", "none.yaml") == 2
    assert "none.yaml does not exist" in capsys.readouterr().err


def diagnosis(**fields) -> Diagnosis:
    empty = {
        **{"cores": 1, "memory": None, "packages": {}, "workers": 1},
        **dict.fromkeys(("accelerators", "disks", "models", "costs", "problems", "notes"), ()),
    }
    return Diagnosis(**{**empty, **fields})


def test_costs_are_summed_and_what_was_measured_elsewhere_is_said():
    costs = (
        Cost("images", "", 7000.0, 2_000_000, 64, 1, (), ("elsewhere",)),
        Cost("model_scores", "hf:a/b", 90.0, 3_000_000, 64, 1, (), ("elsewhere",)),
    )
    grid = costs_grid(costs, 2)
    assert grid.rows == (
        ("images", "1.9 h", "2.0 MB", "64 concepts"),
        ("model_scores hf:a/b", "1.5 min", "3.0 MB", "64 concepts"),
        ("all", "2.0 h", "5.0 MB", ""),
    )
    assert "measured on elsewhere" in grid.note
    unknown = Cost("report", "", None, None, 0, 1, ("all",), ())
    last = costs_grid((*costs, unknown), 2).rows[-1]
    assert last[1:3] == ("over 2.0 h", "over 5.0 MB")
    assert costs_grid((unknown,), 2).rows[-1][1:3] == ("—", "—")


def test_a_gpu_is_shown_with_its_memory(capsys):
    gpu = {"device": "cuda:0", "name": "H200", "memory": 150_000_000_000, "free": 1}
    print_diagnosis(diagnosis(accelerators=(gpu,)), "small", Console(width=100))
    out = capsys.readouterr().out
    assert "cuda:0: H200, 150 GB memory" in out
    assert "No GPU" not in out


def test_the_diagnosis_needs_no_network(store, monkeypatch):
    import socket

    def no_network(*_, **__):
        pytest.fail("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", no_network)
    monkeypatch.setattr(socket, "getaddrinfo", no_network)
    hub = [{"model": "hf:org/none@v1"}, {"model": "open_clip:ViT-B-32/laion2b_s34b_b79k"}]
    profile = store.suite.profile.model_copy(
        update={"scorers": tuple(type(store.suite.profile.scorers[0])(**fields) for fields in hub)}
    )
    found = diagnose(store.suite.model_copy(update={"profile": profile}), store.root, 1)
    assert [model.weights.where for model in found.models[4:]] == ["missing", "missing"]
