"""Where the objects of an accepted image are, by hand."""

import numpy as np

from bindbench.pipeline.negatives import geometry

ROW = {
    "objects": ["gloves", "cup"],
    "names": ["gloves", "gloves", "cup"],
    "boxes": [[0.0, 10.0, 20.0, 30.0], [30.0, 0.0, 40.0, 20.0], [60.0, 40.0, 100.0, 50.0]],
    "areas": [300, 150, 250],
    "matched": [0, 2],
    "width": 100,
    "height": 50,
}


def test_a_pair_of_two_instances_is_the_two_together():
    centers, areas = geometry(ROW, [0, 1])
    np.testing.assert_allclose(centers, [[0.2, 0.3], [0.8, 0.9]])
    np.testing.assert_allclose(areas, [450 / 5000, 250 / 5000])


def test_objects_come_in_the_order_of_the_caption():
    centers, areas = geometry(ROW, [1, 0])
    np.testing.assert_allclose(centers, [[0.8, 0.9], [0.2, 0.3]])
    np.testing.assert_allclose(areas, [250 / 5000, 450 / 5000])
