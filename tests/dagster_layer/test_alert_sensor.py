"""The sensor of failed runs, from real runs that fail by a check and by a step."""

import dagster as dg
import pytest


@pytest.fixture
def sent(defs, monkeypatch):
    """What the sensor posts."""
    import sensors.alerts as module

    posted: list[str] = []
    monkeypatch.setenv("BINDBENCH_WEBHOOK", "http://127.0.0.1:9/secret")
    monkeypatch.setattr(module, "send", lambda payload: posted.append(payload["text"]))
    return posted


def fail(kind: str):
    """A run that fails by a blocking check, or in a step."""
    keys = dg.StaticPartitionsDefinition(["color-n2"])

    @dg.asset(
        partitions_def=keys,
        check_specs=[dg.AssetCheckSpec("survival", asset="captions", blocking=True)],
    )
    def captions():
        if kind == "step":
            raise ValueError("the disk is <full>")
        yield dg.MaterializeResult()
        yield dg.AssetCheckResult(passed=False, metadata={"failed": ["label is 0.1: too low"]})

    return captions


def react(defs, instance: dg.DagsterInstance, asset) -> None:
    """Run the asset, and let the sensor react to the failure."""
    result = dg.materialize(
        [asset], instance=instance, partition_key="color-n2", raise_on_error=False
    )
    assert not result.success
    context = dg.build_run_status_sensor_context(
        sensor_name="alerts",
        dagster_instance=instance,
        dagster_run=result.dagster_run,
        dagster_event=result.get_run_failure_event(),
    ).for_run_failure()
    sensor = defs.resolve_sensor_def("alerts")
    assert sensor.default_status == dg.DefaultSensorStatus.RUNNING
    sensor(context)


def test_a_failed_check_is_told_with_its_reason(defs, sent):
    with dg.DagsterInstance.ephemeral() as instance:
        react(defs, instance, fail("check"))
    (text,) = sent
    lines = text.split("\n")
    assert "suite tiny" in lines[0] and "of color-n2 failed" in lines[0]
    assert lines[1] == "Check survival of captions: label is 0.1: too low"
    assert lines[2].startswith("Run ")
    assert len(lines) == 3


def test_a_failed_step_is_told_with_its_error(defs, sent):
    with dg.DagsterInstance.ephemeral() as instance:
        react(defs, instance, fail("step"))
    (text,) = sent
    assert "captions: ValueError: the disk is &lt;full&gt;" in text


def test_nothing_is_told_without_a_webhook(defs, sent, monkeypatch):
    monkeypatch.delenv("BINDBENCH_WEBHOOK")
    with dg.DagsterInstance.ephemeral() as instance:
        react(defs, instance, fail("step"))
    assert sent == []
