"""The weekly schedule: nothing without a model behind a server, else one labelled run."""

from datetime import datetime

import dagster as dg
import pytest


def evaluate(defs, context_of):
    """Evaluate the schedule where the assets would see these models."""
    when = datetime(2026, 3, 2, 6)
    with dg.build_schedule_context(
        scheduled_execution_time=when, resources={"bench": context_of}
    ) as context:
        return defs.resolve_schedule_def("weekly_drift").evaluate_tick(context)


@pytest.fixture
def bench(defs, tmp_path):
    from resources.bench import BenchResource, EngineResource, StoreResource

    store = StoreResource(root=str(tmp_path / "store"))
    return BenchResource(store=store, engine=EngineResource(workers=1))


def test_nothing_without_a_model_behind_a_server(defs, bench):
    found = evaluate(defs, bench)
    assert not found.run_requests
    assert "behind a server" in found.skip_message


def test_a_run_with_the_date_as_label(defs, bench):
    from bindbench.releases.record import Record, Release, write_record

    model = "api:http://127.0.0.1:9/v1#m"
    write_record(bench.store.open(), Record(releases=(Release(model=model, origin=model),)))
    (request,) = evaluate(defs, bench).run_requests
    assert request.run_config["ops"]["api_drift"]["config"]["label"] == "2026-03-02"
    schedule = defs.resolve_schedule_def("weekly_drift")
    assert schedule.cron_schedule == "0 6 * * 1"
    assert schedule.default_status == dg.DefaultScheduleStatus.RUNNING
