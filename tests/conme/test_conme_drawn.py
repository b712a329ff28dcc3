"""Where drawn things truly are, against the ray tracer's own record of what each pixel shows."""

import json
from itertools import combinations

import numpy as np
import pytest

from bindbench.concepts import Concept
from bindbench.conme.calibration import true_sights
from bindbench.conme.drawn import seen, with_camera
from bindbench.conme.sight import AXES
from bindbench.rendering.camera import Camera
from bindbench.rendering.render import render_scene
from bindbench.rendering.scenes import compose

SIDE = 128
CONCEPTS = [
    ("position", ("cup", "guitar", "lamp"), ("above", "to the left of"), "minimal"),
    ("position", ("chair", "dumbbell"), ("to the right of",), "minimal"),
    ("color", ("scissors", "watch", "car"), ("red", "blue", "green"), "contextual"),
    ("relative_size", ("guitar", "cup"), ("larger than",), "minimal"),
]


@pytest.fixture(scope="module", params=range(len(CONCEPTS)))
def drawn(request, lexicon):
    """A scene with its concept and track, and which thing each pixel shows, from the ray tracer."""
    task, objects, labels, track = CONCEPTS[request.param]
    concept = Concept(task, objects, labels)
    scene = compose(concept, track, request.param, lexicon)
    return concept, scene, render_scene(scene, lexicon, SIDE, 1, instances=True).instances


def box(mask: np.ndarray) -> tuple[float, float, float, float]:
    """Left, bottom, right and top of a mask whose first row is at the top."""
    rows, columns = np.nonzero(mask)
    left, right = columns.min() / SIDE, (columns.max() + 1) / SIDE
    return left, 1 - (rows.max() + 1) / SIDE, right, 1 - rows.min() / SIDE


def test_silhouettes_cover_what_the_ray_tracer_drew(drawn, lexicon):
    _, scene, instances = drawn
    for k, item in enumerate(scene.items):
        found = seen(item, lexicon.objects[item.noun], scene.camera)
        mask = instances == k + 1
        left, bottom, right, top = box(mask)
        assert found is not None
        assert found.centre == pytest.approx(((left + right) / 2, (bottom + top) / 2), abs=0.006)
        assert found.area == pytest.approx(mask.mean(), rel=0.05)


def test_relations_are_those_of_the_pixels(drawn, lexicon):
    concept, scene, instances = drawn
    record = json.loads(json.dumps(scene.truth()))
    low, high = true_sights(with_camera(record, concept, scene.track, scene.seed, lexicon), lexicon)
    masks = [instances == k + 1 for k in range(len(scene.items))]
    decided = 0
    for i, j in combinations(range(len(masks)), 2):
        one, other = box(masks[i]), box(masks[j])
        values = {
            "horizontal": (one[0] + one[2] - other[0] - other[2]) / 2 / 0.15,
            "vertical": (one[1] + one[3] - other[1] - other[3]) / 2 / 0.15,
            "size": np.log(masks[i].sum() / masks[j].sum()) / np.log(1.5),
        }
        for axis in AXES:
            if low.sign(i, j, axis) != high.sign(i, j, axis):  # at the very threshold
                assert abs(values[axis]) == pytest.approx(1, abs=0.2)
                continue
            decided += 1
            assert low.sign(i, j, axis) == (0 if abs(values[axis]) < 1 else np.sign(values[axis]))
    assert decided


def test_a_record_that_composing_does_not_give_has_no_camera(lexicon):
    task, objects, labels, track = CONCEPTS[1]
    concept = Concept(task, objects, labels)
    scene = compose(concept, track, 5, lexicon)
    record = json.loads(json.dumps(scene.truth()))
    found = with_camera(record, concept, track, 5, lexicon)
    assert Camera(**found.pop("camera")) == scene.camera
    assert found == record
    other = with_camera(record, concept, track, 6, lexicon)
    assert other["camera"] is None
    sight = true_sights(other, lexicon)[0]
    assert sight.nouns == ("chair", "dumbbell") and sight.signs == {}


def test_a_thing_outside_the_picture_covers_nothing(lexicon):
    task, objects, labels, track = CONCEPTS[1]
    scene = compose(Concept(task, objects, labels), track, 5, lexicon)
    noun = lexicon.objects[objects[0]]
    far = type(scene.items[0])(**{**vars(scene.items[0]), "x": 50.0})
    assert seen(far, noun, scene.camera) is None
