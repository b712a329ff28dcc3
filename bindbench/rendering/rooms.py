"""Rooms: the surroundings of the contextual track, and the backdrops of the minimal one.

A room is a list of coloured blocks and a light, described without the ray tracer. Its large
surfaces and its furniture keep away from the colors of the objects.
"""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from bindbench.rendering.scenes import Scene, Support

Rgb = tuple[float, float, float]

FAR = 0.26  # least distance of a room's color from every object's, in sRGB from 0 to 1
_STREAM = 0x200A

_FLOORS = ((158, 126, 94), (138, 138, 142), (172, 160, 144), (132, 148, 128), (128, 138, 156))
_WALLS = ((196, 186, 164), (164, 180, 194), (188, 188, 188), (180, 192, 174), (196, 178, 174))
_WOODS = ((150, 122, 92), (172, 166, 158), (118, 124, 132), (174, 154, 126), (134, 112, 100))
_CLOTHS = ((168, 158, 150), (146, 158, 168), (164, 150, 158), (156, 166, 150))


@dataclass(frozen=True)
class Block:
    """A box, an upright panel, a ball or a post; measures in world units."""

    shape: Literal["box", "panel", "ground", "ball", "post"]  # a panel is upright and faces -y
    low: Rgb
    high: Rgb
    color: Rgb  # linear reflectance
    second: Rgb | None = None  # the other color of a pattern
    repeats: tuple[float, float] = (1.0, 1.0)


@dataclass(frozen=True)
class Room:
    """Surroundings and light of a scene."""

    blocks: tuple[Block, ...]
    turn: float  # degrees about the vertical axis
    ambient: Rgb
    lamp_at: Rgb
    lamp: Rgb  # radiance


def linear(srgb: np.ndarray) -> np.ndarray:
    """Return linear values of sRGB values in [0, 1]."""
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def _rgb(values: np.ndarray) -> Rgb:
    r, g, b = (float(v) for v in values)
    return r, g, b


class _Painter:
    """Draws colors that keep away from the objects' colors."""

    def __init__(self, rng: np.random.Generator, avoid: list[tuple[int, int, int]]) -> None:
        self.rng = rng
        self.avoid = np.array(avoid, float).reshape(-1, 3) / 255

    def pick(self, palette: tuple[tuple[int, int, int], ...]) -> np.ndarray:
        """Return an sRGB color of the palette, varied, far from the objects' or the furthest."""
        best, distance = np.zeros(3), -1.0
        for _ in range(16):
            base = np.array(palette[int(self.rng.integers(len(palette)))]) / 255
            color = np.clip(base * self.rng.uniform(0.78, 1.18) + self.rng.normal(0, 0.02, 3), 0, 1)
            gaps = np.linalg.norm(self.avoid - color, axis=1)
            nearest = float(gaps.min()) if len(gaps) else 1.0
            if nearest > distance:
                best, distance = color, nearest
            if distance > FAR:
                break
        return best

    def paint(self, palette: tuple[tuple[int, int, int], ...], shade: float = 1.0) -> Rgb:
        """Return a linear reflectance of the palette."""
        return _rgb(linear(np.clip(self.pick(palette) * shade, 0, 0.97)))


def _shaded(color: Rgb, factor: float) -> Rgb:
    return _rgb(np.clip(np.array(color) * factor, 0, 0.95))


def _uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(rng.uniform(low, high))


def _shell(painter: _Painter, rng: np.random.Generator, wall: float) -> list[Block]:
    """Floor, wall and skirting."""
    floor, paint = painter.paint(_FLOORS), painter.paint(_WALLS)
    planks = (float(rng.integers(10, 40)), float(rng.integers(4, 16)))
    ground = Block("ground", (-12, -12, 0), (12, 12, 0), floor, repeats=planks)
    if rng.random() < 0.75:
        ground = replace(ground, second=_shaded(floor, _uniform(rng, 1.1, 1.4)))
    panel = Block("panel", (-12, wall, -1), (12, wall, 11), paint)
    if rng.random() < 0.4:
        stripes = (float(rng.integers(30, 70)), 0.5 if rng.random() < 0.6 else 30.0)
        panel = replace(panel, second=_shaded(paint, _uniform(rng, 1.05, 1.18)), repeats=stripes)
    blocks = [ground, panel]
    if rng.random() < 0.7:
        shade = _shaded(paint, float(rng.choice([0.55, 1.35])))
        height = _uniform(rng, 0.12, 0.28)
        blocks.append(Block("box", (-12, wall - 0.06, 0), (12, wall, height), shade))
    elif rng.random() < 0.5:  # panelling up to the waist
        shade = _shaded(paint, _uniform(rng, 0.6, 0.8))
        blocks.append(Block("panel", (-12, wall - 0.02, -1), (12, wall - 0.02, 1.0), shade))
    return blocks


def _framed(
    painter: _Painter,
    wall: float,
    at: tuple[float, float],
    half: tuple[float, float],
    pane: Block | None,
) -> list[Block]:
    """A frame on the wall, with a picture or a given pane in it."""
    (x, z), (a, b) = at, half
    frame = Block(
        "box",
        (x - a - 0.07, wall - 0.08, z - b - 0.07),
        (x + a + 0.07, wall - 0.02, z + b + 0.07),
        painter.paint(_WOODS, 0.8),
    )
    inner = Block(
        "panel", (x - a, wall - 0.1, z - b), (x + a, wall - 0.1, z + b), painter.paint(_CLOTHS)
    )
    return [frame, replace(pane, low=inner.low, high=inner.high) if pane else inner]


def _window(painter: _Painter, rng: np.random.Generator, wall: float) -> list[Block]:
    x, z = _uniform(rng, -1.8, 1.8), _uniform(rng, 1.5, 2.4)
    a, b = _uniform(rng, 0.45, 0.75), _uniform(rng, 0.5, 0.85)
    sky = _rgb(_uniform(rng, 0.8, 0.97) * np.array([0.88, 0.95, 1.0]))
    pane = Block("panel", (0, 0, 0), (0, 0, 0), sky)
    blocks = _framed(painter, wall, (x, z), (a, b), pane)
    bar = blocks[0].color
    blocks.append(Block("box", (x - 0.03, wall - 0.14, z - b), (x + 0.03, wall - 0.1, z + b), bar))
    blocks.append(Block("box", (x - a, wall - 0.14, z - 0.03), (x + a, wall - 0.1, z + 0.03), bar))
    if rng.random() < 0.5:
        cloth = painter.paint(_CLOTHS)
        for side in (-1, 1):
            edge, end = x + side * (a - 0.05), x + side * (a + 0.35)
            low = (min(edge, end), wall - 0.25, z - b - 0.3)
            high = (max(edge, end), wall - 0.15, z + b + 0.2)
            second = _shaded(cloth, 0.85)
            blocks.append(Block("box", low, high, cloth, second, (float(rng.integers(3, 6)), 0.5)))
    return blocks


def _picture(painter: _Painter, rng: np.random.Generator, wall: float) -> list[Block]:
    at = _uniform(rng, -2, 2), _uniform(rng, 1.3, 2.5)
    half = _uniform(rng, 0.22, 0.5), _uniform(rng, 0.22, 0.45)
    blocks = _framed(painter, wall, at, half, None)
    inner = blocks[-1]
    if rng.random() < 0.6:  # a horizon in the picture
        middle = inner.low[2] + (inner.high[2] - inner.low[2]) * _uniform(rng, 0.3, 0.6)
        low = (inner.low[0], inner.low[1] - 0.01, inner.low[2])
        high = (inner.high[0], inner.low[1] - 0.01, middle)
        blocks.append(Block("panel", low, high, painter.paint(_CLOTHS, 0.75)))
    return blocks


def _cabinet(painter: _Painter, rng: np.random.Generator, wall: float) -> list[Block]:
    x, a = _uniform(rng, -2.2, 2.2), _uniform(rng, 0.4, 0.8)
    height, color = _uniform(rng, 0.5, 1.2), painter.paint(_WOODS)
    front = wall - 0.65
    blocks = [Block("box", (x - a, front, 0), (x + a, wall - 0.1, height), color)]
    count = int(rng.integers(2, 4))
    for k in range(1, count):
        z = height * k / count
        blocks.append(
            Block(
                "box",
                (x - a * 0.96, front - 0.02, z - 0.02),
                (x + a * 0.96, front, z + 0.02),
                _shaded(color, 0.45),
            )
        )
    if rng.random() < 0.6:
        blocks += _books(painter, rng, x - a * 0.6, front + 0.2, height)
    return blocks


def _table(painter: _Painter, rng: np.random.Generator, wall: float) -> list[Block]:
    x, a = _uniform(rng, -2.2, 2.2), _uniform(rng, 0.45, 0.8)
    height, color = _uniform(rng, 0.55, 0.95), painter.paint(_WOODS)
    top = Block("box", (x - a, wall - 0.75, height - 0.07), (x + a, wall - 0.15, height), color)
    legs = [
        Block(
            "box",
            (x + side * a * 0.9 - 0.04, depth - 0.04, 0),
            (x + side * a * 0.9 + 0.04, depth + 0.04, height - 0.07),
            _shaded(color, 0.8),
        )
        for side in (-1, 1)
        for depth in (wall - 0.7, wall - 0.2)
    ]
    books = _books(painter, rng, x - a * 0.5, wall - 0.5, height) if rng.random() < 0.6 else []
    return [top, *legs, *books]


def _books(
    painter: _Painter, rng: np.random.Generator, x: float, y: float, z: float
) -> list[Block]:
    """A row of books that stands on something."""
    blocks = []
    for _ in range(int(rng.integers(3, 7))):
        width, height = _uniform(rng, 0.05, 0.11), _uniform(rng, 0.2, 0.34)
        color = painter.paint(_CLOTHS, _uniform(rng, 0.6, 1.1))
        blocks.append(Block("box", (x, y, z), (x + width, y + 0.2, z + height), color))
        x += width + 0.008
    return blocks


def _bookcase(painter: _Painter, rng: np.random.Generator, wall: float) -> list[Block]:
    x, a = _uniform(rng, -2.2, 2.2), _uniform(rng, 0.4, 0.6)
    color, height = painter.paint(_WOODS), _uniform(rng, 1.4, 2.2)
    back = Block("box", (x - a, wall - 0.08, 0), (x + a, wall - 0.04, height), _shaded(color, 0.6))
    sides = [
        Block("box", (x + s * a - 0.03, wall - 0.45, 0), (x + s * a + 0.03, wall, height), color)
        for s in (-1, 1)
    ]
    blocks = [back, *sides]
    levels = int(rng.integers(3, 5))
    for k in range(levels + 1):
        z = (height - 0.05) * k / levels
        blocks.append(Block("box", (x - a, wall - 0.45, z), (x + a, wall, z + 0.05), color))
        if k < levels and rng.random() < 0.7:
            blocks += _books(painter, rng, x - a * 0.8, wall - 0.4, z + 0.05)
    return blocks


def _lamp(painter: _Painter, rng: np.random.Generator, wall: float) -> list[Block]:
    x, y = _uniform(rng, -2.2, 2.2), wall - _uniform(rng, 0.3, 0.6)
    height, color = _uniform(rng, 1.6, 2.2), painter.paint(_WOODS, 0.6)
    return [
        Block("post", (x - 0.03, y - 0.03, 0), (x + 0.03, y + 0.03, height), color),
        Block("post", (x - 0.2, y - 0.2, 0), (x + 0.2, y + 0.2, 0.05), color),
        Block(
            "post",
            (x - 0.22, y - 0.22, height),
            (x + 0.22, y + 0.22, height + 0.35),
            painter.paint(_WALLS, 1.1),
        ),
    ]


def _plant(painter: _Painter, rng: np.random.Generator, wall: float) -> list[Block]:
    x, y = _uniform(rng, -2.2, 2.2), wall - _uniform(rng, 0.35, 0.6)
    pot = Block("post", (x - 0.17, y - 0.17, 0), (x + 0.17, y + 0.17, 0.35), painter.paint(_WOODS))
    leaves = []
    for _ in range(int(rng.integers(6, 11))):
        u, w = x + rng.normal(0, 0.16), 0.55 + abs(rng.normal(0.1, 0.25))
        r = _uniform(rng, 0.07, 0.13)
        green = painter.paint(((96, 122, 88), (118, 134, 102), (128, 128, 112)))
        leaves.append(Block("ball", (u - r, y - r, w - r), (u + r, y + r, w + r), green))
    return [pot, *leaves]


def _rug(painter: _Painter, rng: np.random.Generator) -> Block:
    x, a, b = _uniform(rng, -0.4, 0.4), _uniform(rng, 1.1, 2.1), _uniform(rng, 0.7, 1.3)
    color = painter.paint(_CLOTHS, _uniform(rng, 0.7, 1.1))
    rug = Block("box", (x - a, -b, 0), (x + a, b, 0.008), color)
    if rng.random() < 0.5:
        stripes = (float(rng.integers(2, 8)), 0.5)
        return replace(rug, second=_shaded(color, _uniform(rng, 0.75, 0.88)), repeats=stripes)
    return rug


def _support(support: Support, color: Rgb) -> list[Block]:
    body = Block("box", support.low, support.high, color)
    if support.kind == "cabinet":
        (x0, y0, _), (x1, _, z1) = support.low, support.high
        lines = [
            Block("box", (x0 + 0.03, y0 - 0.02, z), (x1 - 0.03, y0, z + 0.03), _shaded(color, 0.5))
            for z in np.arange(0.25, z1 - 0.1, 0.3)
        ]
        return [body, *lines]
    if support.kind == "shelf":  # two posts behind it carry it
        (x0, _, z0), (x1, y1, _) = support.low, support.high
        posts = [
            Block("box", (x - 0.03, y1 - 0.06, 0.0), (x + 0.03, y1, z0), _shaded(color, 0.85))
            for x in (x0 + 0.06, x1 - 0.06)
        ]
        return [body, *posts]
    return [body]


def contextual_room(scene: Scene, avoid: list[tuple[int, int, int]]) -> Room:
    """Return a furnished room behind and under a scene.

    Args:
        scene: the scene; its seed decides the room.
        avoid: sRGB colors (0 to 255) of the objects.
    """
    rng = np.random.default_rng([_STREAM, scene.seed, 1])
    painter = _Painter(rng, avoid)
    deepest = max((item.y for item in scene.items), default=0.0)
    wall = max(2.1, deepest + 0.75) + _uniform(rng, 0.0, 1.0)
    blocks = _shell(painter, rng, wall)
    if rng.random() < 0.5:
        blocks += _window(painter, rng, wall)
    for _ in range(int(rng.integers(0, 3))):
        blocks += _picture(painter, rng, wall)
    furniture = (_cabinet, _table, _bookcase, _lamp, _plant)
    for k in rng.choice(len(furniture), int(rng.integers(1, 4)), replace=False):
        blocks += furniture[k](painter, rng, wall)
    if rng.random() < 0.45:
        blocks.append(_rug(painter, rng))
    wood = painter.paint(_WOODS)
    for support in scene.supports:
        blocks += _support(support, wood)
    warm = _uniform(rng, -0.06, 0.06)
    side = float(rng.choice([-1, 1]))
    power = _uniform(rng, 4.8, 7.0)
    return Room(
        tuple(blocks),
        turn=_uniform(rng, -7, 7),
        ambient=(0.75 + warm, 0.75, 0.75 - warm),
        lamp_at=(side * _uniform(rng, 2, 4.5), -4.5, _uniform(rng, 5, 6.5)),
        lamp=(power * (1 + warm), power, power * (1 - warm)),
    )


def _backdrop(scene: Scene, rng: np.random.Generator) -> list[Block]:
    """Floor and wall of a minimal image whose background is not white."""
    if scene.backdrop == "dark":
        first = np.full(3, _uniform(rng, 0.12, 0.45)) + rng.normal(0, 0.015, 3)
    else:
        first = rng.uniform(0.2, 0.75, 3)
        first *= min(1.0, 0.55 / float(first @ (0.299, 0.587, 0.114)))
    color = _rgb(linear(np.clip(first, 0.02, 0.9)))
    wall = Block("panel", (-12, 3.2, -1), (12, 3.2, 11), color)
    ground = Block("ground", (-12, -12, 0), (12, 12, 0), color)
    if scene.backdrop == "patterned":
        other = _rgb(linear(np.clip(first * _uniform(rng, 0.5, 0.8), 0.02, 0.9)))
        cells = float(rng.integers(16, 40))
        wall = replace(wall, second=other, repeats=(cells, float(rng.choice([0.5, cells]))))
        ground = replace(ground, second=other, repeats=(cells, cells))
    return [wall, ground]


def minimal_room(scene: Scene) -> Room:
    """Return the white surroundings of the minimal track, or those of its background fault."""
    rng = np.random.default_rng([_STREAM, scene.seed, 0])
    tint = 1 + _uniform(rng, -0.02, 0.02) * np.array([1.0, 0.0, -1.0])
    ambient = _uniform(rng, 0.78, 0.84)
    white = _uniform(rng, 0.75, 0.79)
    if scene.backdrop == "plain":
        blocks = [Block("ground", (-60, -60, 0), (60, 60, 0), _rgb(white * tint))]
    else:
        blocks = _backdrop(scene, rng)
    for support in scene.supports:
        blocks += _support(support, _rgb(0.7 * tint))
    power = _uniform(rng, 4.2, 6.0)
    side = float(rng.choice([-1, 1]))
    return Room(
        tuple(blocks),
        turn=0.0,
        ambient=_rgb(ambient * tint),
        lamp_at=(side * _uniform(rng, 2.5, 4.5), -4.5, _uniform(rng, 5, 6.5)),
        lamp=(power, power, power),
    )
