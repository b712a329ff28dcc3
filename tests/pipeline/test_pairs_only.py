"""Early rejection: the contextual image is made only where the minimal one was accepted."""

import json
from dataclasses import replace

import pytest
from stand_ins import Everything, Gray, Misses, cheap_context

from bindbench.models import registry
from bindbench.models.family import Family, NoOptions
from bindbench.pipeline import images, paired_set, spine, validated
from bindbench.pipeline.spine import IdleEngine
from bindbench.pipeline.survival import survival_rows
from bindbench.tasks import TRACKS

KEY = "position-n3"


class Found(Misses):
    """Misses the objects of every third image, by its gray."""

    def __init__(self) -> None:
        super().__init__(3)


@pytest.fixture(scope="module")
def contexts(tmp_path_factory):
    """The same suite with both images of every concept, and with pairs only; both built."""
    assert issubclass(Found, Everything)
    overrides = {"shard_size": 8, "scorers": [{"model": "check:oracle"}]}
    fields = {"name": "pairs", "benchmarks": [KEY], "concepts": 40, "overrides": overrides}
    root = tmp_path_factory.mktemp("pairs")
    with cheap_context(root, **fields) as context, pytest.MonkeyPatch.context() as patch:
        for role, made in (("generator", Gray), ("detector", Found)):
            family = Family(role, "stand", ("in",), NoOptions, lambda *_, made=made: made())
            patch.setitem(registry.FAMILIES, (role, "stand"), family)
        found = []
        for early in (False, True):
            suite = context.suite.model_copy(
                update={"pairs_only": early, "name": f"pairs-{early}".lower()}
            )
            store = type(context.store)(root, suite.name)
            found.append(replace(context, suite=suite, store=store))
            spine.build_benchmark(found[-1], KEY)
        yield found


def verdicts(context):
    rows = context.current(validated.NAME, KEY).read().to_pylist()
    return {(row["index"], row["track"]): row for row in rows}


def test_the_pairs_are_the_same_and_fewer_images_are_made(contexts):
    both, _ = contexts
    pairs = [context.current(paired_set.NAME, KEY) for context in contexts]
    assert pairs[0].rows > 0
    assert pairs[0].digest == pairs[1].digest
    lost = sum(not r["accepted"] for (_, track), r in verdicts(both).items() if track == TRACKS[0])
    assert lost > 0
    made = [context.current(images.NAME, KEY).rows for context in contexts]
    assert made == [80, 80 - lost]


def test_what_was_made_has_the_same_pixels_and_verdicts(contexts):
    rows = [c.current(images.NAME, KEY).read().to_pylist() for c in contexts]
    pixels = {(row["index"], row["track"]): row for row in rows[0]}
    assert all(pixels[row["index"], row["track"]] == row for row in rows[1])
    assert [(r["index"], r["track"]) for r in rows[1]] == [
        at for at in pixels if at in {(r["index"], r["track"]) for r in rows[1]}
    ]
    both, early = contexts
    expected = verdicts(both)
    for at, row in verdicts(early).items():
        if row["reason"] != validated.UNPAIRED:
            assert row == expected[at]


def test_rows_that_were_not_made_say_so(contexts):
    _, early = contexts
    found = verdicts(early)
    assert len(found) == 80
    for (index, track), row in found.items():
        lost = track == TRACKS[1] and not found[index, TRACKS[0]]["accepted"]
        assert (row["reason"] == validated.UNPAIRED) == lost
        if lost:
            assert [row[check] for check in validated.CHECKS] == ["not_run"] * 3
            assert not row["accepted"]


def test_survival_counts_only_what_reached_a_check(contexts):
    _, early = contexts
    names = ("concept_set", "captions", "validated")
    found = [
        {
            (row["track"], row["check"]): row
            for row in survival_rows({f"{n}/{KEY}": c.current(n, KEY) for n in names}, KEY)
        }
        for c in contexts
    ]
    minimal, contextual = TRACKS
    assert found[1][minimal, "accepted"] == found[0][minimal, "accepted"]
    passed = found[1][minimal, "accepted"]["passed"]
    assert found[1][contextual, "presence"]["reached"] == passed
    assert found[1][contextual, "accepted"]["total"] == 40
    assert found[1][contextual, "accepted"]["passed"] == early.current("paired_set", KEY).rows


def test_a_second_build_computes_nothing(contexts):
    _, early = contexts
    before = {n: early.current(n, KEY).run_path.read_text() for n in ("images", "validated")}
    spine.build_benchmark(replace(early, engine=IdleEngine()), KEY)
    after = {n: early.current(n, KEY).run_path.read_text() for n in before}
    assert after == before
    assert json.loads(before["images"])["shards_computed"] == 5
