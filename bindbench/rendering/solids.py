"""Solids: triangle meshes of extruded icons and of geometric primitives, in unit size."""

from collections.abc import Callable
from dataclasses import dataclass

import mapbox_earcut
import numpy as np
import trimesh
from shapely.geometry import MultiPolygon, Polygon

from bindbench.errors import unknown_name
from bindbench.rendering.outlines import icon_outline

DEPTH = 0.28  # of an extruded icon, in units of its longest side
BEVEL = 0.02
SECTIONS = 64  # facets of round primitives


@dataclass(frozen=True)
class Solid:
    """A triangle mesh: vertices float64 (V, 3), faces int32 (F, 3).

    Its longest side is 1, its base stands on z = 0 and its front looks towards -y.
    """

    vertices: np.ndarray
    faces: np.ndarray
    smooth: bool  # shaded with interpolated normals


def _standing(vertices: np.ndarray, faces: np.ndarray, smooth: bool) -> Solid:
    low, high = vertices.min(0), vertices.max(0)
    origin = np.array([(low[0] + high[0]) / 2, (low[1] + high[1]) / 2, low[2]])
    return Solid((vertices - origin) / (high - low).max(), faces.astype(np.int32), smooth)


def _inset(ring: np.ndarray, distance: float) -> np.ndarray:
    """Move the points (P, 2) of an oriented ring inwards along the bisectors of its edges."""
    edges = np.roll(ring, -1, 0) - ring
    normals = np.stack([-edges[:, 1], edges[:, 0]], 1)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True) + 1e-12
    bisectors = normals + np.roll(normals, 1, 0)
    bisectors /= np.linalg.norm(bisectors, axis=1, keepdims=True) + 1e-9
    cosine = np.clip((bisectors * normals).sum(1, keepdims=True), 0.6, 1)
    return ring + bisectors * distance / cosine


def _bands(rings: list[np.ndarray], offset: int, stride: int) -> np.ndarray:
    """Faces that join each ring of points to the same ring one layer further back."""
    faces = []
    start = offset
    for ring in rings:
        a = start + np.arange(len(ring))
        b = np.roll(a, -1)
        faces += [np.stack([a, b + stride, b], 1), np.stack([a, a + stride, b + stride], 1)]
        start += len(ring)
    return np.concatenate(faces)


def _extruded_part(polygon: Polygon) -> tuple[np.ndarray, np.ndarray]:
    """Extrude one polygon with bevelled edges; four layers of its points, front to back."""
    rings = [np.array(ring.coords)[:-1] for ring in (polygon.exterior, *polygon.interiors)]
    outer = np.concatenate(rings)
    inner = np.concatenate([_inset(ring, BEVEL) for ring in rings])
    ends = np.cumsum([len(ring) for ring in rings]).astype(np.uint32)
    cap = mapbox_earcut.triangulate_float64(outer, ends).reshape(-1, 3)
    half, count = DEPTH / 2, len(outer)
    layers = [(inner, -half), (outer, BEVEL - half), (outer, half - BEVEL), (inner, half)]
    vertices = np.concatenate([np.insert(points, 1, y, axis=1) for points, y in layers])
    bands = [_bands(rings, layer * count, count) for layer in range(3)]
    return vertices, np.concatenate([cap, *bands, cap[:, ::-1] + 3 * count])


def extruded(outline: MultiPolygon) -> Solid:
    """Extrude an outline in the x-z plane to a solid with bevelled edges."""
    vertices, faces, count = [], [], 0
    for polygon in outline.geoms:
        part_vertices, part_faces = _extruded_part(polygon)
        vertices.append(part_vertices)
        faces.append(part_faces + count)
        count += len(part_vertices)
    return _standing(np.concatenate(vertices), np.concatenate(faces), smooth=False)


def _turned(mesh: trimesh.Trimesh, degrees: float, axis: tuple[int, int, int]) -> trimesh.Trimesh:
    mesh.apply_transform(trimesh.transformations.rotation_matrix(np.radians(degrees), axis))
    return mesh


def _prism(points: list[tuple[float, float]], length: float) -> trimesh.Trimesh:
    """A prism that lies along y, with the polygon of points in the x-z plane as its front."""
    mesh = trimesh.creation.extrude_polygon(Polygon(points), length)
    return _turned(mesh, 90, (1, 0, 0))


def _regular(count: int, start: float) -> list[tuple[float, float]]:
    angles = start + 2 * np.pi * np.arange(count) / count
    return [(float(np.cos(a)), float(np.sin(a))) for a in angles]


def _star(points: int = 5) -> list[tuple[float, float]]:
    angles = np.pi / 2 + np.pi * np.arange(2 * points) / points
    radii = np.where(np.arange(2 * points) % 2 == 0, 1, 0.45)
    points_of = np.stack([radii * np.cos(angles), radii * np.sin(angles)], 1)
    return [(float(x), float(z)) for x, z in points_of]


def _arch() -> trimesh.Trimesh:
    angles = np.linspace(0, np.pi, 24)
    outer = [(float(np.cos(a)), float(0.55 + np.sin(a))) for a in angles]
    inner = [(float(0.55 * np.cos(a)), float(0.55 + 0.55 * np.sin(a))) for a in angles[::-1]]
    return _prism([(1, 0), *outer, (-1, 0), (-0.55, 0), *inner, (0.55, 0)], 0.7)


def _hemisphere() -> trimesh.Trimesh:
    ball = trimesh.creation.icosphere(4, 1)
    upper = np.asarray(ball.vertices)
    return trimesh.PointCloud(upper[upper[:, 2] > -1e-9]).convex_hull


def _ellipsoid() -> trimesh.Trimesh:
    ball = trimesh.creation.icosphere(4, 1)
    ball.apply_scale([1, 0.6, 0.55])
    return ball


def _polyhedron(points: list[tuple[float, float, float]]) -> trimesh.Trimesh:
    return trimesh.PointCloud(points).convex_hull


def _dodecahedron() -> trimesh.Trimesh:
    g = (1 + 5**0.5) / 2
    points = [(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    for a in (-1 / g, 1 / g):
        for b in (-g, g):
            points += [(0, a, b), (a, b, 0), (b, 0, a)]
    return _polyhedron([(float(x), float(y), float(z)) for x, y, z in points])


# Long shapes lie along x, so that a small turn leaves them long in the image.
_PRIMITIVES: dict[str, tuple[Callable[[], trimesh.Trimesh], bool]] = {
    "cube": (lambda: trimesh.creation.box((1, 1, 1)), False),
    "sphere": (lambda: trimesh.creation.icosphere(4, 1), True),
    "pyramid": (lambda: _turned(trimesh.creation.cone(1, 1.35, sections=4), 45, (0, 0, 1)), False),
    "cone": (lambda: trimesh.creation.cone(0.5, 1.1, sections=SECTIONS), False),
    "cylinder": (lambda: trimesh.creation.cylinder(0.36, 1, sections=SECTIONS), False),
    "cuboid": (lambda: trimesh.creation.box((1, 0.42, 0.42)), False),
    "torus": (lambda: _turned(trimesh.creation.torus(0.35, 0.14, 48, 24), 90, (1, 0, 0)), True),
    "prism": (lambda: _prism(_regular(3, np.pi / 2), 1.5), False),
    "hemisphere": (_hemisphere, False),
    "capsule": (lambda: trimesh.creation.capsule(0.55, 0.27, count=[32, 32]), True),
    "ellipsoid": (_ellipsoid, True),
    "tetrahedron": (
        lambda: _polyhedron([(1, -0.58, 0), (-1, -0.58, 0), (0, 1.15, 0), (0, 0, 1.63)]),
        False,
    ),
    "octahedron": (
        lambda: _polyhedron(
            [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1.15), (0, 0, -1.15)]
        ),
        False,
    ),
    "dodecahedron": (_dodecahedron, False),
    "hexagonal_prism": (
        lambda: trimesh.creation.extrude_polygon(Polygon(_regular(6, 0)), 1.6),
        False,
    ),
    "disk": (lambda: trimesh.creation.cylinder(0.5, 0.2, sections=SECTIONS), False),
    "tube": (lambda: trimesh.creation.annulus(0.28, 0.45, 0.8, sections=SECTIONS), False),
    "star": (lambda: _prism(_star(), 0.55), False),
    "arch": (_arch, False),
    "wedge": (lambda: _prism([(0, 0), (1, 0), (0, 0.7)], 0.6), False),
}
PRIMITIVES: tuple[str, ...] = tuple(_PRIMITIVES)


def primitive(name: str) -> Solid:
    """Return a geometric primitive.

    Raises:
        UserError: there is no primitive of this name.
    """
    if name not in _PRIMITIVES:
        raise unknown_name("primitive", name, _PRIMITIVES)
    build, smooth = _PRIMITIVES[name]
    mesh = build()
    return _standing(np.asarray(mesh.vertices, float), np.asarray(mesh.faces), smooth)


def icon(name: str) -> Solid:
    """Return an icon of the font as an extruded solid."""
    return extruded(icon_outline(name))
