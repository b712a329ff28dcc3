"""What a pilot says of the whole suite, worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest
from stand_ins import cheap_context

from bindbench.analysis.resampling import blaker, proportion
from bindbench.pipeline import captions, spine, validated
from bindbench.pipeline.base import Context
from bindbench.pipeline.costs import Cost
from bindbench.pipeline.pilot import PAIRED, gpu_seconds, pilot_concepts, project
from bindbench.storage.timings import timings
from bindbench.suite import Suite

KEY, OTHER = "color-n2", "position-n3"


def of_size(suite: Suite, concepts: int, name: str) -> Suite:
    return suite.model_copy(
        update={"concepts": dict.fromkeys(suite.benchmarks, concepts), "name": name}
    )


@pytest.fixture(scope="module")
def pilot(tmp_path_factory):
    """A pilot of 10 concepts, of which one benchmark is built; every image is accepted."""
    with cheap_context(tmp_path_factory.mktemp("pilot"), concepts=10) as context:
        spine.build_vocabulary(context)
        spine.build_benchmark(context, KEY)
        spine.score_model(context, KEY, "check-random")
        yield context


def test_a_pilot_takes_fifty_concepts_or_all(pilot):
    assert pilot_concepts(of_size(pilot.suite, 3000, "whole")) == {KEY: 50, OTHER: 50}
    mixed = pilot.suite.model_copy(update={"concepts": {KEY: 7, OTHER: 51}})
    assert pilot_concepts(mixed) == {KEY: 7, OTHER: 50}


def harvest(pilot: Context, whole: int):
    found = project(pilot, of_size(pilot.suite, whole, "whole"), [], 1, 0)
    return {one.track: one for one in found.harvest}, found


def test_where_all_is_accepted_all_is_expected(pilot):
    tracks, found = harvest(pilot, 1000)
    assert set(tracks) == {"minimal", "contextual", PAIRED}
    for one in tracks.values():
        assert (one.benchmark, one.share.value, one.share.n, one.concepts) == (KEY, 1.0, 10, 1000)
        low = blaker(10, 10)[0]
        assert one.expected == (1000, round(1000 * low), 1000)
    assert found.failed == (OTHER,)
    assert (found.gpu_seconds, found.servers) == (0.0, None)


class Table:
    """Stands in for rows of an artifact."""

    def __init__(self, rows):
        self.rows = rows

    def read(self, columns):
        return Table([{name: row[name] for name in columns} for row in self.rows])

    def to_pylist(self):
        return self.rows

    def to_pydict(self):
        return {name: [row[name] for row in self.rows] for name in self.rows[0]}


@pytest.mark.parametrize("replicates", [1, 2])
def test_the_share_is_of_all_concepts_and_pairs_need_both_tracks(pilot, monkeypatch, replicates):
    accepted = {"minimal": {0, 1, 2, 3}, "contextual": {2, 3, 4, 5, 6}}
    reached = [  # the captions of two failed, so that there are no images; they count as well
        {"index": i, "track": track, "accepted": i in accepted[track]}
        for track, count in (("minimal", 10), ("contextual", 8))
        for i in range(count)
    ]
    scenes = [i // replicates for i in range(10)]
    parts = {
        "concept_set": Table([{"index": i, "scene_id": str(scenes[i])} for i in range(10)]),
        "validated": Table(reached),
        "paired_set": Table([{"index": i} for i in (2, 3)]),
    }
    monkeypatch.setattr(Context, "current", lambda self, asset, key: parts[asset])
    tracks, _ = harvest(pilot, 500)
    for track, wins in (*accepted.items(), (PAIRED, {2, 3})):
        right = proportion(np.isin(range(10), list(wins)), np.array(scenes))
        one = tracks[track]
        assert one.share == right
        assert right.value == len(wins) / 10
        assert one.expected == (50 * len(wins), round(500 * right.low), round(500 * right.high))


def test_time_and_disk_are_those_that_the_costs_of_the_store_give(pilot):
    builds = list(timings(pilot.store.root))
    whole = of_size(pilot.suite, 1000, "whole")
    found = project(pilot, whole, builds, 1, 0)
    (images,) = (cost for cost in found.costs if cost.stage == "images")
    (build,) = (b for b in builds if b.artifact.asset == "images")
    size = sum(shard.bytes for shard in build.artifact.shards)
    assert images.bytes == pytest.approx(size * 1000 / 10)
    seconds = build.startup + (build.seconds - build.startup) * 1000 / 10
    assert images.seconds == pytest.approx(seconds)
    assert images.unmeasured == (OTHER,)


def stage(seconds: float | None, *accelerators: str) -> Cost:
    return Cost("images", "", seconds, None, 1, 1, (), (), accelerators)


def test_each_accelerator_that_is_kept_counts():
    assert gpu_seconds([stage(100.0), stage(None, "cuda")], 8) == 0
    assert gpu_seconds([stage(100.0, "cuda"), stage(10.0, "cuda:1")], 8) == 110
    assert gpu_seconds([stage(100.0, "cuda:0", "cuda:1", "cuda")], 8) == 200
    assert gpu_seconds([stage(100.0, "auto")], 8) == 800
    assert gpu_seconds([stage(100.0, "auto")], 0) == 100


def test_answers_of_servers_cost_in_proportion(pilot, monkeypatch):
    plain = pilot.store.current

    def priced(asset: str, partition: str):
        found = plain(asset, partition)
        costs = {captions.NAME: 0.02, validated.NAME: 0.5}
        if found and asset in costs:
            usage = {"answers": 10, "cost": costs[asset]}
            found = replace(found, summary={"usage": usage})
        return found

    monkeypatch.setattr(pilot.store.__class__, "current", lambda self, *at: priced(*at))
    _, found = harvest(pilot, 1000)
    assert found.servers == pytest.approx(100 * 0.52)
    assert found.cost(3.0) == pytest.approx(52)
    two_hours = replace(found, gpu_seconds=7200.0)
    assert two_hours.cost(3.0) == pytest.approx(58)
