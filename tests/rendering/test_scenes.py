import json
import subprocess
import sys

import numpy as np
import pytest
from scene_samples import random_concept

from bindbench.concepts import Concept
from bindbench.rendering.faults import FAULTS
from bindbench.rendering.meshes import mesh_of
from bindbench.rendering.scenes import area_of, box_of, compose
from bindbench.tasks import BENCHMARKS


def seen(scene, lexicon, task):
    """Boxes (n, 4) and areas (n,) of the items, projected."""
    found = [(item, mesh_of(lexicon.nouns(task)[item.noun])) for item in scene.items]
    boxes = np.array([box_of(item, mesh, scene.camera) for item, mesh in found])
    return boxes, np.array([area_of(item, mesh, scene.camera) for item, mesh in found])


def centres_of(boxes):
    return np.stack([boxes[:, [0, 2]].mean(1), boxes[:, [1, 3]].mean(1)], 1)


@pytest.mark.parametrize("key", BENCHMARKS)
def test_scenes_repeat_and_differ_with_seed_and_track(lexicon, key):
    concept = random_concept(lexicon, key, 0)
    scene = compose(concept, "minimal", 5, lexicon)
    assert scene == compose(concept, "minimal", 5, lexicon)
    assert scene != compose(concept, "minimal", 6, lexicon)
    assert scene.items != compose(concept, "contextual", 5, lexicon).items


@pytest.mark.parametrize("key", BENCHMARKS)
def test_every_fault_of_a_benchmark_can_be_composed(lexicon, key):
    for kind, fault in FAULTS.items():
        for seed in range(4):
            concept = random_concept(lexicon, key, seed)
            if not fault.applies(concept, "minimal"):
                continue
            scene = compose(concept, "minimal", seed, lexicon, kind)
            count = concept.n + {"dropped": -1, "doubled": 1, "doubled_clutter": 1}.get(kind, 0)
            assert len(scene.items) == count
            truth = json.loads(json.dumps(scene.truth()))
            assert truth["fault"] == kind
            assert [item["noun"] for item in truth["items"]] == [i.noun for i in scene.items]


@pytest.mark.parametrize("key", BENCHMARKS)
def test_objects_are_apart_in_frame_and_large(lexicon, key):
    least = 0.2 if key == "relative_size-n3" else 0.27
    for seed in range(40):
        concept = random_concept(lexicon, key, seed)
        boxes, _ = seen(compose(concept, "contextual", seed, lexicon), lexicon, concept.task)
        assert boxes.min() > 0.015
        assert boxes.max() < 0.985
        sides = np.maximum(boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1])
        assert sides.min() > least
        for a in range(len(boxes)):
            for b in range(a):
                gaps = [boxes[a, 0] - boxes[b, 2], boxes[b, 0] - boxes[a, 2]]
                gaps += [boxes[a, 1] - boxes[b, 3], boxes[b, 1] - boxes[a, 3]]
                assert max(gaps) > 0.02  # 2.5 pixels of 128


@pytest.mark.parametrize("fault", [None, "doubled", "doubled_clutter", "relation"])
def test_spatial_relations_are_clear(lexicon, fault):
    for seed in range(60):
        concept = random_concept(lexicon, f"position-n{2 + seed % 2}", seed)
        scene = compose(concept, "minimal", seed, lexicon, fault)
        boxes, _ = seen(scene, lexicon, concept.task)
        centres = centres_of(boxes)
        for k, label in enumerate(scene.relations):
            relation = lexicon.positions[label]
            axis = 0 if relation.axis == "horizontal" else 1
            assert (centres[k, axis] - centres[k + 1, axis]) * relation.direction > 0.245
        if fault == "relation":
            right = []
            for k, label in enumerate(concept.labels):
                relation = lexicon.positions[label]
                axis = 0 if relation.axis == "horizontal" else 1
                right.append((centres[k, axis] - centres[k + 1, axis]) * relation.direction > 0.15)
            assert not all(right)


@pytest.mark.parametrize("fault", [None, "size"])
def test_orders_of_size_are_clear_for_every_pair_that_is_decided(lexicon, fault):
    for seed in range(60):
        concept = random_concept(lexicon, f"relative_size-n{2 + seed % 2}", seed)
        scene = compose(concept, "minimal", seed, lexicon, fault)
        boxes, areas = seen(scene, lexicon, concept.task)
        sides = np.maximum(boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1])
        signs = [lexicon.sizes[label].direction for label in scene.relations]
        pairs = [(k, k + 1, sign) for k, sign in enumerate(signs)]
        if len(signs) == 2 and signs[0] == signs[1]:
            pairs.append((0, 2, signs[0]))
        for a, b, sign in pairs:
            assert (areas[a] / areas[b]) ** sign >= 1.8
            assert (sides[a] / sides[b]) ** sign >= 1.25
        if fault == "size":
            asked = [lexicon.sizes[label].direction for label in concept.labels]
            assert asked != signs


def test_borderline_offsets_and_ratios_lie_about_the_thresholds(lexicon):
    for seed in range(40):
        concept = random_concept(lexicon, "position-n2", seed)
        scene = compose(concept, "minimal", seed, lexicon, "borderline")
        centres = centres_of(seen(scene, lexicon, concept.task)[0])
        relation = lexicon.positions[concept.labels[0]]
        axis = 0 if relation.axis == "horizontal" else 1
        assert 0.09 < (centres[0, axis] - centres[1, axis]) * relation.direction < 0.21

        concept = random_concept(lexicon, "relative_size-n2", seed)
        scene = compose(concept, "minimal", seed, lexicon, "borderline")
        areas = seen(scene, lexicon, concept.task)[1]
        assert 1.2 < (areas[0] / areas[1]) ** lexicon.sizes[concept.labels[0]].direction < 1.85


def order_correlation(centres):
    """Mean over scenes of the correlation of mention order with a coordinate's rank."""
    values = []
    for column in centres:
        ranks = np.argsort(np.argsort(column))
        values.append(np.corrcoef(np.arange(len(column)), ranks)[0, 1])
    return float(np.mean(values)), 1 / np.sqrt(len(values))


@pytest.mark.parametrize(
    "key", ["color-n2", "color-n3", "shape_color-n3", "relative_size-n2", "relative_size-n3"]
)
def test_mention_order_says_nothing_about_places(lexicon, key):
    across, upwards = [], []
    for seed in range(200 if key == "relative_size-n3" else 400):
        concept = random_concept(lexicon, key, seed)
        scene = compose(concept, "minimal", seed, lexicon)
        centres = centres_of(seen(scene, lexicon, concept.task)[0])
        across.append(centres[:, 0])
        upwards.append(centres[:, 1])
    for places in (across, upwards):
        mean, error = order_correlation(places)
        assert abs(mean) < 3.5 * error


@pytest.mark.parametrize(
    ("label", "free"), [("above", 0), ("under", 0), ("to the left of", 1), ("to the right of", 1)]
)
def test_mention_order_says_nothing_about_the_axis_not_asked(lexicon, label, free):
    places = []
    for seed in range(300):
        objects = random_concept(lexicon, "position-n2", seed).objects
        concept = Concept("position", objects, (label,))
        scene = compose(concept, "contextual", seed, lexicon)
        places.append(centres_of(seen(scene, lexicon, concept.task)[0])[:, free])
    mean, error = order_correlation(places)
    assert abs(mean) < 3.5 * error


def test_composing_needs_no_ray_tracer():
    code = "import sys, bindbench.rendering.scenes as s; sys.exit('mitsuba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
