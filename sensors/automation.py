"""Evaluates the conditions of the assets; without it Dagster would leave them switched off."""

from dagster import AssetSelection, AutomationConditionSensorDefinition, DefaultSensorStatus

from sensors import TICK_SECONDS

automation = AutomationConditionSensorDefinition(
    "automation",
    target=AssetSelection.all(),
    minimum_interval_seconds=TICK_SECONDS,
    default_status=DefaultSensorStatus.RUNNING,
)
