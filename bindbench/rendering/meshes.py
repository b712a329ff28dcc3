"""Meshes on disk: the solid of each noun as a PLY file, with what framing needs to know of it.

A mesh is built once and kept in the user's cache folder under a name that is the hash of its
recipe, so a change of the recipe never meets an old file; files appear by an atomic rename, so
parallel processes may build the same one.
"""

import hashlib
import json
import os
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw
from scipy.spatial import ConvexHull

from bindbench.errors import UserError
from bindbench.rendering import outlines, solids
from bindbench.rendering.camera import turned
from bindbench.vocabulary import Noun

GRID = 48  # cells of a silhouette's side
FINER = 4  # pixels to a cell's side while rasterising
YAWS = (-25.0, -12.5, 0.0, 12.5, 25.0)  # degrees
TILT = 11.0  # degrees: a usual elevation of the camera
_RECIPE = "6"  # raise it when solids.py or outlines.py change what they build


@dataclass(frozen=True)
class Mesh:
    """A noun's solid, longest side 1, standing on z = 0, its front towards -y."""

    path: Path  # PLY; texture coordinates are (x + 1/2, z)
    smooth: bool
    hull: np.ndarray  # float64 (P, 3): outermost vertices, enough for its extent
    silhouette: np.ndarray  # bool (GRID, GRID): the front view, row 0 at the top
    solidities: tuple[float, ...]  # at YAWS: share of the view's convex hull that is covered
    centroid: tuple[float, float]  # (x, z) of the front view

    def solidity(self, yaw: float) -> float:
        """Share of the convex hull of its view that the solid covers when turned by ``yaw``."""
        return float(np.interp(yaw, YAWS, self.solidities))


def cache_folder() -> Path:
    """Return the folder of the user's cached meshes, and make it where it is missing."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    folder = Path(base) / "bindbench" / "meshes"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"The mesh cache {folder} can't be made ({error.strerror}): "
            "set XDG_CACHE_HOME to a folder that can be written."
        ) from error
    return folder


def _write(path: Path, content: bytes) -> None:
    """Write a file that appears whole or not at all."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=path.suffix)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).replace(path)
    except OSError as error:
        raise UserError(
            f"The mesh {path} can't be written ({error.strerror}): "
            "set XDG_CACHE_HOME to a folder that can be written."
        ) from error


def _ply(solid: solids.Solid) -> bytes:
    """Encode a solid as binary PLY with planar texture coordinates."""
    v = solid.vertices
    rows = np.column_stack([v, v[:, 0] + 0.5, v[:, 2]]).astype("<f4")
    faces = np.empty(len(solid.faces), dtype=[("n", "u1"), ("v", "<i4", 3)])
    faces["n"], faces["v"] = 3, solid.faces
    properties = "\n".join(f"property float {name}" for name in ("x", "y", "z", "u", "v"))
    header = (
        f"ply\nformat binary_little_endian 1.0\nelement vertex {len(rows)}\n{properties}\n"
        f"element face {len(faces)}\nproperty list uchar int vertex_indices\nend_header\n"
    )
    return header.encode() + rows.tobytes() + faces.tobytes()


def _raster(points: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Rasterise projected points (V, 2): GRID x GRID cells of the unit square about x = 0."""
    fine = GRID * FINER
    image = Image.new("1", (fine, fine))
    draw = ImageDraw.Draw(image)
    pixels = np.stack([(points[:, 0] + 0.5) * fine, (1 - points[:, 1]) * fine], 1) - 0.5
    for triangle in pixels[faces]:
        draw.polygon([(float(x), float(y)) for x, y in triangle], fill=1)
    cells = np.array(image).reshape(GRID, FINER, GRID, FINER)
    return cells.mean((1, 3)) >= 0.5


def _solidity(solid: solids.Solid, yaw: float) -> float:
    """The share of the projection's convex hull that the turned solid covers."""
    seen = turned(solid.vertices, yaw)
    tilt = np.radians(TILT)
    flat = np.stack([seen[:, 0], seen[:, 2] * np.cos(tilt) + seen[:, 1] * np.sin(tilt)], 1)
    low, high = flat.min(0), flat.max(0)
    flat = (flat - [(low[0] + high[0]) / 2, low[1]]) / (high - low).max()
    return float(_raster(flat, solid.faces).mean() / ConvexHull(flat).volume)


def _extremes(vertices: np.ndarray, directions: int = 400) -> np.ndarray:
    """Return the vertices that lie furthest in any of many directions spread over the sphere."""
    k = np.arange(directions) + 0.5
    polar, turn = np.arccos(1 - 2 * k / directions), np.pi * (1 + 5**0.5) * k
    spread = np.stack(
        [np.sin(polar) * np.cos(turn), np.sin(polar) * np.sin(turn), np.cos(polar)], 1
    )
    every = np.concatenate([spread, np.eye(3), -np.eye(3)])
    return vertices[np.unique((vertices @ every.T).argmax(0))]


def _key(noun: Noun) -> str:
    recipe = {
        "version": _RECIPE,
        "icon": noun.icon,
        "primitive": None if noun.icon else noun.primitive,
        "outline": outlines.icon_outline(noun.icon).wkt if noun.icon else None,
        "shape": [solids.DEPTH, solids.BEVEL, solids.SECTIONS],
    }
    return hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()[:24]


def _build(noun: Noun, ply: Path, facts: Path) -> None:
    solid = solids.icon(noun.icon) if noun.icon else solids.primitive(noun.primitive or "")
    hull = _extremes(solid.vertices)
    silhouette = _raster(solid.vertices[:, [0, 2]], solid.faces)
    content = {
        "smooth": solid.smooth,
        "hull": np.round(hull, 6).tolist(),
        "silhouette": ["".join("#" if cell else "." for cell in row) for row in silhouette],
        "solidities": [min(_solidity(solid, yaw), 1.0) for yaw in YAWS],
    }
    _write(ply, _ply(solid))
    _write(facts, json.dumps(content).encode())  # last: its presence says that both are there


def mesh_of(noun: Noun) -> Mesh:
    """Return a noun's mesh, built where the cache lacks it.

    Raises:
        UserError: the noun has neither icon nor primitive, or an unknown one.
    """
    if not noun.drawable:
        raise UserError(
            f"The noun {noun.name!r} can't be drawn: its vocabulary entry needs an icon or a "
            "primitive."
        )
    return _mesh(noun.icon, noun.primitive)


@cache
def _mesh(icon: str | None, primitive: str | None) -> Mesh:
    noun = Noun.model_validate({"name": "mesh", "icon": icon, "primitive": primitive})
    key = _key(noun)
    folder = cache_folder()
    ply, facts = folder / f"{key}.ply", folder / f"{key}.json"
    if not (ply.exists() and facts.exists()):
        _build(noun, ply, facts)
    content = json.loads(facts.read_text())
    silhouette = np.array([[cell == "#" for cell in row] for row in content["silhouette"]])
    rows, columns = np.nonzero(silhouette)
    return Mesh(
        path=ply,
        smooth=content["smooth"],
        hull=np.array(content["hull"]),
        silhouette=silhouette,
        solidities=tuple(content["solidities"]),
        centroid=(
            float((columns.mean() + 0.5) / GRID - 0.5),
            float(1 - (rows.mean() + 0.5) / GRID),
        ),
    )


def similarity(a: Mesh, b: Mesh) -> float:
    """Return the overlap of two silhouettes (intersection over union), b mirrored if better."""
    return max(
        float((a.silhouette & s).sum() / (a.silhouette | s).sum())
        for s in (b.silhouette, b.silhouette[:, ::-1])
    )
