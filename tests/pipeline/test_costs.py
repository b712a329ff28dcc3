"""What a run costs, worked out by hand from builds whose numbers are made up."""

import socket

import pytest
from upath import UPath

from bindbench.models.registry import describe
from bindbench.pipeline.costs import Cost, suite_costs, works
from bindbench.pipeline.spine import BENCHMARK_STAGES
from bindbench.storage.manifest import ShardInfo
from bindbench.storage.store import Artifact
from bindbench.storage.timings import Timing
from bindbench.suite import Suite, resolve_suite

HERE = socket.gethostname()


def suite_of(concepts: int = 40, **profile) -> Suite:
    fields = {
        "name": "planned",
        "benchmarks": ["color-n2", "color-n3"],
        "concepts": concepts,
        "overrides": {"shard_size": 10, "scorers": [{"model": "check:random"}], **profile},
    }
    return resolve_suite(fields, "planned.yaml")


def artifact(
    asset: str, rows: list[int], partition: str = "color-n2", bytes_each: int = 1000, **settings
) -> Artifact:
    """An artifact of which only the manifest exists; its digest follows from its name and rows."""
    shards = tuple(
        ShardInfo(f"part-{i}", f"{asset}{partition}{i}{rows}", n, bytes_each, f"{i}")
        for i, n in enumerate(rows)
    )
    return Artifact(asset, partition, {"inputs": {}, **settings}, shards, {}, UPath("nowhere"))


def timing(made: Artifact, seconds: float, computed: int | None = None, **fields) -> Timing:
    defaults = {"suite": "measured", "workers": 1, "host": HERE}
    count = len(made.shards) if computed is None else computed
    return Timing(artifact=made, seconds=seconds, computed=count, **{**defaults, **fields})


def chain(suite: Suite, seconds: float, **fields) -> list[Timing]:
    """Two shards of 10 concepts, of which 25 captions reached the images."""
    concepts = artifact("concept_set", [10, 10])
    captions = artifact("captions", [20, 20], inputs={"concept_set": concepts.digest})
    images = artifact(
        *("images", [13, 12]),
        inputs={"captions": captions.digest},
        generator=describe("generator", suite.profile.generator),
    )
    return [
        timing(concepts, 1.0),
        timing(captions, 1.0, computed=0),  # kept from another artifact
        timing(images, seconds, **fields),
    ]


def cost(found: list[Cost], stage: str) -> Cost:
    (one,) = (c for c in found if c.stage == stage)
    return one


def test_a_rate_per_concept_scales_to_the_suite():
    suite = suite_of()
    images = cost(suite_costs(suite, chain(suite, 8.0), workers=1), "images")
    # 20 concepts took 8 s and 2,000 bytes; color-n2 has 40, color-n3 was not measured.
    assert images.seconds == pytest.approx(16.0)
    assert images.bytes == 4000
    assert (images.measured, images.partitions, images.unmeasured) == (20, 2, ("color-n3",))
    captions = cost(suite_costs(suite, chain(suite, 8.0), workers=1), "captions")
    assert (captions.seconds, captions.bytes, captions.measured) == (None, None, 0)


def test_workers_share_shards():
    suite = suite_of()
    # 4 s by two workers are 8 s of one; the four shards of the suite keep 3 or 4 workers busy.
    builds = chain(suite, 4.0, workers=2)
    for workers, seconds in ((1, 16.0), (2, 8.0), (4, 4.0), (9, 4.0)):
        found = cost(suite_costs(suite, builds, workers), "images")
        assert found.seconds == pytest.approx(seconds)


def test_the_start_counts_once_whatever_the_number_of_concepts():
    # Of 8 s the second shard's 12 rows took 2.4, so that the first one's 13 took 2.6: 3 s to load.
    builds = chain(suite_of(), 8.0, first=5.6)
    for concepts, seconds in ((20, 3 + 5.0), (40, 3 + 10.0), (4000, 3 + 1000.0)):
        found = cost(suite_costs(suite_of(concepts), builds, 1), "images")
        assert found.seconds == pytest.approx(seconds)


def test_a_model_on_an_accelerator_is_one_process_and_keeps_its_devices():
    options = {"device": "cuda:0", "devices": ["cuda:0", "cuda:1"]}
    generator = {"model": "diffusers:org/name", "options": options}
    suite = suite_of(generator=generator)
    found = {w.stage: (w.accelerators, w.lone) for w in works(suite)}
    assert found["images"] == (("cuda:0", "cuda:1"), True)
    assert found["validated"] == ((), False)
    work = next(w for w in works(suite) if w.stage == "images")
    concepts = artifact("concept_set", [10, 10])
    images = artifact(
        "images", [20], inputs={"concept_set": concepts.digest}, generator=work.models["generator"]
    )
    builds = [timing(concepts, 1.0), timing(images, 8.0)]
    for workers in (1, 4):
        found = cost(suite_costs(suite, builds, workers), "images")
        assert found.seconds == pytest.approx(16.0)
        assert found.accelerators == ("cuda:0", "cuda:1")


def test_only_computed_shards_took_time():
    suite = suite_of()
    found = cost(suite_costs(suite, chain(suite, 8.0, computed=1), 1), "images")
    assert (found.seconds, found.bytes) == (pytest.approx(32.0), 4000)
    assert found.measured == 10


def test_builds_of_this_machine_are_preferred():
    suite = suite_of()
    away = chain(suite, 80.0, host="elsewhere")[2]
    alone = cost(suite_costs(suite, [*chain(suite, 8.0)[:2], away], 1), "images")
    assert (alone.seconds, alone.hosts) == (pytest.approx(160.0), ("elsewhere",))
    both = cost(suite_costs(suite, [*chain(suite, 8.0), away], 1), "images")
    assert (both.seconds, both.hosts) == (pytest.approx(16.0), (HERE,))


@pytest.mark.parametrize(
    "other",
    [
        {"options": {"resolution": 256, "samples": 8, "faults": {}}},
        {"batch_size": 8},
    ],
)
def test_other_settings_of_a_model_are_other_work(other):
    builds = chain(suite_of(), 8.0)
    found = cost(suite_costs(suite_of(generator=other), builds, 1), "images")
    assert found.seconds is None


def test_a_model_that_does_not_exist_was_never_measured():
    suite = suite_of(scorers=[{"model": "check:random"}, {"model": "none:such"}])
    found = {c.model: c.seconds for c in suite_costs(suite, [], 1) if c.stage == "model_scores"}
    assert found == {"check:random": None, "none:such": None}


def test_a_summary_is_measured_in_scored_cells():
    suite = suite_of()
    inputs = {f"model_scores/color-n{n}--{m}": "x" for n in (1, 2) for m in "abc"}
    board = artifact("leaderboard", [99], "all", inputs={"negatives/color-n2": "y"} | inputs)
    found = cost(suite_costs(suite, [timing(board, 12.0, workers=2)], workers=2), "leaderboard")
    assert (found.measured, found.seconds) == (6, pytest.approx(4.0))  # two cells, one shard


def test_every_partition_of_a_run_is_counted_once():
    suite = suite_of()
    found = [(work.stage, work.partition) for work in works(suite)]
    stages = [stage.NAME for stage in BENCHMARK_STAGES]
    assert found == [
        ("vocabulary", "all"),
        *((stage, "color-n2") for stage in stages),
        ("model_scores", "color-n2--check-random"),
        *((stage, "color-n3") for stage in stages),
        ("model_scores", "color-n3--check-random"),
        ("leaderboard", "all"),
        ("tables", "all"),
        ("report", "all"),
    ]
