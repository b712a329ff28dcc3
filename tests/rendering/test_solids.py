import numpy as np
import pytest
import trimesh
from shapely.geometry import MultiPolygon, Polygon

from bindbench.errors import UserError
from bindbench.rendering import solids
from bindbench.rendering.outlines import icon_outline
from bindbench.rendering.solids import BEVEL, DEPTH, PRIMITIVES, extruded, primitive


def as_trimesh(solid: solids.Solid) -> trimesh.Trimesh:
    return trimesh.Trimesh(solid.vertices, solid.faces, process=True)


@pytest.mark.parametrize("name", PRIMITIVES)
def test_primitives_have_unit_size_stand_on_the_floor_and_are_closed(name):
    solid = primitive(name)
    low, high = solid.vertices.min(0), solid.vertices.max(0)
    assert (high - low).max() == pytest.approx(1)
    assert low[2] == pytest.approx(0)
    assert low[0] + high[0] == pytest.approx(0)
    mesh = as_trimesh(solid)
    assert mesh.is_watertight
    assert mesh.volume > 0  # faces look outwards


def test_volumes_worked_by_hand():
    assert as_trimesh(primitive("cube")).volume == pytest.approx(1)
    assert as_trimesh(primitive("sphere")).volume == pytest.approx(np.pi / 6, rel=0.01)
    assert as_trimesh(primitive("cuboid")).volume == pytest.approx(0.42**2)
    # radius .36, height 1
    assert as_trimesh(primitive("cylinder")).volume == pytest.approx(np.pi * 0.36**2, rel=0.01)
    # half a ball of diameter 1
    assert as_trimesh(primitive("hemisphere")).volume == pytest.approx(np.pi / 12, rel=0.01)


def test_a_cuboid_is_clearly_longer_than_a_cube():
    size = np.ptp(primitive("cuboid").vertices, axis=0)
    assert size[0] > 2 * size[2]


def frustum(side: float) -> float:
    """Volume of one bevel: a square of this side shrinks by the bevel on each edge."""
    inner = side - 2 * BEVEL
    return BEVEL / 3 * (side**2 + side * inner + inner**2)


def test_an_extruded_square_has_bevelled_edges_and_faces_outwards():
    square = Polygon([(-0.5, 0), (0.5, 0), (0.5, 1), (-0.5, 1)])
    mesh = as_trimesh(extruded(MultiPolygon([square])))
    assert mesh.is_watertight
    assert mesh.volume == pytest.approx((DEPTH - 2 * BEVEL) + 2 * frustum(1))


def test_a_hole_stays_open_and_its_edges_widen_towards_the_front():
    ring = Polygon(
        [(-0.5, 0), (0.5, 0), (0.5, 1), (-0.5, 1)],
        [[(-0.2, 0.3), (-0.2, 0.7), (0.2, 0.7), (0.2, 0.3)]],
    )
    mesh = as_trimesh(extruded(MultiPolygon([ring])))
    assert mesh.is_watertight
    wider = 0.4 + 2 * BEVEL
    hole = BEVEL / 3 * (0.4**2 + 0.4 * wider + wider**2)
    solid = (DEPTH - 2 * BEVEL) * (1 - 0.16) + 2 * (frustum(1) - hole)
    assert mesh.volume == pytest.approx(solid)


def test_icons_are_normalised_and_keep_their_holes():
    outline = icon_outline("cup")
    left, bottom, right, top = outline.bounds
    assert max(right - left, top - bottom) == pytest.approx(1, abs=0.01)
    assert bottom == pytest.approx(0, abs=0.005)
    assert left + right == pytest.approx(0, abs=0.01)
    assert sum(len(part.interiors) for part in outline.geoms) == 1  # the handle


def test_thin_icons_are_thickened():
    # A thin ring of the font: radius 10 of 24 units, stroke 2, so (100 - 64) / 20^2 * pi = .28.
    assert icon_outline("circle-outline").area > 0.32


def test_unknown_names():
    with pytest.raises(UserError, match=r"icon 'cupp'.*cup"):
        icon_outline("cupp")
    with pytest.raises(UserError, match=r"primitive 'cubee'.*cube"):
        primitive("cubee")
