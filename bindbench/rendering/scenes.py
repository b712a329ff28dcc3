"""Scenes: what stands where, for a concept, a track and a seed. No ray tracer is needed here.

A scene is unambiguous by construction unless its fault says otherwise: objects lie within the
image and apart, are large enough to be told, and every relation that the concept decides is
clear in the picture (docs/numbers.md: centres over 0.15 of the side apart, mask areas over 1.5).
"""

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from scipy.spatial import ConvexHull

from bindbench.concepts import Concept
from bindbench.errors import UserError
from bindbench.rendering.camera import WINDOW, Camera, turned
from bindbench.rendering.layout import (
    CLEAR,
    GAP,
    MARGIN,
    PLANK,
    Extent,
    Placement,
    offsets_hold,
    place,
)
from bindbench.rendering.meshes import Mesh, mesh_of
from bindbench.rendering.plans import Backdrop, Demand, Leak, Plan, make_plan
from bindbench.tasks import Track
from bindbench.vocabulary import Lexicon

SIDES = {1: (0.5, 0.72), 2: (0.33, 0.52), 3: (0.3, 0.44), 4: (0.29, 0.36)}  # longest sides
LEAST = 0.285  # of the image side: 36 pixels of 128
AREA_RATIO = 2.0  # of a decided order of size; the judges' threshold is 1.5
SIDE_RATIO = 1.3
NEAR_RATIO = (1.3, 1.7)  # of areas, about the threshold
ATTEMPTS = 150  # at each least size
RELAXED = (1.0, 0.9, 0.8, 0.65, 0.5, 0.35)  # factors of the least size, tried in turn
CLUTTER_SIDES = (0.2, 0.27)


@dataclass(frozen=True)
class Item:
    """An object that is drawn. Places and sizes are in world units, yaw in degrees."""

    noun: str
    color: str
    x: float
    y: float
    z: float
    size: float  # longest side
    yaw: float
    leak: Leak | None = None


@dataclass(frozen=True)
class Support:
    """A box that something stands on, in world units."""

    kind: Literal["shelf", "plinth", "cabinet"]
    low: tuple[float, float, float]
    high: tuple[float, float, float]

    @property
    def corners(self) -> np.ndarray:
        """The eight corners, (8, 3)."""
        ends = np.array([self.low, self.high])
        return np.array([[ends[i, 0], ends[j, 1], ends[k, 2]] for i, j, k in np.ndindex(2, 2, 2)])


@dataclass(frozen=True)
class Scene:
    """All that an image depends on, beside resolution and samples."""

    task_name: str
    items: tuple[Item, ...]
    track: Track
    seed: int
    fault: str | None
    relations: tuple[str, ...]  # as drawn; empty in attribute tasks
    camera: Camera
    supports: tuple[Support, ...]
    backdrop: Backdrop

    def truth(self) -> dict[str, Any]:
        """Return what is truly drawn as a JSON-able record, which no validator may read."""
        return {
            "fault": self.fault,
            "items": [asdict(item) for item in self.items],
            "relations": list(self.relations),
            "backdrop": self.backdrop,
        }


@dataclass(frozen=True)
class _Figure:
    """A mesh, turned and seen from the camera's elevation, at longest side 1 in the image."""

    mesh: Mesh
    yaw: float
    extent: Extent
    fill: float  # mask area over the square of the longest side
    scale: float  # size in window units that makes the longest side 1

    @classmethod
    def of(cls, mesh: Mesh, yaw: float, elevation: float) -> "_Figure":
        points = turned(mesh.hull, yaw)
        v = points[:, 2] * np.cos(elevation) + points[:, 1] * np.sin(elevation)
        flat = np.stack([points[:, 0], v], 1)
        (left, bottom), (right, top) = flat.min(0), flat.max(0)
        side = max(right - left, top - bottom)
        area = ConvexHull(flat).volume * mesh.solidity(yaw)
        return cls(
            mesh,
            yaw,
            Extent(left / side, right / side, bottom / side, top / side),
            float(area / side**2),
            float(1 / side),
        )


def box_of(item: Item, mesh: Mesh, camera: Camera) -> tuple[float, float, float, float]:
    """Return an item's box in the image (left, bottom, right, top), in units of the side."""
    points = turned(mesh.hull * item.size, item.yaw) + np.array([item.x, item.y, item.z])
    flat = camera.project(points)
    (left, bottom), (right, top) = flat.min(0), flat.max(0)
    return float(left), float(bottom), float(right), float(top)


def area_of(item: Item, mesh: Mesh, camera: Camera) -> float:
    """Return about how much of the image an item covers, as a share."""
    points = turned(mesh.hull * item.size, item.yaw) + np.array([item.x, item.y, item.z])
    return float(ConvexHull(camera.project(points)).volume * mesh.solidity(item.yaw))


def _ratio(larger: _Figure, smaller: _Figure) -> float:
    """The least ratio of longest sides that makes an order of size clear in area and extent."""
    return max(SIDE_RATIO, float(np.sqrt(AREA_RATIO * smaller.fill / larger.fill)))


def _ordered_sides(
    figures: list[_Figure], demands: tuple[Demand, ...], rng: np.random.Generator
) -> list[float]:
    """Longest sides that satisfy the demands on size, from the smallest object upwards."""
    orders = [
        (d.first, d.second, d.how) if d.direction > 0 else (d.second, d.first, d.how)
        for d in demands
        if d.axis == "size"
    ]
    clear = [(large, small) for large, small, how in orders if how == "clear"]
    sides: dict[int, float] = {}
    while len(sides) < len(figures):
        for k in range(len(figures)):
            below = [small for large, small in clear if large == k]
            if k in sides or any(small not in sides for small in below):
                continue
            side = float(rng.uniform(LEAST, 0.36))
            if below:
                least = max(_ratio(figures[k], figures[small]) * sides[small] for small in below)
                side = least * float(rng.uniform(1.0, 1.15))
            sides[k] = side
    ordered = {k for pair in clear for k in pair}
    for large, small, how in orders:
        if how == "near":  # one of the two has no clear order, and gives way
            areas = float(rng.uniform(*NEAR_RATIO))
            ratio = float(np.sqrt(areas * figures[small].fill / figures[large].fill))
            if large in ordered:
                sides[small] = sides[large] / ratio
            else:
                sides[large] = sides[small] * ratio
    return [sides[k] for k in range(len(figures))]


def _sides(
    figures: list[_Figure], demands: tuple[Demand, ...], rng: np.random.Generator
) -> list[float]:
    if any(d.axis == "size" for d in demands):
        return _ordered_sides(figures, demands, rng)
    low, high = SIDES[min(max(len(figures), 1), 4)]
    return [float(rng.uniform(low, high)) for _ in figures]


def _camera_angles(task_name: str, rng: np.random.Generator) -> tuple[float, float]:
    """Elevation in radians and field of view in degrees; solids are seen from higher up."""
    low, high = (14, 24) if task_name == "shape_color" else (6, 15)
    return float(np.radians(rng.uniform(low, high))), float(rng.uniform(22, 30))


def _supports(
    items: list[Item], meshes: list[Mesh], placement: Placement, camera: Camera
) -> list[Support]:
    """The shelf under the upper row and the plinths under lifted objects."""
    supports = []
    shelf_z = placement.shelf * WINDOW / float(np.cos(camera.elevation))
    corners = [
        turned(mesh.hull * item.size, item.yaw) + np.array([item.x, item.y, 0.0])
        for item, mesh in zip(items, meshes, strict=True)
    ]
    upper = [corners[k] for k, level in enumerate(placement.levels) if level]
    if upper:
        (left, front, _), (right, back, _) = (
            np.concatenate(upper).min(0),
            np.concatenate(upper).max(0),
        )
        low = (float(left) - 0.1, float(front) - 0.02, shelf_z - PLANK * WINDOW)
        supports.append(Support("shelf", low, (float(right) + 0.1, float(back) + 0.15, shelf_z)))
    for k, lift in enumerate(placement.lifts):
        if lift > 0:
            item, half = items[k], 0.42 * items[k].size
            base = shelf_z * placement.levels[k]
            low = (item.x - half, item.y - half, base)
            supports.append(Support("plinth", low, (item.x + half, item.y + half, item.z)))
    return supports


def _built(
    plan: Plan,
    figures: list[_Figure],
    sides: list[float],
    placement: Placement,
    angles: tuple[float, float],
    rng: np.random.Generator,
) -> tuple[Camera, list[Item]]:
    """Turn a placement in the image into a camera and objects in the world."""
    elevation, fov = angles
    tilt = np.cos(elevation)
    camera = Camera(float((0.5 - placement.floor) * WINDOW / tilt), elevation, fov)
    items = []
    for k, figure in enumerate(figures):
        u, v = placement.feet[k]
        y = float(rng.uniform(-0.06, 0.06))
        items.append(
            Item(
                plan.nouns[k],
                plan.colors[k],
                x=float((u - 0.5) * WINDOW),
                y=y,
                z=float((v - placement.floor) * WINDOW / tilt),
                size=float(sides[k] * placement.shrink * figure.scale * WINDOW),
                yaw=figure.yaw,
                leak=plan.leaks[k],
            )
        )
    return camera, items


def _apart(a: tuple[float, ...], b: tuple[float, ...], gap: float) -> bool:
    return a[2] + gap <= b[0] or b[2] + gap <= a[0] or a[3] + gap <= b[1] or b[3] + gap <= a[1]


def _within(box: tuple[float, ...], margin: float) -> bool:
    return min(box[0], box[1], 1 - box[2], 1 - box[3]) >= margin


def _unambiguous(
    items: list[Item],
    meshes: list[Mesh],
    camera: Camera,
    supports: list[Support],
    demands: tuple[Demand, ...],
    least: float,
) -> bool:
    """Whether the true projection holds what the placement promised."""
    boxes = [box_of(item, mesh, camera) for item, mesh in zip(items, meshes, strict=True)]
    for k, box in enumerate(boxes):
        if not _within(box, MARGIN * 0.6) or max(box[2] - box[0], box[3] - box[1]) < least:
            return False
        if not all(_apart(box, other, GAP * 0.6) for other in boxes[:k]):
            return False
    for support in supports:
        flat = camera.project(support.corners)
        edges = (*flat.min(0), *flat.max(0))
        for item, box in zip(items, boxes, strict=True):
            on_it = abs(item.z - support.high[2]) < 1e-6
            if not on_it and not _apart(edges, box, 0.004):
                return False
    centres = np.array([((b[0] + b[2]) / 2, (b[1] + b[3]) / 2) for b in boxes]).reshape(-1, 2)
    masses = _masses(items, meshes, camera)
    return (
        offsets_hold(centres, demands, slack=0.015)
        and offsets_hold(masses, tuple(d for d in demands if d.how == "clear"), CLEAR - 0.23)
        and _sizes_hold(items, meshes, camera, boxes, demands)
    )


def _masses(items: list[Item], meshes: list[Mesh], camera: Camera) -> np.ndarray:
    """About where the centres of the masks lie, (n, 2)."""
    points = []
    for item, mesh in zip(items, meshes, strict=True):
        x, z = mesh.centroid
        point = turned(np.array([[x, 0.0, z]]) * item.size, item.yaw)[0]
        points.append(point + np.array([item.x, item.y, item.z]))
    return camera.project(np.array(points).reshape(-1, 3))


def _sizes_hold(
    items: list[Item],
    meshes: list[Mesh],
    camera: Camera,
    boxes: list[tuple[float, float, float, float]],
    demands: tuple[Demand, ...],
) -> bool:
    areas = [area_of(item, mesh, camera) for item, mesh in zip(items, meshes, strict=True)]
    sides = [max(b[2] - b[0], b[3] - b[1]) for b in boxes]
    for d in demands:
        if d.axis != "size":
            continue
        large, small = (d.first, d.second) if d.direction > 0 else (d.second, d.first)
        if d.how == "near":
            if not NEAR_RATIO[0] * 0.95 <= areas[large] / areas[small] <= NEAR_RATIO[1] * 1.05:
                return False
        else:
            if areas[large] < 0.95 * AREA_RATIO * areas[small]:
                return False
            if sides[large] < 0.97 * SIDE_RATIO * sides[small]:
                return False
    return True


def _in_clutter(
    plan: Plan,
    figure: _Figure,
    items: list[Item],
    meshes: list[Mesh],
    supports: list[Support],
    camera: Camera,
    rng: np.random.Generator,
) -> tuple[Item, list[Support]] | None:
    """Find a free place further back for a second copy of an object."""
    boxes = [box_of(item, mesh, camera) for item, mesh in zip(items, meshes, strict=True)]
    for support in supports:
        flat = camera.project(support.corners)
        (left, bottom), (right, top) = flat.min(0), flat.max(0)
        boxes.append((float(left), float(bottom), float(right), float(top)))
    noun, color = plan.nouns[-1], plan.colors[-1]
    for _ in range(80):
        y = float(rng.uniform(0.9, 1.9))
        z = 0.0 if rng.random() < 0.4 else float(rng.uniform(0.3, 1.5))
        reach = 1 + y / camera.distance
        size = float(rng.uniform(*CLUTTER_SIDES)) * figure.scale * WINDOW * reach
        x = float(rng.uniform(-0.5, 0.5)) * WINDOW * reach
        item = Item(noun, color, x, y, z, size, figure.yaw)
        box = box_of(item, figure.mesh, camera)
        if _within(box, MARGIN * 0.6) and all(_apart(box, other, 0.012) for other in boxes):
            half = 0.6 * size
            stand = Support("cabinet", (x - half, y - half, 0.0), (x + half, y + half, z))
            return item, [stand] if z else []
    return None


def _attempt(
    plan: Plan, task_name: str, meshes: list[Mesh], least: float, rng: np.random.Generator
) -> tuple[Camera, list[Item], list[Support]] | None:
    angles = _camera_angles(task_name, rng)
    figures = [_Figure.of(mesh, float(rng.uniform(-25, 25)), angles[0]) for mesh in meshes]
    back = figures.pop() if plan.in_clutter is not None else None
    front = meshes[: len(figures)]
    sides = _sides(figures, plan.demands, rng)
    extents = [f.extent.scaled(side) for f, side in zip(figures, sides, strict=True)]
    placement = place(extents, plan.demands, rng)
    if placement is None or min(sides, default=1.0) * placement.shrink < least:
        return None
    camera, items = _built(plan, figures, sides, placement, angles, rng)
    supports = _supports(items, front, placement, camera)
    if not _unambiguous(items, front, camera, supports, plan.demands, least * 0.97):
        return None
    if back is not None:
        copy = _in_clutter(plan, back, items, front, supports, camera, rng)
        if copy is None:
            return None
        items.append(copy[0])
        supports += copy[1]
    return camera, items, supports


def compose(
    concept: Concept, track: Track, seed: int, lexicon: Lexicon, fault: str | None = None
) -> Scene:
    """Compose the scene of a concept, or of a concept with one fault.

    The same arguments give the same scene.

    Raises:
        UserError: a noun that can't be drawn, a word that the lexicon lacks, an unknown fault or
            one that does not apply here.
    """
    plan = make_plan(concept, track, seed, lexicon, fault)
    nouns = lexicon.nouns(concept.task)
    meshes = [mesh_of(nouns[name]) for name in plan.nouns]
    rng = np.random.default_rng([seed, 3, int(track == "contextual")])
    if not plan.nouns:  # the only object was dropped
        elevation, fov = _camera_angles(concept.task_name, rng)
        return _scene(concept, track, seed, fault, plan, (Camera(0.8, elevation, fov), [], []))
    for factor in RELAXED:
        for _ in range(ATTEMPTS):
            found = _attempt(plan, concept.task_name, meshes, LEAST * factor, rng)
            if found is not None:
                return _scene(concept, track, seed, fault, plan, found)
    raise UserError(
        f"The ray tracer found no clear picture of {concept.objects} with {concept.labels} in "
        f"{len(RELAXED) * ATTEMPTS} attempts: their shapes differ too much, take other objects."
    )


def _scene(
    concept: Concept,
    track: Track,
    seed: int,
    fault: str | None,
    plan: Plan,
    found: tuple[Camera, list[Item], list[Support]],
) -> Scene:
    camera, items, supports = found
    return Scene(
        concept.task_name,
        tuple(items),
        track,
        seed,
        fault,
        plan.relations,
        camera,
        tuple(supports),
        plan.backdrop,
    )
