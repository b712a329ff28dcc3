"""Table 22 from builds whose times are given."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from table_suites import cheap_context

from bindbench.models import registry
from bindbench.models.family import Family
from bindbench.pipeline import spine, tables
from bindbench.storage.files import write_atomically
from bindbench.strict import Strict
from bindbench.suite import Prices, RoleSettings
from bindbench.tables.costs import table_22
from bindbench.tables.inputs import Inputs

KEY = "color-n2"
SECONDS = {"concept_set": 0.8, "captions": 4.0, "images": 16.0, "validated": 8.0}
SECONDS |= {"paired_set": 0.4, "negatives": 0.8}  # of 8 concepts: 30 in all
CONCEPTS = 8


class OnGpu(Strict):
    """Options of a model on an accelerator."""

    device: str = "cuda"


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch):
    """A benchmark of 8 concepts whose builds took what is said above, by one worker of two."""
    with cheap_context(tmp_path, benchmarks=[KEY]) as context:
        spine.build_benchmark(context, KEY)
        found = tables.inputs(context)
        for stage, seconds in SECONDS.items():
            artifact = found.artifacts[f"{stage}/{KEY}"]
            facts = json.loads(artifact.run_path.read_text()) | {"wall_seconds": seconds}
            facts |= {"first_shard_seconds": None, "workers": 1}
            data = json.dumps(facts).encode()
            write_atomically(artifact.run_path, data, artifact.path.parent / "scratch")
        yield found


def priced(inputs: Inputs, **fields) -> Inputs:
    profile = inputs.suite.profile.model_copy(update={"prices": Prices(**fields)})
    return replace(inputs, suite=inputs.suite.model_copy(update={"profile": profile}))


def cells(inputs):
    return {(n.block, n.row, n.column): n for n in table_22(inputs)}


def test_a_batch_takes_what_a_concept_takes_times_its_size(inputs):
    found = cells(priced(inputs, core_hour=3.6))
    for size in (1_000, 100_000):
        block = f"{size:,} concepts"
        for row, stage in (("images", "images"), ("checks", "validated"), ("pairs", "paired_set")):
            hours = found[block, row, "hours"]
            assert hours.value == pytest.approx(SECONDS[stage] / CONCEPTS * size / 3600)
            assert found[block, row, "cost"].value == pytest.approx(hours.value * 3.6)
            assert found[block, row, "GPU-hours"].value == 0
        assert found[block, "images", "workload"].value == 2 * size
        assert found[block, "total", "hours"].value == pytest.approx(30 / CONCEPTS * size / 3600)


def test_an_accepted_image_takes_half_of_what_a_concept_takes_where_all_are(inputs):
    found = cells(inputs)
    image = found["a validated sample", KEY, "seconds"]
    assert image.value == pytest.approx(30 / CONCEPTS / 2)
    assert image.low == pytest.approx(image.value) and image.high > image.value
    assert ("a validated sample", KEY, "cost") not in found
    assert "prices.gpu_hour" in found["", "", ""].note


def test_accelerators_are_kept_by_the_stages_that_use_them(inputs, monkeypatch):
    family = Family("judge", "stand", ("in",), OnGpu, lambda *_: None)
    monkeypatch.setitem(registry.FAMILIES, ("judge", "stand"), family)
    known = inputs.artifacts[f"validated/{KEY}"]
    settings = known.settings | {"judge": known.settings["judge"] | {"options": {"device": "cuda"}}}
    artifacts = {**inputs.artifacts, f"validated/{KEY}": replace(known, settings=settings)}
    found = cells(priced(replace(inputs, artifacts=artifacts), gpu_hour=2.0))
    block = "1,000 concepts"
    gpu = found[block, "checks", "GPU-hours"].value
    assert gpu == pytest.approx(SECONDS["validated"] / CONCEPTS * 1000 / 3600)
    assert found[block, "total", "GPU-hours"].value == pytest.approx(gpu)
    assert found[block, "total", "cost"].value == pytest.approx(2 * gpu)


def test_what_was_built_by_another_model_is_not_measured(inputs):
    other = RoleSettings(model="stand:in", batch_size=3)
    profile = inputs.suite.profile.model_copy(update={"generator": other})
    changed = replace(inputs, suite=inputs.suite.model_copy(update={"profile": profile}))
    found = cells(changed)
    for row in ("images", "total"):
        number = found["1,000 concepts", row, "hours"]
        assert number.value is None and "not of the suite's models" in number.note
    assert found["1,000 concepts", "captions", "hours"].value > 0
