import hashlib
import itertools
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scene_samples import random_concept

from bindbench.concepts import Concept
from bindbench.rendering import scenes
from bindbench.rendering.meshes import mesh_of
from bindbench.rendering.render import render_scene
from bindbench.rendering.scenes import box_of, compose
from bindbench.tasks import BENCHMARKS, TRACKS

SIDE = 128
PAIR = Concept("color", ("stool", "sailboat"), ("red", "blue"))

DIGESTS = """
import hashlib
from bindbench.concepts import Concept
from bindbench.rendering.render import render_scene
from bindbench.rendering.scenes import compose
from bindbench.vocabulary_files import load_lexicon
lexicon = load_lexicon(dict(objects="objects_embedded", shapes="shapes", colors="colors20",
                            positions="positions4", sizes="sizes3"))
concept = Concept("color", ("stool", "sailboat"), ("red", "gold"))
for track, fault in (("minimal", None), ("contextual", "half_leaked"), ("contextual", None)):
    scene = compose(concept, track, 11, lexicon, fault)
    print(hashlib.sha256(render_scene(scene, lexicon).image.tobytes()).hexdigest())
"""


def masks_of(rendering, count):
    return [rendering.instances == k + 1 for k in range(count)]


def box_in_pixels(mask):
    rows, columns = np.nonzero(mask)
    return np.array([columns.min(), rows.min(), columns.max() + 1, rows.max() + 1])


def gray(image):
    return image @ np.array([0.299, 0.587, 0.114])


def test_images_are_the_same_in_any_process():
    root = Path(scenes.__file__).parents[2]
    outputs = [
        subprocess.run(
            [sys.executable, "-c", DIGESTS],
            env=os.environ | {"PYTHONHASHSEED": seed},
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert len(set(outputs[0].split())) == 3


def test_asking_for_instances_changes_no_pixel_and_seeds_do(lexicon):
    first, second = (compose(PAIR, "contextual", seed, lexicon) for seed in (1, 2))
    plain = render_scene(first, lexicon)
    masked = render_scene(first, lexicon, instances=True)
    assert plain.instances is None
    assert (plain.image == masked.image).all()
    assert (render_scene(second, lexicon).image != plain.image).any()


def test_resolution_and_samples(lexicon):
    scene = compose(PAIR, "minimal", 1, lexicon)
    small = render_scene(scene, lexicon, resolution=64, samples=4, instances=True)
    assert small.image.shape == (64, 64, 3)
    assert small.image.dtype == np.uint8
    assert small.instances is not None
    assert small.instances.shape == (64, 64)
    assert small.instances.dtype == np.int16
    large = render_scene(scene, lexicon, resolution=128, samples=16).image.astype(float)
    halved = large.reshape(64, 2, 64, 2, 3).mean((1, 3))
    assert np.abs(halved - small.image).mean() < 8  # the same picture


def decided(concept, lexicon):
    """Ordered pairs (first, second, relation) that the concept's links state."""
    relations = lexicon.labels(concept.task)
    return [(k, k + 1, relations[label]) for k, label in enumerate(concept.labels)]


@pytest.mark.parametrize("key", BENCHMARKS)
@pytest.mark.parametrize("track", TRACKS)
def test_pictures_are_unambiguous(lexicon, key, track):
    for seed in (3, 4):
        concept = random_concept(lexicon, key, seed)
        scene = compose(concept, track, seed, lexicon)
        masks = masks_of(render_scene(scene, lexicon, instances=True), len(scene.items))
        boxes = [box_in_pixels(mask) for mask in masks]
        for item, box in zip(scene.items, boxes, strict=True):
            mesh = mesh_of(lexicon.nouns(concept.task)[item.noun])
            left, bottom, right, top = box_of(item, mesh, scene.camera)
            projected = np.array([left, 1 - top, right, 1 - bottom]) * SIDE
            assert np.abs(projected - box).max() < 3
            assert box.min() >= 1
            assert box.max() <= SIDE - 1
            assert max(box[2] - box[0], box[3] - box[1]) >= (24 if "size" in key else 34)
        for first, second in itertools.combinations(boxes, 2):
            assert max(*(first[:2] - second[2:]), *(second[:2] - first[2:])) >= 2
        if concept.task.axis == "relation":
            check_relations(decided(concept, lexicon), masks, boxes)


def check_relations(pairs, masks, boxes):
    for a, b, relation in pairs:
        if relation.axis == "size":
            areas = masks[a].sum() / masks[b].sum()
            sides = [max(box[2] - box[0], box[3] - box[1]) for box in (boxes[a], boxes[b])]
            assert areas**relation.direction > 1.65
            assert (sides[0] / sides[1]) ** relation.direction > 1.2
        else:
            axis = 0 if relation.axis == "horizontal" else 1
            up = 1 if axis == 0 else -1  # rows grow downwards
            offset = (boxes[a][[axis, axis + 2]].mean() - boxes[b][[axis, axis + 2]].mean()) / SIDE
            assert offset * up * relation.direction > 0.23


@pytest.mark.parametrize("fault", ["doubled", "doubled_clutter"])
def test_a_copy_of_the_same_color_is_in_the_picture_with_its_own_mask(lexicon, fault):
    for seed in range(4):
        scene = compose(PAIR, TRACKS[seed % 2], seed, lexicon, fault)
        masks = masks_of(render_scene(scene, lexicon, instances=True), 3)
        assert min(mask.sum() for mask in masks) > 60
        box = box_in_pixels(masks[2])
        assert max(box[2] - box[0], box[3] - box[1]) > 20


def test_the_background_of_the_minimal_track_is_white(lexicon):
    for seed in range(24):
        concept = random_concept(lexicon, list(BENCHMARKS)[seed % 9], seed)
        rendering = render_scene(
            compose(concept, "minimal", seed, lexicon), lexicon, instances=True
        )
        outside = rendering.instances == 0
        assert (gray(rendering.image)[outside] >= 190).mean() > 0.74


def test_the_background_fault_is_not_white(lexicon):
    for seed in range(10):
        scene = compose(PAIR, "minimal", seed, lexicon, "background")
        rendering = render_scene(scene, lexicon, instances=True)
        outside = rendering.instances == 0
        assert (gray(rendering.image)[outside] >= 190).mean() < 0.5


def test_leaked_and_exchanged_colors_are_what_is_seen(lexicon):
    """Red objects have a high red channel, blue ones a high blue channel."""
    for seed in range(3):
        for fault in ("leaked", "exchanged"):
            scene = compose(PAIR, TRACKS[seed % 2], seed, lexicon, fault)
            rendering = render_scene(scene, lexicon, instances=True)
            colors = []
            for mask in masks_of(rendering, 2):
                red, _, blue = np.median(rendering.image[mask], axis=0)
                colors.append("red" if red > blue else "blue")
            assert colors == [item.color for item in scene.items]
            assert colors != list(PAIR.labels)


@pytest.mark.parametrize("task", ["color", "shape_color"])
def test_about_half_of_a_half_leaked_object_has_the_other_color(lexicon, task):
    objects = PAIR.objects if task == "color" else ("pyramid", "torus")
    concept = Concept(task, objects, PAIR.labels)
    for seed in range(5):
        scene = compose(concept, TRACKS[seed % 2], seed, lexicon, "half_leaked")
        (k,) = [k for k, item in enumerate(scene.items) if item.leak]
        rendering = render_scene(scene, lexicon, instances=True)
        pixels = rendering.image[rendering.instances == k + 1].astype(int)
        red = (pixels[:, 0] > pixels[:, 2]).mean()
        assert 0.3 < red < 0.7
        other = rendering.image[rendering.instances == 2 - k].astype(int)
        leaked = scene.items[k].leak.color
        assert ((other[:, 0] > other[:, 2]).mean() > 0.8) == (leaked == "red")


def test_metal_looks_different_from_a_plain_color_of_the_same_value(lexicon):
    """A polished sheen: silver varies more over a flat object than gray plastic does."""
    for seed in range(3):
        spread = {}
        for color in ("silver", "gray"):
            concept = Concept("color", ("couch",), (color,))
            scene = compose(concept, "minimal", seed, lexicon)
            rendering = render_scene(scene, lexicon, samples=32, instances=True)
            values = gray(rendering.image)[rendering.instances == 1]
            spread[color] = np.quantile(values, 0.85) - np.quantile(values, 0.15)
        assert spread["silver"] > 1.5 * spread["gray"]


def test_white_objects_stand_out_from_the_white_background(lexicon):
    """Their outline is visible: the sides that face away from the lamp are darker."""
    for seed in range(4):
        concept = Concept("shape_color", ("pyramid", "torus"), ("white", "red"))
        scene = compose(concept, "minimal", seed, lexicon)
        rendering = render_scene(scene, lexicon, samples=16, instances=True)
        without = render_scene(
            replace(scene, items=scene.items[1:]), lexicon, samples=16, instances=True
        )
        mask = rendering.instances == 1
        change = np.abs(gray(rendering.image)[mask] - gray(without.image)[mask])
        assert change.mean() > 10


@pytest.mark.slow
def test_the_background_rule_holds_with_margin_over_many_scenes(lexicon):
    shares = []
    for seed in range(300):
        concept = random_concept(lexicon, list(BENCHMARKS)[seed % 9], 1000 + seed)
        scene = compose(concept, "minimal", 1000 + seed, lexicon)
        rendering = render_scene(scene, lexicon, instances=True)
        shares.append((gray(rendering.image)[rendering.instances == 0] >= 190).mean())
    assert np.quantile(shares, 0.01) > 0.75


def test_digest_of_this_process_is_that_of_others(lexicon):
    """What a process rendered before does not matter."""
    scene = compose(PAIR, "contextual", 9, lexicon)
    digests = set()
    for other in (3, 4):
        render_scene(compose(PAIR, "minimal", other, lexicon), lexicon, resolution=64)
        digests.add(hashlib.sha256(render_scene(scene, lexicon).image.tobytes()).hexdigest())
    assert len(digests) == 1
