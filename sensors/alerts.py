"""Tells a webhook about runs that failed: a blocking check, an evaluation or anything else."""

from collections.abc import Iterator

from dagster import (
    DagsterEventType,
    DagsterInstance,
    DefaultSensorStatus,
    RunFailureSensorContext,
    run_failure_sensor,
)

from bindbench.alerts import message, send, webhook
from resources.suite import current_suite
from sensors import TICK_SECONDS

PARTITION = "dagster/partition"
SPEAKING = ("UserError", "DamageError", "ShardError")  # whose message says it all


@run_failure_sensor(
    default_status=DefaultSensorStatus.RUNNING,
    minimum_interval_seconds=TICK_SECONDS,
    monitor_all_code_locations=True,  # with runs of the command line, which have no location
)
def alerts(context: RunFailureSensorContext) -> None:
    """Post why a run failed, if BINDBENCH_WEBHOOK names a webhook."""
    if not webhook():
        return
    run = context.dagster_run
    assets = sorted(key.to_user_string() for key in run.asset_selection or ())
    of = f" of {run.tags[PARTITION]}" if PARTITION in run.tags else ""
    title = (
        f"BindBench, suite {current_suite().name}: {', '.join(assets) or run.job_name}{of} failed"
    )
    reasons = [*failed_checks(context.instance, run.run_id), *failed_steps(context)]
    send(message(title, [*(reasons or [context.failure_event.message or ""]), f"Run {run.run_id}"]))


def failed_checks(instance: DagsterInstance, run_id: str) -> Iterator[str]:
    """Yield a line for each check of a run that failed."""
    events = instance.all_logs(run_id, of_type=DagsterEventType.ASSET_CHECK_EVALUATION)
    for event in events:
        assert event.dagster_event
        check = event.dagster_event.asset_check_evaluation_data
        if not check.passed:
            reasons = check.metadata.get("failed")
            values = reasons.value if reasons else None
            why = "; ".join(map(str, values)) if isinstance(values, list) else "no reason given"
            yield f"Check {check.check_name} of {check.asset_key.to_user_string()}: {why}"


def failed_steps(context: RunFailureSensorContext) -> Iterator[str]:
    """Yield a line for each step that failed otherwise than by a check."""
    for event in context.get_step_failure_events():
        error = event.step_failure_data.error
        while error and error.cause and error.cls_name not in SPEAKING:
            error = error.cause
        if error and error.cls_name != "DagsterAssetCheckFailedError":
            yield f"{event.step_key}: {error.message.split('Traceback')[0]}"
