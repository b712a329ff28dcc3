import dataclasses

import numpy as np
import pytest
from in_this_process import InThisProcess

from bindbench.errors import UserError
from bindbench.rendering.faults import FAULTS
from bindbench.tasks import BENCHMARKS
from bindbench.training import validator_data
from bindbench.training.validator_data import (
    CALIBRATION,
    FIRST_SEED,
    TRAINING,
    VALIDATION,
    Drawn,
    Plan,
    SceneSpec,
    draw,
    draw_concept,
    embedded_lexicon,
    fault_kinds,
    load_drawn,
    prepare,
)
from bindbench.vocabulary import Lexicon


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return embedded_lexicon()


@pytest.fixture(scope="module")
def plan(lexicon) -> Plan:
    return Plan(lexicon, 0)


def test_scenes_follow_from_plan_split_and_index_alone(lexicon, plan):
    assert plan.spec(TRAINING, 7) == Plan(lexicon, 0).spec(TRAINING, 7)
    assert plan.spec(TRAINING, 7) != Plan(lexicon, 1).spec(TRAINING, 7)


def test_splits_share_no_seed_with_each_other_or_with_smaller_seeds(plan):
    seeds = {
        split: {plan.spec(split, i).seed for i in range(200)}
        for split in (TRAINING, VALIDATION, CALIBRATION)
    }
    bounds = [(min(s), max(s)) for s in seeds.values()]
    assert bounds[0][0] >= FIRST_SEED
    assert bounds[0][1] < bounds[1][0] and bounds[1][1] < bounds[2][0]
    assert bounds[2][1] < 2**63


def test_all_benchmarks_tracks_and_faults_occur(plan):
    specs = [plan.spec(TRAINING, i) for i in range(1500)]
    assert {(s.concept.task_name, s.concept.n) for s in specs} == {
        (b.task.name, b.n) for b in BENCHMARKS.values()
    }
    assert {s.fault for s in specs} == {None, *FAULTS}
    assert np.mean([s.fault is None for s in specs]) == pytest.approx(0.65, abs=0.05)
    assert np.mean([s.track == "minimal" for s in specs]) == pytest.approx(0.5, abs=0.05)


def test_faults_are_those_that_can_happen():
    assert "leaked" not in fault_kinds(BENCHMARKS["color-n1"], "minimal")
    assert "leaked" in fault_kinds(BENCHMARKS["color-n2"], "minimal")
    assert "relation" in fault_kinds(BENCHMARKS["position-n2"], "contextual")
    assert "background" not in fault_kinds(BENCHMARKS["position-n2"], "contextual")


def test_concepts_have_distinct_words(lexicon):
    rng = np.random.default_rng(0)
    for benchmark in BENCHMARKS.values():
        for _ in range(50):
            concept = draw_concept(benchmark, lexicon, rng)
            assert len(set(concept.objects)) == benchmark.n
            assert len(set(concept.labels)) == benchmark.n_labels


def test_a_vocabulary_too_small_is_an_error(lexicon):
    few = dataclasses.replace(lexicon.objects, entries=lexicon.objects.entries[:2], name="few")
    small = dataclasses.replace(lexicon, objects=few)
    with pytest.raises(UserError, match=r"few.*2 drawable nouns.*color-n3 needs 3"):
        draw_concept(BENCHMARKS["color-n3"], small, np.random.default_rng(0))


def spec_with(plan: Plan, fault: str | None, key: str = "color-n2") -> SceneSpec:
    return plan.spec_of(TRAINING, 0, BENCHMARKS[key], "minimal", fault)


def test_the_truth_of_a_drawn_scene(plan):
    spec = spec_with(plan, None)
    drawn = draw(spec, plan)
    assert drawn.image.shape == (128, 128, 3)
    for k, (noun, color) in enumerate(zip(spec.concept.objects, spec.concept.labels, strict=True)):
        assert plan.nouns[drawn.nouns[k]] == noun
        mask = drawn.instances == k + 1
        assert mask.sum() > 100
        assert set(drawn.colors[mask].tolist()) == {plan.colors.index(color)}
    assert (drawn.colors[drawn.instances == 0] == -1).all()
    assert (drawn.nouns[2:] == -1).all()


def test_a_half_leaked_object_has_two_colors_of_about_half(plan):
    drawn = draw(spec_with(plan, "half_leaked"), plan)
    shares = []
    for k in (1, 2):
        counts = np.bincount(drawn.colors[drawn.instances == k])
        shares.append(counts.max() / counts.sum())
    assert max(shares) == 1
    assert 0.3 < min(shares) < 0.75


def fake_draw(spec: SceneSpec, plan: Plan) -> Drawn:
    fill = spec.seed % 251
    return Drawn(
        np.full((128, 128, 3), fill, dtype=np.uint8),
        np.zeros((128, 128), dtype=np.int8),
        np.full((128, 128), -1, dtype=np.int8),
        np.full(6, -1, dtype=np.int16),
    )


def test_rendering_resumes_and_keeps_the_order(plan, tmp_path, monkeypatch):
    drawn: list[int] = []
    monkeypatch.setattr(validator_data, "ProcessPoolExecutor", InThisProcess)
    monkeypatch.setattr(
        validator_data, "draw", lambda spec, plan: (drawn.append(1), fake_draw(spec, plan))[1]
    )
    lines: list[str] = []
    prepare(plan, TRAINING, 60, tmp_path, 1, lines.append)
    assert len(drawn) == 100  # two files of 50
    assert len(lines) == 2 and "100/100" in lines[-1]
    prepare(plan, TRAINING, 120, tmp_path, 1, lines.append)
    assert len(drawn) == 150
    images = [d.image[0, 0, 0] for d in load_drawn(plan, TRAINING, 120, tmp_path)]
    assert images == [plan.spec(TRAINING, i).seed % 251 for i in range(120)]
    assert not list(tmp_path.rglob("*.part"))


def test_a_cache_that_cannot_be_written_is_named(plan, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="file"):
        prepare(plan, TRAINING, 1, tmp_path / "file", 1, print)
