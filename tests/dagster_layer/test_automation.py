"""What the automation requests, tick by tick, from recorded materializations and checks alone."""

import uuid
from itertools import product

import dagster as dg
import pytest

BENCHMARKS = ("color-n2", "position-n2")
VERSION = "dagster/data_version"


class World:
    """An instance with the events that a test reports, and the automation's own memory."""

    def __init__(self, defs: dg.Definitions, instance: dg.DagsterInstance):
        self.defs, self.instance, self.cursor = defs, instance, None

    def made(self, asset: str, partition: str | None = None, version: str = "") -> None:
        """Report a materialization, of a new content if no version is given."""
        tags = {VERSION: version or uuid.uuid4().hex}
        event = dg.AssetMaterialization(asset, partition=partition, tags=tags)
        self.instance.report_runless_asset_event(event)

    def built(self, key: str, version: str = "", passed: bool = True) -> None:
        """Report a benchmark as built, and its checks as passed."""
        assert stand_in(self.defs, version, passed, self.instance, key).success

    def scored(self, cells: set[tuple[str, str]]) -> None:
        for key, model in cells:
            self.made("model_scores", f"{key}|{model}")

    def tick(self) -> dict[str, set]:
        """Return what is requested: by asset, the partitions."""
        result = dg.evaluate_automation_conditions(self.defs, self.instance, cursor=self.cursor)
        self.cursor = result.cursor
        found: dict[str, set] = {}
        for one in result.results:
            name = one.key.to_user_string()
            keys = (
                one.true_subset.expensively_compute_partition_keys()
                if (not one.true_subset.is_empty and name == "model_scores")
                else ()
            )
            if not one.true_subset.is_empty:
                found[name] = {tuple(str(key).split("|")) for key in keys}
        return found


def stand_in(defs, version: str, passed: bool, instance, key: str):
    """Record what building a benchmark does: materializations and checks, without the building."""
    names = ("concept_set", "captions", "images", "validated", "paired_set", "negatives")
    names = (*names, "filter_shift")
    partitions = defs.resolve_assets_def(dg.AssetKey("images")).partitions_def
    checks = [spec for check in defs.asset_checks for spec in check.check_specs]

    @dg.multi_asset(
        specs=[dg.AssetSpec(name, partitions_def=partitions) for name in names],
        check_specs=[
            dg.AssetCheckSpec(c.name, asset=c.asset_key, partitions_def=partitions) for c in checks
        ],
    )
    def build():
        for name in names:
            content = f"{version}-{name}" if version else uuid.uuid4().hex
            yield dg.MaterializeResult(asset_key=name, data_version=dg.DataVersion(content))
        for check in checks:
            good = passed or check.name != "candidate_counts"
            yield dg.AssetCheckResult(passed=good, asset_key=check.asset_key, check_name=check.name)

    return dg.materialize([build], instance=instance, partition_key=key)


@pytest.fixture
def world(defs):
    with dg.DagsterInstance.ephemeral() as instance:
        yield World(defs, instance)


def cells(*models: str, keys=BENCHMARKS) -> set[tuple[str, str]]:
    return set(product(keys, models))


def settle(world: World, *models: str) -> None:
    """Two built benchmarks with scored models, and nothing left to do."""
    for key in BENCHMARKS:
        world.built(key, "first")
    world.instance.add_dynamic_partitions("model", list(models))
    world.scored(cells(*models))
    for name in ("leaderboard", "tables", "report"):
        world.made(name)
    assert world.tick() == {}
    assert world.tick() == {}


def test_a_new_model_is_scored_on_every_benchmark_once(world):
    settle(world, "a")
    world.instance.add_dynamic_partitions("model", ["b"])
    assert world.tick() == {"model_scores": cells("b")}
    assert world.tick() == {}
    world.scored(cells("b"))
    assert world.tick() == {"leaderboard": set()}
    world.made("leaderboard")
    assert world.tick() == {"tables": set(), "report": set()}
    world.made("tables")
    world.made("report")
    assert world.tick() == {"report": set()}  # of what the tables are now
    world.made("report")
    assert world.tick() == {}
    assert world.tick() == {}


def test_a_benchmark_with_other_content_is_scored_again_by_every_model(world):
    settle(world, "a", "b")
    world.built("color-n2", "second")
    found = world.tick()
    assert found["model_scores"] == cells("a", "b", keys=["color-n2"])
    world.made("leaderboard")
    world.made("report")
    world.scored(found["model_scores"])
    assert set(world.tick()) == {"leaderboard", "tables", "report"}


def test_a_benchmark_with_the_same_content_changes_nothing(world):
    settle(world, "a")
    world.built("color-n2", "first")
    assert world.tick() == {}


def test_a_benchmark_that_is_not_built_waits(world):
    world.built("color-n2", "first")
    world.tick()
    world.instance.add_dynamic_partitions("model", ["a"])
    assert world.tick()["model_scores"] == cells("a", keys=["color-n2"])
    world.scored(cells("a", keys=["color-n2"]))
    assert "leaderboard" in world.tick()
    world.built("position-n2", "first")
    assert world.tick()["model_scores"] == cells("a", keys=["position-n2"])


def test_what_was_missing_before_the_first_tick_is_scored(world):
    for key in BENCHMARKS:
        world.built(key, "first")
    world.instance.add_dynamic_partitions("model", ["a"])
    assert world.tick()["model_scores"] == cells("a")


def test_a_failed_blocking_check_holds_back_its_benchmark_only(world):
    settle(world, "a")
    world.built("color-n2", "second", passed=False)
    world.built("position-n2", "second")
    assert world.tick()["model_scores"] == cells("a", keys=["position-n2"])
    world.built("color-n2", "third")
    assert world.tick()["model_scores"] == cells("a", keys=["color-n2"])


def test_a_failed_evaluation_is_not_asked_for_again(world):
    settle(world, "a")
    world.instance.add_dynamic_partitions("model", ["b"])
    assert world.tick()["model_scores"] == cells("b")
    for _ in range(3):  # nothing was materialized
        assert world.tick() == {}


def test_a_cell_that_changes_right_after_a_request_is_not_lost(world):
    settle(world, "a", "b")
    world.scored(cells("a"))
    assert world.tick() == {"leaderboard": set()}
    world.made("leaderboard")
    world.scored(cells("b"))  # too late for that leaderboard
    assert "leaderboard" in world.tick()


def test_the_sensor_is_on_from_the_start(defs):
    for name in ("automation", "model_releases"):
        sensor = defs.resolve_sensor_def(name)
        assert sensor.default_status == dg.DefaultSensorStatus.RUNNING
