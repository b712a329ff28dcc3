"""Rows of like things: their order, their sizes and their faults."""

import itertools

import pytest

from bindbench.concepts import Concept
from bindbench.errors import UserError
from bindbench.models.base import ImageRequest
from bindbench.models.mitsuba_generator import MitsubaGenerator
from bindbench.rendering.meshes import mesh_of
from bindbench.rendering.rows import FAULTS, compose_row, draw_row_fault
from bindbench.rendering.scenes import Scene, area_of, box_of
from bindbench.vocabulary import Lexicon

COLORS = ("red", "blue", "green", "yellow", "white", "black")
KEYS = Concept("color", ("key",) * 4, COLORS[:4])
SOLIDS = Concept("shape_color", ("cube", "sphere", "cone"), ("red",) * 3)
SIZED = Concept("color", ("key",) * 3, ("red",) * 3)


def drawn(scene: Scene) -> list[tuple[str, str]]:
    return [(item.noun, item.color) for item in scene.items]


def pairs(concept: Concept) -> list[tuple[str, str]]:
    return list(zip(concept.objects, concept.labels, strict=True))


@pytest.mark.parametrize("concept", [KEYS, SOLIDS, Concept("color", ("bottle",) * 6, COLORS)])
def test_things_stand_apart_in_the_order_of_the_concept(concept: Concept, lexicon: Lexicon) -> None:
    nouns = lexicon.nouns(concept.task)
    for seed in range(4):
        scene = compose_row(concept, "minimal", seed, lexicon)
        assert scene == compose_row(concept, "minimal", seed, lexicon)
        assert drawn(scene) == pairs(concept)
        boxes = [box_of(item, mesh_of(nouns[item.noun]), scene.camera) for item in scene.items]
        assert all(a[2] < b[0] for a, b in itertools.pairwise(boxes))
        assert all(min(b[0], b[1], 1 - b[2], 1 - b[3]) > 0 for b in boxes)


def test_sizes_are_those_asked_for(lexicon: Lexicon) -> None:
    mesh = mesh_of(lexicon.objects["key"])
    for seed in range(6):
        scene = compose_row(SIZED, "minimal", seed, lexicon, (0.5, 1.0, 0.71))
        small, large, medium = (area_of(item, mesh, scene.camera) for item in scene.items)
        assert large / medium > 1.5
        assert medium / small > 1.5


def test_each_fault_makes_its_mistake_and_no_other(lexicon: Lexicon) -> None:
    right = pairs(KEYS)
    for seed in range(5):
        made = {
            kind: compose_row(KEYS, "minimal", seed, lexicon, fault=kind)
            for kind in FAULTS
            if kind != "wrong_shape"
        }
        assert all(scene.truth()["fault"] == kind for kind, scene in made.items())
        found = {kind: drawn(scene) for kind, scene in made.items()}
        assert len(found["dropped"]) == 3
        assert set(found["dropped"]) < set(right)
        assert len(found["doubled"]) == 5
        assert set(found["doubled"]) == set(right)
        assert sum(a != b for a, b in zip(found["leaked"], right, strict=True)) == 1
        assert set(found["leaked"]) < set(right)
        assert found["exchanged"] != right
        assert sorted(found["exchanged"]) == sorted(right)
        for kind in ("replaced", "lookalike"):
            assert sum(noun != "key" for noun, _ in found[kind]) == 1
            assert [color for _, color in found[kind]] == list(KEYS.labels)
        assert found["half_leaked"] == right
        (leaky,) = [item for item in made["half_leaked"].items if item.leak]
        assert leaky.leak and leaky.leak.color in set(KEYS.labels) - {leaky.color}


def test_things_that_differ_in_size_or_shape_take_each_others(lexicon: Lexicon) -> None:
    for seed in range(5):
        sizes = [
            round(item.size / max(i.size for i in scene.items), 1)
            for scene in [
                compose_row(SIZED, "minimal", seed, lexicon, (0.25, 0.5, 1.0), fault="exchanged")
            ]
            for item in scene.items
        ]
        assert sizes != sorted(sizes)
        leaked = drawn(compose_row(SOLIDS, "minimal", seed, lexicon, fault="leaked"))
        assert len({noun for noun, _ in leaked}) == 2
        wrong = drawn(compose_row(SOLIDS, "minimal", seed, lexicon, fault="wrong_shape"))
        assert sum(a != b for a, b in zip(wrong, pairs(SOLIDS), strict=True)) == 1


def test_faults_come_at_their_rates_and_only_where_they_can_happen() -> None:
    rates = {"dropped": 0.2, "half_leaked": 0.3, "relation": 0.4}
    drawn_ = [draw_row_fault(rates, KEYS, "minimal", seed) for seed in range(2000)]
    assert set(drawn_) == {None, "dropped", "half_leaked"}
    assert abs(drawn_.count("dropped") / 2000 - 0.2) < 0.04
    assert abs(drawn_.count("half_leaked") / 2000 - 0.3) < 0.04
    one_color = [draw_row_fault(rates, SIZED, "minimal", seed) for seed in range(500)]
    assert set(one_color) == {None, "dropped"}


def test_the_generator_draws_rows_where_it_is_asked_to(lexicon: Lexicon) -> None:
    generator = MitsubaGenerator(lexicon, 64, 1, {"exchanged": 1.0})
    sizes = (1.0,) * 4
    (made,) = generator.generate([ImageRequest(KEYS, "", "minimal", 5, sizes)])
    expected = compose_row(KEYS, "minimal", 5, lexicon, sizes, "exchanged")
    assert made.truth == expected.truth()
    assert made.image.shape == (64, 64, 3)
    assert len({tuple(pixel) for pixel in made.image.reshape(-1, 3)}) > 50


def test_a_word_that_cannot_be_drawn_is_named(lexicon: Lexicon) -> None:
    with pytest.raises(UserError, match="'vase'"):
        compose_row(Concept("color", ("vase",) * 3, COLORS[:3]), "minimal", 0, lexicon)
