"""What each model of a suite lacks on this machine."""

import huggingface_hub.constants
import numpy as np
import pytest
from safetensors.numpy import save_file

from bindbench import machine
from bindbench.models import availability
from bindbench.models.families import FAMILIES
from bindbench.pipeline.readiness import folded, model_state
from bindbench.suite import RoleSettings

GPU = {"device": "cuda:0", "name": "H200", "memory": 1000, "free": 900}
HUB = "open_clip:hf-hub:org/none"


@pytest.fixture
def folder(tmp_path):
    """An open_clip folder of a million parameters; nothing in it can be loaded."""
    (tmp_path / "open_clip_config.json").write_text('{"model_cfg": {}}')
    save_file({"a": np.zeros((1000, 1000), np.float16)}, tmp_path / "open_clip_model.safetensors")
    return tmp_path


def state(model, workers=1, devices=(), **options):
    return model_state("scorer", RoleSettings(model=model, options=options), workers, devices)


def test_a_model_without_weights_lacks_nothing():
    found = state("check:random", workers=3)
    assert (found.problems, found.notes, found.processes) == ((), (), 3)
    assert (found.weights.where, found.memory, found.device) == ("none", None, "cpu")


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        ("check:rondom", {}, "did you mean check:random"),
        ("open_clip:/no/such", {}, "there is no such file or folder"),
        ("check:random", {"dtype": "float32"}, "Unknown field 'dtype'"),
    ],
)
def test_what_can_not_be_is_the_models_problem(model, options, words):
    (problem,) = state(model, **options).problems
    assert words in problem


def test_weights_in_a_folder(folder):
    found = state(f"open_clip:{folder}", dtype="bfloat16")
    assert (found.weights.where, found.memory, found.problems) == ("local", 2_000_000, ())
    assert state(f"open_clip:{folder}").memory == 4_000_000


def test_memory_counts_every_process(folder, monkeypatch):
    monkeypatch.setattr(machine, "memory", lambda: 10_000_000)
    assert state(f"open_clip:{folder}", workers=2).problems == ()
    (problem,) = state(f"open_clip:{folder}", workers=3).problems
    assert "take 4.0 MB in each of 3 processes, and cpu has 10 MB" in problem


def test_one_process_holds_a_model_on_a_gpu(folder):
    found = state(f"open_clip:{folder}", 4, [GPU | {"memory": 5_000_000}], device="cuda")
    assert (found.processes, found.problems) == (1, ())
    (problem,) = state(f"open_clip:{folder}", 4, [GPU], device="cuda").problems
    assert "take 4.0 MB, and cuda has 1.0 kB" in problem


def test_a_device_that_is_not_here(folder):
    (problem,) = state(f"open_clip:{folder}", device="cuda:1", devices=[GPU]).problems
    assert "torch finds no cuda:1 here" in problem
    assert "cpu or cuda:0" in problem


def test_weights_that_would_be_fetched(monkeypatch, tmp_path):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    found = state(HUB)
    assert found.problems == ()
    assert found.notes == (
        f"The weights of scorer {HUB} are not on this machine: a run fetches them.",
    )
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    found = state(HUB)
    assert found.notes == ()
    (problem,) = found.problems
    assert "HF_HUB_OFFLINE forbids to fetch them" in problem


def test_models_with_the_same_problem_share_a_sentence(folder):
    models = [
        state(f"open_clip:{folder}", device="cuda"),
        state("check:random"),
        state("nano:clip", device="cuda"),
        state("nano:vlm", device="xpu"),
    ]
    assert folded(models, "problems") == [
        f"torch finds no cuda here, for scorer open_clip:{folder}, scorer nano:clip: run on a "
        "machine that has it, or set the option device to cpu.",
        "torch finds no xpu here, for scorer nano:vlm: run on a machine that has it, or set the "
        "option device to cpu.",
    ]


def test_altered_weights_are_noted_and_stop_nothing(monkeypatch):
    monkeypatch.setattr(availability, "shipped_digest", lambda name: "0")
    found = model_state("judge", RoleSettings(model="pixels:validator"), 1, [])
    assert found.problems == ()
    (note,) = found.notes
    assert "is not what the project ships" in note


def test_a_package_that_is_not_installed(monkeypatch):
    family = FAMILIES["scorer", "check"]
    monkeypatch.setitem(
        FAMILIES, ("scorer", "check"), type(family)(**vars(family) | {"library": "no_such_package"})
    )
    (problem,) = state("check:random").problems
    assert problem == "scorer check:random needs the package no_such_package: install it."


def test_a_model_that_is_spread_may_fill_everything(folder, monkeypatch):
    (folder / "config.json").write_text('{"model_type": "llava"}')
    monkeypatch.setattr(machine, "memory", lambda: 3_000_000)
    found = state(f"hf:{folder}", devices=[GPU | {"memory": 1_000_000}], device="auto")
    assert (found.memory, found.problems) == (4_000_000, ())
    (problem,) = state(f"hf:{folder}", devices=[], device="auto").problems
    assert "take 4.0 MB, and auto has 3.0 MB" in problem
    small = state(f"hf:{folder}", devices=[], device="auto", dtype="bfloat16")
    assert (small.memory, small.problems) == (2_000_000, ())
