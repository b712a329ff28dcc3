"""Asks models behind servers again, once a week."""

from dagster import (
    DefaultScheduleStatus,
    RunConfig,
    RunRequest,
    ScheduleEvaluationContext,
    SkipReason,
    schedule,
)

from assets.drift import DriftConfig, api_drift
from assets.jobs import check_drift
from bindbench.releases.drift import api_models
from resources.bench import BenchResource


@schedule(
    job=check_drift,
    cron_schedule="0 6 * * 1",  # Mondays, 6:00 UTC
    default_status=DefaultScheduleStatus.RUNNING,
)
def weekly_drift(
    context: ScheduleEvaluationContext, bench: BenchResource
) -> RunRequest | SkipReason:
    """Check the models behind servers that are evaluated, if there are any."""
    if not api_models(bench.context().suite):
        return SkipReason("No model under evaluation is behind a server.")
    label = f"{context.scheduled_execution_time:%Y-%m-%d}"
    config = RunConfig(ops={api_drift.op.name: DriftConfig(label=label)})
    return RunRequest(run_key=label, run_config=config)
