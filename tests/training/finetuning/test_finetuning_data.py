"""Splits, negatives and in-batch masks."""

from collections import Counter

import numpy as np
import pytest
from finetuning_samples import fill

from bindbench.candidates import ERROR_FAMILIES
from bindbench.concepts import Concept
from bindbench.errors import UserError
from bindbench.training.finetuning.parts import split
from bindbench.training.finetuning.recipe import Recipe
from bindbench.training.finetuning.samples import draw, read_samples
from bindbench.training.finetuning.splits import check_apart, part_of
from bindbench.training.finetuning.truth import Truths

COUNTS = {"color-n1": 4, "color-n2": 60, "position-n2": 60}


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    return fill(tmp_path_factory.mktemp("data"), COUNTS)


def recipe(**fields) -> Recipe:
    return Recipe(**{"model": "nano:clip", "benchmarks": ["color-n2"], **fields})


def test_no_scene_is_on_both_sides_in_any_track_or_benchmark(context):
    keys = ["color-n2", "position-n2"]
    found = split(context, recipe(benchmarks=keys, tracks=["minimal", "contextual"]))
    scenes = {part: {s.scene for s in samples} for part, samples in found.parts.items()}
    assert sum(map(len, scenes.values())) == 120
    assert len(set.union(*scenes.values())) == 120
    assert sorted(scenes["training"] | scenes["validation"]) == found.trained
    both = Counter(s.scene for samples in found.parts.values() for s in samples)
    assert set(both.values()) == {2}  # both tracks of a scene are in one part
    # About 20% held out, and 10% of the rest to validate by (four standard deviations).
    assert 120 * 0.2 - 18 < len(scenes["held_out"]) < 120 * 0.2 + 18


def test_the_part_belongs_to_the_scene_alone():
    scenes = [f"{i:016x}" for i in range(20_000)]
    shares = Counter(part_of(scene, 0) for scene in scenes)
    assert shares["held_out"] / 20_000 == pytest.approx(0.2, abs=0.012)
    assert shares["validation"] / 20_000 == pytest.approx(0.08, abs=0.01)
    assert [part_of(s, 1) for s in scenes[:50]] != [part_of(s, 0) for s in scenes[:50]]


def test_at_most_so_many_samples_of_a_benchmark(context):
    assert len(read_samples(context, "color-n2", ["minimal"], 25, "strict")) == 25


def test_strict_negatives_are_false_and_paper_ones_are_all_others(context):
    (sample,) = read_samples(context, "color-n2", ["minimal"], 1, "strict")
    (only,) = sample.pools("swap", "strict")
    assert len(only) == 1
    a, b = sample.concept.labels
    assert sample.said(only[0]) == Concept("color", sample.concept.objects, (b, a))
    families = sample.pools("confusion", "strict")
    kinds = [{ERROR_FAMILIES[sample.space.errors[k]] for k in pool} for pool in families]
    assert kinds == [{"swap"}, {"object_kept"}, {"label_kept"}]
    reordered = int(np.flatnonzero(sample.space.reordered)[0])
    assert not any(reordered in pool for pool in families)
    assert reordered in sample.pools("confusion", "paper")[0]


def test_negatives_are_stratified_and_repeat_only_where_they_must():
    rng = np.random.default_rng(0)
    pools = [np.array([1]), np.array([2, 3, 4, 5]), np.array([6, 7, 8, 9])]
    for _ in range(50):
        drawn = draw(pools, 3, rng)
        assert [sum(k in pool for k in drawn) for pool in pools] == [1, 1, 1]
    assert draw([np.array([4])], 3, rng) == [4, 4, 4]
    assert sorted(draw([np.array([1]), np.array([2, 3])], 3, rng)) == [1, 2, 3]
    assert {min(draw(pools, 2, rng)) for _ in range(100)} > {1, 2}


def test_a_caption_that_may_be_true_of_an_image_is_found(lexicon):
    shown = [
        Concept("color", ("cup", "chair"), ("red", "navy")),
        Concept("color", ("chair", "cup"), ("blue", "red")),
        Concept("color", ("cup", "lamp"), ("red", "green")),
        Concept("position", ("cup", "chair"), ("above",)),
    ]
    truths = Truths(shown, lexicon)

    def true_of(objects: tuple, labels: tuple, task: str = "color") -> set[int]:
        return set(truths.images_of(Concept(task, objects, labels)))

    # A navy chair is a blue one, but a blue chair is not navy; of the last, no color is known.
    assert true_of(("cup", "chair"), ("red", "blue")) == {0, 1, 3}
    assert true_of(("chair", "cup"), ("navy", "red")) == {0, 3}
    assert true_of(("cup", "chair"), ("blue", "red")) == {3}
    assert true_of(("cup", "cup"), ("red", "red")) == set()  # there are no two cups
    assert true_of(("chair", "cup"), ("under",), "position") == {0, 1, 3}


def test_a_benchmark_without_negatives(context):
    with pytest.raises(UserError, match="color-n1 has no negatives to train on: its captions name"):
        split(context, recipe(benchmarks=["color-n1"]))


def test_a_benchmark_too_small_to_split(tmp_path):
    with pytest.raises(UserError, match=r"color-n2 has 2 usable samples, .* too few to split"):
        split(fill(tmp_path, {"color-n2": 2}), recipe())


def test_a_split_that_would_leak(tmp_path, context):
    with pytest.raises(UserError, match="would leak: it was trained on 1 of 2 held-out scenes, b"):
        check_apart(["a", "b"], {"b": "color-n2", "c": "color-n2"}, "it")
    # A checkpoint says what it was trained on: of another split, its scenes are held out now.
    other = split(context, recipe(split_seed=1)).trained
    (tmp_path / "finetuning_scenes.json").write_text(str(other).replace("'", '"'))
    with pytest.raises(UserError, match=f"open_clip:{tmp_path} was trained on"):
        split(context, recipe(model=f"open_clip:{tmp_path}"))
    same = recipe(model=f"open_clip:{tmp_path}", split_seed=1)
    assert split(context, same).trained == other
