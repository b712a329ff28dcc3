"""Outlines of icons: glyphs of the Material Design Icons font as polygons.

The font comes with the QtAwesome package; its files are found without importing the package,
whose import needs Qt.
"""

import importlib.util
import json
import logging
from functools import cache
from pathlib import Path

import numpy as np
from fontTools.pens.basePen import BasePen
from fontTools.ttLib import TTFont
from shapely import affinity
from shapely.geometry import MultiPolygon, Polygon
from shapely.geometry.base import BaseGeometry
from shapely.geometry.polygon import orient

from bindbench.errors import UserError, unknown_name

CURVE_STEPS = 6  # straight pieces for each curve of a glyph
SIMPLIFY = 0.004  # of the longest side: at most half a pixel even at 128 px
THIN = 0.45  # below this share of filled area an outline's strokes are thickened
MAX_GROWTH = 0.03  # of the longest side
LEAST_PART = 2e-4  # area of a part that is kept, longest side 1


class _ContourPen(BasePen):
    """Collects a glyph's contours as lists of points."""

    def __init__(self, glyph_set: object) -> None:
        super().__init__(glyph_set)
        self.contours: list[list[tuple[float, float]]] = []

    def _moveTo(self, pt: tuple[float, float]) -> None:
        self.contours.append([pt])

    def _lineTo(self, pt: tuple[float, float]) -> None:
        self.contours[-1].append(pt)

    def _curveToOne(
        self, pt1: tuple[float, float], pt2: tuple[float, float], pt3: tuple[float, float]
    ) -> None:
        start = np.array(self.contours[-1][-1])
        t = np.linspace(0, 1, CURVE_STEPS + 1)[1:, None]
        curve = (
            (1 - t) ** 3 * start
            + 3 * (1 - t) ** 2 * t * np.array(pt1)
            + 3 * (1 - t) * t**2 * np.array(pt2)
            + t**3 * np.array(pt3)
        )
        self.contours[-1].extend((float(x), float(y)) for x, y in curve)


@cache
def _font() -> tuple[TTFont, dict[int, str], dict[str, str]]:
    """The font, its glyphs by code point, and the code points (hexadecimal) by icon name."""
    spec = importlib.util.find_spec("qtawesome")
    folder = Path(spec.origin).parent / "fonts" if spec and spec.origin else Path("fonts")
    fonts = sorted(folder.glob("materialdesignicons6-webfont-[0-9]*.ttf"))
    maps = sorted(folder.glob("materialdesignicons6-webfont-charmap-*.json"))
    if not fonts or not maps:
        raise UserError(
            "The Material Design Icons font is missing: install the package QtAwesome >= 1.4, "
            "whose folder 'fonts' holds materialdesignicons6-webfont-*.ttf."
        )
    logging.getLogger("fontTools").setLevel(logging.ERROR)  # it warns of the font's old time stamps
    font = TTFont(fonts[-1])
    return font, font["cmap"].getBestCmap() or {}, json.loads(maps[-1].read_text())


def _polygons(shape: BaseGeometry) -> MultiPolygon:
    """The polygons of a geometry; points and lines are dropped."""
    parts = getattr(shape, "geoms", [shape])
    return MultiPolygon([part for part in parts if isinstance(part, Polygon) and part.area > 0])


def _normalised(shape: MultiPolygon) -> MultiPolygon:
    left, bottom, right, top = shape.bounds
    moved = affinity.translate(shape, -(left + right) / 2, -bottom)
    scale = 1 / max(right - left, top - bottom)
    return affinity.scale(moved, scale, scale, origin=(0, 0))


def _thickened(shape: MultiPolygon) -> MultiPolygon:
    """Thicken thin strokes, so that an object a few dozen pixels wide stays recognisable."""
    left, bottom, right, top = shape.bounds
    fill = shape.area / ((right - left) * (top - bottom))
    growth = MAX_GROWTH * min(max((THIN - fill) / THIN, 0) * 2, 1)
    return _normalised(_polygons(shape.buffer(growth))) if growth > 0 else shape


@cache
def icon_outline(icon: str) -> MultiPolygon:
    """Return an icon's outline: longest side 1, centred on x = 0, standing on y = 0.

    Raises:
        UserError: the font has no icon of this name.
    """
    font, glyph_names, names = _font()
    if icon not in names:
        raise unknown_name("icon", icon, names, "the font Material Design Icons")
    glyphs = font.getGlyphSet()
    pen = _ContourPen(glyphs)
    glyphs[glyph_names[int(names[icon], 16)]].draw(pen)
    shape = MultiPolygon()
    for contour in pen.contours:
        if len(contour) >= 3:  # a contour inside another is a hole
            shape = _polygons(shape.symmetric_difference(_polygons(Polygon(contour).buffer(0))))
    shape = _polygons(_thickened(_normalised(shape)).simplify(SIMPLIFY))
    return MultiPolygon([orient(part) for part in shape.geoms if part.area > LEAST_PART])
