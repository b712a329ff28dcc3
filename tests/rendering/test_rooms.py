import numpy as np
from scene_samples import random_concept

from bindbench.rendering.rooms import FAR, contextual_room, linear, minimal_room
from bindbench.rendering.scenes import compose


def to_srgb(color):
    """Inverse of ``linear`` by bisection."""
    low, high = np.zeros(3), np.ones(3)
    for _ in range(30):
        middle = (low + high) / 2
        below = linear(middle) < np.array(color)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return low


def test_linear_values():
    # Values of the sRGB standard: 0.5 -> 0.2140, and the straight part below 0.04045.
    assert np.allclose(linear(np.array([0.0, 0.04, 0.5, 1.0])), [0, 0.04 / 12.92, 0.21404, 1], 1e-4)


def test_floor_and_wall_keep_away_from_the_objects_colors(lexicon):
    near = 0
    for seed in range(100):
        scene = compose(random_concept(lexicon, "color-n3", seed), "contextual", seed, lexicon)
        avoid = [lexicon.colors[item.color].srgb for item in scene.items]
        room = contextual_room(scene, avoid)
        for block in room.blocks[:2]:
            gaps = np.linalg.norm(np.array(avoid) / 255 - to_srgb(block.color), axis=1)
            near += gaps.min() <= FAR - 0.01
    assert near <= 10  # of 200; where no color is far enough it is the furthest


def test_rooms_repeat_and_differ(lexicon):
    concept = random_concept(lexicon, "color-n2", 0)
    scenes = [compose(concept, "contextual", seed, lexicon) for seed in range(30)]
    rooms = [contextual_room(scene, [(255, 0, 0)]) for scene in scenes]
    assert rooms == [contextual_room(scene, [(255, 0, 0)]) for scene in scenes]
    assert len({room.blocks[0].color for room in rooms}) == 30
    assert len({len(room.blocks) for room in rooms}) > 10


def test_nothing_of_a_room_stands_before_the_objects(lexicon):
    for seed in range(40):
        scene = compose(random_concept(lexicon, "color-n3", seed), "contextual", seed, lexicon)
        supports = {(support.low, support.high) for support in scene.supports}
        shelf_back = max((support.high[1] for support in scene.supports), default=0.0)
        for block in contextual_room(scene, []).blocks[1:]:
            flat = block.high[2] <= 0.01  # a rug
            post = abs(block.high[1] - shelf_back) < 1e-9
            if (block.low, block.high) not in supports and not flat and not post:
                assert block.low[1] > 0.6


def test_a_backdrop_is_dark_enough_to_fail_the_rule(lexicon):
    kinds = set()
    for seed in range(60):
        concept = random_concept(lexicon, "color-n2", seed)
        scene = compose(concept, "minimal", seed, lexicon, "background")
        kinds.add(scene.backdrop)
        room = minimal_room(scene)
        for block in room.blocks[:2]:
            assert to_srgb(block.color) @ (0.299, 0.587, 0.114) < 0.6
    assert kinds == {"tinted", "dark", "patterned"}
