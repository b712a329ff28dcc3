"""Where the things of a render truly are: their silhouettes, seen by the camera that drew them."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import trimesh
from PIL import Image as PILImage
from PIL import ImageDraw

from bindbench.concepts import Concept
from bindbench.rendering.camera import Camera, turned
from bindbench.rendering.meshes import mesh_of
from bindbench.rendering.scenes import Item, compose
from bindbench.tasks import Track
from bindbench.vocabulary import Lexicon, Noun

SIDE = 512  # pixels of a silhouette's picture: four for each of the embedded suite's renders


@dataclass(frozen=True)
class Seen:
    """What a thing covers of the picture, in units of its side and of its area."""

    centre: tuple[float, float]  # of its box, to the right and upwards
    area: float


def with_camera(
    truth: Mapping[str, Any], concept: Concept, track: Track, seed: int, lexicon: Lexicon
) -> dict[str, Any]:
    """Return a scene's record with the camera that saw it.

    The record of the ray tracer does not hold the camera. Composing the scene again gives it, if
    that gives the same record; else it is None.

    Args:
        truth: of ``bindbench.rendering.scenes.Scene.truth``.
        concept: that the scene was composed for.
        track: of the image.
        seed: of the image.
        lexicon: the vocabularies.
    """
    scene = compose(concept, track, seed, lexicon, truth["fault"])
    same = json.loads(json.dumps(scene.truth())) == truth
    return {**truth, "camera": asdict(scene.camera) if same else None}


def seen(item: Item, noun: Noun, camera: Camera) -> Seen | None:
    """Return what a thing covers, from its mesh; None if nothing of it lies in the picture."""
    vertices, faces = _solid(mesh_of(noun).path)
    points = turned(vertices * item.size, item.yaw) + np.array([item.x, item.y, item.z])
    flat = camera.project(points) * SIDE
    picture = PILImage.new("1", (SIDE, SIDE))
    drawing = ImageDraw.Draw(picture)
    for corners in flat[faces]:
        drawing.polygon([(float(u), float(v)) for u, v in corners], fill=1)
    mask = np.asarray(picture)
    if not mask.any():
        return None
    vertical, horizontal = (np.flatnonzero(mask.any(axis=k)) for k in (1, 0))
    u, v = (float(cells[0] + cells[-1] + 1) / 2 / SIDE for cells in (horizontal, vertical))
    return Seen((u, v), float(mask.mean()))


@cache
def _solid(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the vertices (V, 3) and faces (F, 3) of a mesh."""
    mesh = trimesh.load_mesh(path, process=False)
    return np.asarray(mesh.vertices), np.asarray(mesh.faces)
