"""The sensor of model releases, and what the assets make of the record that it keeps."""

import os
from pathlib import Path

import dagster as dg
import pytest
import yaml

OWN = ["check-constant", "check-random", "check-oracle"]


class Sensor:
    """The sensor on an instance and a store of its own; it keeps its cursor between ticks."""

    def __init__(self, defs: dg.Definitions, instance: dg.DagsterInstance, store: Path):
        from resources.bench import BenchResource, EngineResource, StoreResource

        self.bench = BenchResource(
            store=StoreResource(root=str(store)), engine=EngineResource(workers=1)
        )
        self.sensor, self.defs = defs.resolve_sensor_def("model_releases"), defs
        self.instance, self.cursor = instance, None

    def tick(self):
        with dg.build_sensor_context(
            self.instance, cursor=self.cursor, resources={"bench": self.bench}
        ) as context:
            found = self.sensor.evaluate_tick(context)
        self.cursor = found.cursor
        for request in found.dynamic_partitions_requests or []:
            if isinstance(request, dg.AddDynamicPartitionsRequest):
                self.instance.add_dynamic_partitions("model", list(request.partition_keys))
            else:
                for key in request.partition_keys:
                    self.instance.delete_dynamic_partition("model", key)
        return found

    @property
    def partitions(self) -> set[str]:
        return set(self.instance.get_dynamic_partitions("model"))

    @property
    def profile(self):
        """As the assets see it."""
        return self.bench.context().suite.profile


@pytest.fixture
def models_file(defs):
    path = Path(os.environ["BINDBENCH_SUITE"]).parent / "models.yaml"
    yield lambda *entries: path.write_text(yaml.safe_dump({"models": list(entries)}))
    path.unlink(missing_ok=True)


@pytest.fixture
def sensor(defs, tmp_path):
    with dg.DagsterInstance.ephemeral() as instance:
        yield Sensor(defs, instance, tmp_path / "store")


def test_the_suites_models_are_added_once(sensor):
    (request,) = sensor.tick().dynamic_partitions_requests
    assert list(request.partition_keys) == OWN
    assert not sensor.tick().dynamic_partitions_requests


def test_a_model_of_the_file_is_seen_without_a_restart(sensor, models_file):
    sensor.tick()
    models_file({"model": "nano:clip", "batch_size": 4})
    (request,) = sensor.tick().dynamic_partitions_requests
    assert list(request.partition_keys) == ["nano-clip"]
    assert [(s.model, s.batch_size) for s in sensor.profile.scorers][-1] == ("nano:clip", 4)
    assert not sensor.tick().dynamic_partitions_requests


def test_a_retired_model_loses_its_partition_and_stays_listed(sensor, models_file):
    models_file({"model": "nano:clip"})
    sensor.tick()
    models_file(
        {"model": "nano:clip", "status": "retired"}, {"model": "check:random", "status": "retired"}
    )
    sensor.tick()
    assert sensor.partitions == {"check-constant", "check-oracle"}
    assert {s.model for s in sensor.profile.retired} == {"nano:clip", "check:random"}
    models_file({"model": "nano:clip"})
    sensor.tick()
    assert sensor.partitions == {*OWN, "nano-clip"}
    models_file()
    sensor.tick()
    assert sensor.partitions == set(OWN)
    assert sensor.profile.retired == ()


def test_partitions_of_other_suites_stay(sensor):
    sensor.instance.add_dynamic_partitions("model", ["hf-other"])
    sensor.tick()
    assert "hf-other" in sensor.partitions


def test_the_leaderboard_is_made_anew_when_a_model_leaves(sensor, models_file, monkeypatch):
    from bindbench.storage.store import Store

    models_file({"model": "nano:clip"})
    assert not sensor.tick().run_requests
    monkeypatch.setattr(Store, "current", lambda *_: "a leaderboard")
    models_file({"model": "nano:clip", "status": "retired"})
    (request,) = sensor.tick().run_requests
    assert request.job_name == "summarize"
    assert not sensor.tick().run_requests


def test_a_mistake_in_one_entry_does_not_stop_the_others(sensor, models_file):
    models_file({"model": "nano:clp"}, {"model": "check:random"}, {"model": "nano:negclip"})
    sensor.tick()
    assert sensor.partitions == {*OWN, "nano-negclip"}


def test_the_hub_is_looked_at_once_an_hour(sensor, monkeypatch):
    import sensors.models as module

    looks = []
    real = module.refresh
    monkeypatch.setattr(
        module, "refresh", lambda suite, old, look: looks.append(look) or real(suite, old, look)
    )
    now = [1e9]
    monkeypatch.setattr(module.time, "time", lambda: now[0])
    for now[0] in (1e9, 1e9 + 30, 1e9 + 3599, 1e9 + 3600, 1e9 + 3630):
        sensor.tick()
    assert looks == [True, False, False, True, False]
