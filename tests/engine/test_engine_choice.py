import sys

import pytest

from bindbench.engine.base import Demand
from bindbench.engine.choice import gpus_of, open_engine
from bindbench.engine.local import LocalEngine
from bindbench.errors import UserError
from bindbench.models import registry
from bindbench.suite import RoleSettings


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch):
    monkeypatch.delenv("BINDBENCH_ENGINE", raising=False)
    monkeypatch.delenv("BINDBENCH_GPUS", raising=False)


def test_local_is_the_default():
    engine = open_engine(3)
    assert type(engine) is LocalEngine
    assert engine.workers == 3


def test_the_argument_counts_more_than_the_environment(monkeypatch):
    monkeypatch.setenv("BINDBENCH_ENGINE", "nonsense")
    assert type(open_engine(1, "local")) is LocalEngine
    with pytest.raises(UserError, match="is 'nonsense': give local, ray or ray:HOST:PORT"):
        open_engine(1)


@pytest.mark.parametrize("name", ["ray:", "rays", "local:2"])
def test_a_wrong_name_is_told(name):
    with pytest.raises(UserError, match=f"is '{name}': give local"):
        open_engine(1, name)


def test_a_client_address_is_refused():
    with pytest.raises(UserError, match="is 'ray:ray://host:10001', but runs are no clients"):
        open_engine(1, "ray:ray://host:10001")


def test_without_ray_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)  # as if it were not installed
    for name in ("bindbench.engine.ray_engine", "bindbench.engine.ray_crew"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(UserError, match=r"needs the package ray: pip install 'bindbench\[ray\]'"):
        open_engine(1, "ray")


def test_gpus_by_role():
    assert gpus_of("generator=2, scorer=0.5") == {"generator": 2.0, "scorer": 0.5}
    assert gpus_of("") == {}


@pytest.mark.parametrize("text", ["painter=1", "scorer", "scorer=0", "scorer=x", "scorer=nan"])
def test_wrong_gpus_are_told(text):
    with pytest.raises(UserError, match=f"BINDBENCH_GPUS has '{text}': write role=number"):
        gpus_of(text)


@pytest.mark.parametrize(("lone", "workers"), [(False, 3), (True, 1)])
def test_one_local_process_holds_what_fills_an_accelerator(lone, workers):
    assert LocalEngine(3).holding(Demand("scorer", lone, 1)).workers == workers


def test_a_local_engine_of_one_worker_stays_the_same():
    engine = LocalEngine(1)
    assert engine.holding(Demand("scorer", True, 1)) is engine


def test_what_a_model_asks_of_its_workers():
    plain = RoleSettings(model="mitsuba:icons")
    assert registry.demand("generator", plain) == Demand("generator", lone=False, gpus=0)
    held = RoleSettings(model="nano:clip", options={"device": "cuda"})
    assert registry.demand("scorer", held) == Demand("scorer", lone=True, gpus=1)
    second = RoleSettings(model="nano:clip", options={"device": "cuda:1"})
    assert registry.demand("scorer", second) == Demand("scorer", lone=True, gpus=2)
