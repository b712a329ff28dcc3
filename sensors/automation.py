"""Evaluates the conditions of the assets; without it Dagster would leave them switched off."""

from dagster import AssetSelection, AutomationConditionSensorDefinition, DefaultSensorStatus

automation = AutomationConditionSensorDefinition(
    "automation",
    target=AssetSelection.all(),
    minimum_interval_seconds=30,
    default_status=DefaultSensorStatus.RUNNING,
)
