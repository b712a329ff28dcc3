"""Keeps the partitions of models, and the record of releases that they stand for."""

import time
from collections.abc import Iterable, Iterator

from dagster import (
    AddDynamicPartitionsRequest,
    DefaultSensorStatus,
    DeleteDynamicPartitionsRequest,
    RunRequest,
    SensorEvaluationContext,
    SensorResult,
    sensor,
)

from assets.jobs import summarize
from assets.partitions import models
from bindbench.models.family import ModelName
from bindbench.pipeline import leaderboard
from bindbench.pipeline.base import UNPARTITIONED
from bindbench.releases.record import joined, read_record, write_record
from bindbench.releases.refresh import refresh
from bindbench.suite import RoleSettings
from resources.bench import BenchResource
from resources.suite import current_suite
from sensors import TICK_SECONDS

LOOK_SECONDS = 3600  # between two looks at the hub


@sensor(
    jobs=[summarize],
    minimum_interval_seconds=TICK_SECONDS,
    default_status=DefaultSensorStatus.RUNNING,
)
def model_releases(context: SensorEvaluationContext, bench: BenchResource) -> SensorResult:
    """Add a partition for each new revision of a model, and remove those of retired models.

    The models are the suite's scorers, those of its models file, and what the watches in it find
    on the hub. The cursor is the time of the last look at the hub, in seconds.
    """
    suite, store, now = current_suite(), bench.store.open(), time.time()
    look = now - float(context.cursor or 0) >= LOOK_SECONDS
    old = read_record(store)
    new = refresh(suite, old, look)
    write_record(store, new.record)
    for problem in new.problems:
        context.log.warning(problem)
    before, after = joined(suite, old).profile, joined(suite, new.record).profile
    evaluated = slugs(after.scorers)
    left = {*slugs(before.listed), *slugs(after.retired)} - {*evaluated}
    # A cell that changes brings the leaderboard up to date; a model that leaves changes none.
    outdated = set(slugs(before.scorers)) - {*evaluated}
    shown = outdated and store.current(leaderboard.NAME, UNPARTITIONED)
    return SensorResult(
        dynamic_partitions_requests=list(changes(context, evaluated, left)),
        run_requests=[RunRequest(job_name=summarize.name)] if shown else [],
        cursor=str(now) if look else context.cursor,
    )


def slugs(settings: Iterable[RoleSettings]) -> list[str]:
    """Return the partition keys of models."""
    return [ModelName.parse(model.model).slug for model in settings]


def changes(
    context: SensorEvaluationContext, evaluated: Iterable[str], left: Iterable[str]
) -> Iterator[AddDynamicPartitionsRequest | DeleteDynamicPartitionsRequest]:
    """Yield the requests for what is not as it should be in the instance."""
    known = set(context.instance.get_dynamic_partitions("model"))
    if new := [slug for slug in evaluated if slug not in known]:
        yield models.build_add_request(new)
    if gone := sorted(known.intersection(left)):
        yield models.build_delete_request(gone)
