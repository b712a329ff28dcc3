"""Dagster's storage on Postgres, as docs/storage.md says, with a job of the definitions."""

import re
from pathlib import Path

import dagster as dg
import pytest
import yaml
from dagster._core.definitions.run_request import InstigatorType
from dagster._core.scheduler.instigation import TickData, TickStatus
from postgres_server import NAME, postgres_server, programs

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(programs() is None, reason="Debian's postgresql is not installed"),
]
DOCS = Path(__file__).parents[2] / "docs" / "storage.md"


def documented() -> dict:
    """Return the dagster.yaml of the docs."""
    blocks = re.findall(r"```yaml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    (found,) = [yaml.safe_load(block) for block in blocks if "postgres_db" in block]
    return found


@pytest.fixture(scope="module")
def instance(tmp_path_factory):
    """An instance of the documented settings, on a server of its own."""
    home = tmp_path_factory.mktemp("home")
    with postgres_server() as port, pytest.MonkeyPatch.context() as patch:
        known = {"HOST": "127.0.0.1", "USER": NAME, "PASSWORD": "any", "DB": NAME}
        for name, value in known.items():
            patch.setenv(f"DAGSTER_POSTGRES_{name}", value)
        settings = documented()
        settings["storage"]["postgres"]["postgres_db"]["port"] = port
        settings["telemetry"] = {"enabled": False}
        (home / "dagster.yaml").write_text(yaml.safe_dump(settings))
        with dg.DagsterInstance.from_config(str(home)) as made:
            yield made


def test_a_benchmark_is_built_with_runs_events_and_schedules_there(defs, instance):
    """The job runs its checks too, which Great Expectations judges with psycopg2 installed."""
    assert {type(part).__name__ for part in storages(instance)} == {
        "PostgresRunStorage",
        "PostgresEventLogStorage",
        "PostgresScheduleStorage",
    }
    words = defs.resolve_job_def("list_words").execute_in_process(instance=instance)
    built = defs.resolve_job_def("build_benchmark").execute_in_process(
        instance=instance, partition_key="color-n2"
    )
    assert words.success and built.success
    assert {run.job_name for run in instance.get_runs()} == {"list_words", "build_benchmark"}
    images = dg.AssetKey("images")
    record = instance.fetch_materializations(images, limit=1).records[0]
    assert record.partition_key == "color-n2"
    assert instance.get_materialized_partitions(images) == {"color-n2"}
    checks = [check for check in built.get_asset_check_evaluations() if check.passed]
    assert len(checks) >= 4
    tick = TickData(
        "origin", "automation", InstigatorType.SENSOR, TickStatus.SUCCESS, 1.0, run_ids=[]
    )
    instance.schedule_storage.create_tick(tick)
    assert instance.schedule_storage.get_ticks("origin", "automation")[0].timestamp == 1.0


def test_dynamic_partitions_are_kept(instance):
    instance.add_dynamic_partitions("model", ["check-oracle"])
    assert instance.get_dynamic_partitions("model") == ["check-oracle"]


def storages(instance):
    return instance.run_storage, instance.event_log_storage, instance.schedule_storage
