"""A model that fills an accelerator is held by one process, one model at a time."""

from dataclasses import dataclass

import pytest

from bindbench.engine.local import LocalEngine
from bindbench.models import registry
from bindbench.models.families import FAMILIES
from bindbench.models.family import Family, Role
from bindbench.pipeline.base import Context
from bindbench.pipeline.spine import IdleEngine
from bindbench.storage.store import Store
from bindbench.suite import RoleSettings, Strict, VocabularySources, resolve_suite

held: list[str] = []


class Options(Strict):
    device: str = "cpu"


@dataclass
class Model:
    """Says how many of its kind there are."""

    name: str

    def __post_init__(self):
        held.append(self.name)

    def __del__(self):
        held.remove(self.name)


@pytest.fixture
def large(monkeypatch):
    for role in ("scorer", "generator", "detector", "judge"):
        family = Family(role, "large", (), Options, lambda n, o, lexicon: Model(n.name))
        monkeypatch.setitem(FAMILIES, (role, "large"), family)
    registry._load.cache_clear()
    registry._lone.clear()
    yield
    registry._load.cache_clear()
    registry._lone.clear()


def load(name: str, device: str, role: Role = "scorer"):
    settings = RoleSettings(model=f"large:{name}", options={"device": device})
    return registry.load(role, settings, VocabularySources())


def test_an_accelerator_holds_one_model_at_a_time(large, monkeypatch):
    load("a", "cuda")
    load("a", "cuda")
    assert held == ["a"]
    load("b", "cuda")
    assert held == ["b"]
    load("a", "cuda")
    assert held == ["a"]


def test_a_detector_and_a_judge_are_held_together(large):
    load("painter", "cuda", "generator")
    for _ in range(2):
        load("finder", "cuda", "detector")
        load("asker", "cuda", "judge")
        assert held == ["finder", "asker"]
    load("other", "cuda", "judge")
    assert held == ["other"]
    load("finder", "cuda", "detector")
    load("painter", "cuda", "generator")
    assert held == ["painter"]


def test_a_detector_and_a_judge_of_one_stage_stay_together(large, monkeypatch):
    for role in ("detector", "judge"):
        family = Family(role, "large", (), Options, lambda n, o, lexicon: Model(n.name))
        monkeypatch.setitem(FAMILIES, (role, "large"), family)

    def load_as(role: Role, name: str):
        settings = RoleSettings(model=f"large:{name}", options={"device": "cuda"})
        return registry.load(role, settings, VocabularySources())

    for _ in range(2):
        load_as("detector", "a")
        load_as("judge", "b")
    assert held == ["a", "b"]
    load_as("judge", "c")
    assert held == ["c"]
    load_as("scorer", "d")
    assert held == ["d"]


def test_models_of_the_processor_stay(large):
    load("a", "cpu")
    load("b", "cpu")
    assert held == ["a", "b"]


def test_one_process_holds_a_model_of_an_accelerator(large, tmp_path):
    suite = resolve_suite({"name": "s"}, "s.yaml")
    context = Context(suite, Store(tmp_path, "s"), LocalEngine(3))
    cpu = RoleSettings(model="large:a")
    gpu = RoleSettings(model="large:a", options={"device": "cuda:1"})
    assert context.holding("scorer", cpu) is context
    assert context.holding("scorer", gpu).engine.workers == 1
    idle = Context(suite, Store(tmp_path, "s"), IdleEngine())
    assert idle.holding("scorer", gpu) is idle
