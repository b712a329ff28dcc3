"""The ray tracer: a scene to an image, by Mitsuba 3 on one thread.

The image depends on the scene, resolution and samples alone, bit by bit.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import drjit as dr
import mitsuba as mi
import numpy as np

from bindbench.rendering.meshes import Mesh, mesh_of
from bindbench.rendering.rooms import Block, Room, contextual_room, linear, minimal_room
from bindbench.rendering.scenes import Item, Scene
from bindbench.tasks import get_task
from bindbench.vocabulary import Color, Lexicon

mi.set_variant("scalar_rgb")
mi.set_log_level(mi.LogLevel.Error)
dr.set_thread_count(1)

MAX_DEPTH = 2  # direct light; the ambient light stands for what walls would return
LAMP_RADIUS = 2.2
GLOSS = 0.5  # of plastic; more would hide the color of flat faces that mirror the lamp
METAL_CELLS = 48  # of the banded texture that makes flat metal look polished


@dataclass(frozen=True)
class Rendering:
    """An image, uint8 (H, W, 3), and which object each pixel shows.

    ``instances`` is int16 (H, W): 0 for the surroundings, k + 1 for the scene's item k; None
    where it was not asked for.
    """

    image: np.ndarray
    instances: np.ndarray | None


def _to_world() -> Any:
    return mi.ScalarTransform4f()


def _rgb(values: Any) -> dict[str, Any]:
    return {"type": "rgb", "value": [float(v) for v in values]}


def _reflectance(block: Block) -> dict[str, Any]:
    if block.second is None:
        return _rgb(block.color)
    return {
        "type": "checkerboard",
        "color0": _rgb(block.color),
        "color1": _rgb(block.second),
        "to_uv": _to_world().scale([*block.repeats, 1.0]),
    }


def _shape(block: Block, turn: float) -> dict[str, Any]:
    low, high = np.array(block.low), np.array(block.high)
    middle = (low + high) / 2
    a, b, c = (float(v) for v in (high - low) / 2)
    world = _to_world().rotate([0, 0, 1], turn).translate(middle.tolist())
    if block.shape == "ground":
        kind, world = "rectangle", world.scale([a, b, 1.0])
    elif block.shape == "panel":
        kind, world = "rectangle", world.rotate([1, 0, 0], 90).scale([a, c, 1.0])
    elif block.shape == "ball":
        kind, world = "sphere", world.scale(a)
    elif block.shape == "post":
        kind, world = "cylinder", world.translate([0.0, 0.0, -c]).scale([a, b, 2 * c])
    else:
        kind, world = "cube", world.scale([a, b, c])
    shape: dict[str, Any] = {"type": kind, "to_world": world}
    bsdf = {"type": "diffuse", "reflectance": _reflectance(block)}
    return shape | {"bsdf": {"type": "twosided", "bsdf": bsdf} if kind == "cylinder" else bsdf}


def _bitmap(values: np.ndarray, smooth: bool) -> dict[str, Any]:
    """A texture from linear values, float (rows, columns, channels)."""
    return {
        "type": "bitmap",
        "bitmap": mi.Bitmap(np.ascontiguousarray(values, np.float32)),
        "raw": True,
        "filter_type": "bilinear" if smooth else "nearest",
        "wrap_mode": "clamp",
    }


@cache
def _sheen() -> np.ndarray:
    """Bright and dark bands, (rows, columns, 1): what polished metal mirrors of a room."""
    v, u = np.mgrid[0:METAL_CELLS, 0:METAL_CELLS] / METAL_CELLS
    wave = np.sin(2 * np.pi * (1.6 * v + 0.7 * u)) + 0.5 * np.sin(2 * np.pi * (3.1 * v - 0.9 * u))
    return (0.95 + 0.33 * wave)[..., None]


def _material(color: Color) -> dict[str, Any]:
    """The surface of a color: plastic with a soft gloss, or rough metal with a banded sheen."""
    base = linear(np.array(color.srgb) / 255)
    if not color.metal:
        return {
            "type": "plastic",
            "diffuse_reflectance": _rgb(np.clip(base, 0, 0.95)),
            "specular_reflectance": GLOSS,
        }
    bands = _bitmap(np.clip(base * _sheen() + np.clip(_sheen() - 1, 0, 1), 0.01, 0.98), smooth=True)
    metal = {
        "type": "roughconductor",
        "material": "none",
        "alpha": 0.22,
        "specular_reflectance": bands,
    }
    body = {"type": "diffuse", "reflectance": bands}
    return {"type": "blendbsdf", "weight": 0.5, "bsdf_0": metal, "bsdf_1": body}


def _half(item: Item, mesh: Mesh) -> np.ndarray:
    """The weight texture, (rows, columns, 1), that is 1 on the leaked half of an object."""
    assert item.leak is not None
    rows, columns = np.nonzero(mesh.silhouette)
    size = mesh.silhouette.shape[0]
    upper = np.ones((size, size, 1)) * float(item.leak.upper)
    if item.leak.axis == "x":
        cut = int(np.median(columns)) + 1
        upper[:, :cut] = 1 - upper[:, :cut]
    else:
        cut = int(np.median(rows))  # row 0 is at the top
        upper[cut:] = 1 - upper[cut:]
    return upper[::-1]  # the texture's first row is at z = 0


def _object(item: Item, mesh: Mesh, lexicon: Lexicon) -> dict[str, Any]:
    bsdf = _material(lexicon.colors[item.color])
    if item.leak is not None:
        bsdf = {
            "type": "blendbsdf",
            "weight": _bitmap(_half(item, mesh), smooth=False),
            "bsdf_0": bsdf,
            "bsdf_1": _material(lexicon.colors[item.leak.color]),
        }
    world = _to_world().translate([item.x, item.y, item.z])
    return {
        "type": "ply",
        "filename": str(mesh.path),
        "face_normals": not mesh.smooth,
        "to_world": world.rotate([0, 0, 1], item.yaw).scale(item.size),
        "bsdf": bsdf,
    }


def _room(scene: Scene, lexicon: Lexicon) -> Room:
    if scene.track == "minimal":
        return minimal_room(scene)
    names = [item.color for item in scene.items]
    names += [item.leak.color for item in scene.items if item.leak]
    return contextual_room(scene, [lexicon.colors[name].srgb for name in names])


def _description(scene: Scene, lexicon: Lexicon, resolution: int, samples: int) -> dict[str, Any]:
    room = _room(scene, lexicon)
    camera = scene.camera
    seed = scene.seed % 2**31
    view = _to_world().look_at(origin=list(camera.origin), target=list(camera.target), up=[0, 0, 1])
    description: dict[str, Any] = {
        "type": "scene",
        "integrator": {"type": "path", "max_depth": MAX_DEPTH},
        "sensor": {
            "type": "perspective",
            "fov": camera.fov,
            "to_world": view,
            "film": {
                "type": "hdrfilm",
                "width": resolution,
                "height": resolution,
                "rfilter": {"type": "box"},
            },
            "sampler": {"type": "multijitter", "sample_count": samples, "seed": seed},
        },
        "ambient": {"type": "constant", "radiance": _rgb(room.ambient)},
        "lamp": {
            "type": "sphere",
            "center": list(room.lamp_at),
            "radius": LAMP_RADIUS,
            "emitter": {"type": "area", "radiance": _rgb(room.lamp)},
        },
    }
    for k, block in enumerate(room.blocks):
        description[f"room{k}"] = _shape(block, room.turn)
    nouns = lexicon.nouns(get_task(scene.task_name))
    for k, item in enumerate(scene.items):
        description[f"item{k}"] = _object(item, mesh_of(nouns[item.noun]), lexicon)
    return description


def _instances(loaded: Any) -> np.ndarray:
    """Which item each pixel's centre region shows, from the shape that one ray meets."""
    integrator = mi.load_dict({"type": "aov", "aovs": "index:shape_index"})
    film = mi.render(loaded, integrator=integrator, spp=1, seed=mi.UInt32(0))
    indices = np.array(film)[:, :, -1].round().astype(int)
    table = np.zeros(len(loaded.shapes()) + 2, np.int16)
    for k, shape in enumerate(loaded.shapes()):
        name = shape.id()
        if name.startswith("item"):
            table[k + 1] = int(name.removeprefix("item")) + 1
    return table[np.clip(indices, 0, len(table) - 1)]


def render_scene(
    scene: Scene,
    lexicon: Lexicon,
    resolution: int = 128,
    samples: int = 8,
    instances: bool = False,
) -> Rendering:
    """Render a scene.

    Args:
        scene: from ``compose``.
        lexicon: the vocabularies that the scene was composed with.
        resolution: side of the image, in pixels.
        samples: rays for each pixel.
        instances: whether to say which object each pixel shows, for tests and for training.
    """
    description = _description(scene, lexicon, resolution, samples)
    # load_dict would merge meshes of equal material and lose their ids
    loaded = mi.load_dict(description, optimize=False)
    film = mi.render(loaded, seed=mi.UInt32(scene.seed % 2**31))
    rgb = mi.Bitmap(film).convert(mi.Bitmap.PixelFormat.RGB, mi.Struct.Type.UInt8, True)
    return Rendering(np.array(rgb), _instances(loaded) if instances else None)
