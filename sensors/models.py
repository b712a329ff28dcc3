"""Adds a partition for each model that the suite evaluates."""

from dagster import DefaultSensorStatus, SensorEvaluationContext, SensorResult, sensor

from assets.partitions import models
from bindbench.models.family import ModelName
from resources.suite import current_suite


@sensor(minimum_interval_seconds=30, default_status=DefaultSensorStatus.RUNNING)
def suite_models(context: SensorEvaluationContext) -> SensorResult:
    """Add the partitions of the suite's scorers that the instance does not have yet."""
    wanted = [ModelName.parse(s.model).slug for s in current_suite().profile.scorers]
    known = set(context.instance.get_dynamic_partitions("model"))
    new = [slug for slug in wanted if slug not in known]
    return SensorResult(dynamic_partitions_requests=[models.build_add_request(new)] if new else [])
