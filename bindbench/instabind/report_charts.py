"""The report's figures as SVG: horizontal bars, drawn in the page's own colors.

Every figure is a text of its own, so that it is read aloud and follows the page's light and dark.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

COLORS = ("blue", "orange", "green", "gold", "gray")  # of the page's style, in the order of series
_WIDTH, _NAMES, _VALUES = 760, 230, 60  # pixels: the whole, the names on the left, room at the end
_BAR, _GAP, _TOP = 13, 14, 34


@dataclass(frozen=True)
class Bar:
    """One value between 0 and 1, with its interval if there is one."""

    value: float
    low: float | None = None
    high: float | None = None


Row = tuple[str, Sequence[Bar | None]]  # a name, and the value of each series


def bars(title: str, series: Sequence[str], rows: Sequence[Row]) -> Markup:
    """Draw a bar for each row and series, one below the other."""
    height = _TOP + sum(len(series) * _BAR + _GAP for _ in rows) + 22
    scale = _scale(max((_end(bar) for _, values in rows for bar in values), default=0))
    parts, y = [], float(_TOP)
    for name, values in rows:
        parts.append(_name(name, y + len(series) * _BAR / 2))
        for color, bar in zip(COLORS, values, strict=False):
            parts.append(_missing(y) if bar is None else _bar(bar, scale, y, color))
            y += _BAR
        y += _GAP
    spoken = [
        (name, [(s, b.value) for s, b in zip(series, values, strict=True) if b])
        for name, values in rows
    ]
    return _figure(title, series, scale, height, parts, spoken)


def stacks(
    title: str, series: Sequence[str], rows: Sequence[tuple[str, Sequence[float]]]
) -> Markup:
    """Draw one bar for each row, its parts one after the other."""
    height = _TOP + len(rows) * (2 * _BAR + _GAP) + 22
    scale = _scale(max((sum(values) for _, values in rows), default=0))
    parts, y = [], float(_TOP)
    for name, values in rows:
        parts.append(_name(name, y + _BAR))
        start = 0.0
        for color, value in zip(COLORS, values, strict=False):
            parts.append(_rectangle(start, value, scale, y, 2 * _BAR - 3, color))
            start += value
        parts.append(_text(_x(start, scale) + 6, y + _BAR + 3, f"{start:.1%}"))
        y += 2 * _BAR + _GAP
    spoken = [(name, list(zip(series, values, strict=True))) for name, values in rows]
    return _figure(title, series, scale, height, parts, spoken)


def _end(bar: Bar | None) -> float:
    return 0.0 if bar is None else max(bar.value, bar.high or 0.0)


def _scale(largest: float) -> float:
    """Return where the axis ends: a whole number of steps."""
    step = _step(largest)
    return max(step, math.ceil(largest / step - 1e-9) * step)


def _step(largest: float) -> float:
    """Return how far the lines of the axis stand apart."""
    return 0.05 if largest <= 0.25 else 0.1 if largest <= 0.5 else 0.2


def _x(value: float, scale: float) -> float:
    return _NAMES + value / scale * (_WIDTH - _NAMES - _VALUES)


def _bar(bar: Bar, scale: float, y: float, color: str) -> str:
    end = _x(max(bar.value, bar.high or 0.0), scale)
    whisker = ""
    if bar.low is not None and bar.high is not None:
        middle = y + (_BAR - 3) / 2
        whisker = (
            f'<line class="whisker" x1="{_x(bar.low, scale):.1f}" x2="{_x(bar.high, scale):.1f}" '
            f'y1="{middle:.1f}" y2="{middle:.1f}"/>'
        )
    label = _text(end + 6, y + _BAR - 4, f"{bar.value:.1%}")
    return _rectangle(0, bar.value, scale, y, _BAR - 3, color) + whisker + label


def _rectangle(
    start: float, value: float, scale: float, y: float, height: float, color: str
) -> str:
    left, right = _x(start, scale), _x(start + value, scale)
    return (
        f'<rect x="{left:.1f}" y="{y:.1f}" width="{right - left:.1f}" height="{height}" '
        f'style="fill:var(--{color})"/>'
    )


def _missing(y: float) -> str:
    return _text(_NAMES + 6, y + _BAR - 4, "not measured")


def _name(name: str, y: float) -> str:
    short = name if len(name) <= 34 else name[:16] + "…" + name[-17:]
    return f'<text x="{_NAMES - 10}" y="{y + 3:.1f}" text-anchor="end">{escape(short)}</text>'


def _text(x: float, y: float, text: str) -> str:
    return f'<text class="value" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


def _figure(
    title: str,
    series: Sequence[str],
    scale: float,
    height: float,
    parts: Sequence[str],
    spoken: Sequence[tuple[str, Sequence[tuple[str, float]]]],
) -> Markup:
    said = "; ".join(
        f"{name}: " + ", ".join(f"{what} {value:.1%}" for what, value in values)
        for name, values in spoken
    )
    step = _step(scale)
    ticks = "".join(_tick(step * i, scale, height) for i in range(round(scale / step) + 1))
    return Markup(
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {height:g}" role="img" '
        f'aria-label="{escape(title)}. {escape(said)}">'
        f"{_legend(series)}{ticks}{''.join(parts)}</svg>"
    )


def _tick(value: float, scale: float, height: float) -> str:
    x = _x(value, scale)
    return (
        f'<line class="tick" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 6}" y2="{height - 18:g}"/>'
        f'<text class="value" x="{x:.1f}" y="{height - 4:g}" text-anchor="middle">'
        f"{value:.0%}</text>"
    )


def _legend(series: Sequence[str]) -> str:
    parts, x = [], 8.0
    for color, name in zip(COLORS, series, strict=False):
        parts.append(
            f'<rect x="{x:.1f}" y="6" width="11" height="11" style="fill:var(--{color})"/>'
            f'<text x="{x + 16:.1f}" y="16">{escape(name)}</text>'
        )
        x += 34 + 6.6 * len(name)
    return "".join(parts)
