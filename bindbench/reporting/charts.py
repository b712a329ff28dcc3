"""Figures of horizontal bars: beside each other, or one after the other."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from bindbench.reporting import svg
from bindbench.reporting.svg import COLORS, NAMES, TOP

__all__ = ["COLORS", "Bar", "Row", "bars", "stacks"]
_BAR, _GAP = 13, 14


@dataclass(frozen=True)
class Bar:
    """One value between 0 and 1, with its interval if there is one."""

    value: float
    low: float | None = None
    high: float | None = None


Row = tuple[str, Sequence[Bar | None]]  # a name, and the value of each series


def bars(title: str, series: Sequence[str], rows: Sequence[Row]) -> Markup:
    """Draw a bar for each row and series, one below the other."""
    height = TOP + sum(len(series) * _BAR + _GAP for _ in rows) + svg.BOTTOM
    scale = svg.scale_end(max((_end(bar) for _, values in rows for bar in values), default=0))
    parts, y = [], float(TOP)
    for name, values in rows:
        parts.append(svg.name(name, y + len(series) * _BAR / 2 + 3))
        for color, bar in zip(COLORS, values, strict=False):
            missing = svg.text(NAMES + 6, y + _BAR - 4, "not measured")
            parts.append(missing if bar is None else _bar(bar, scale, y, color))
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
    height = TOP + len(rows) * (2 * _BAR + _GAP) + svg.BOTTOM
    scale = svg.scale_end(max((sum(values) for _, values in rows), default=0))
    parts, y = [], float(TOP)
    for name, values in rows:
        parts.append(svg.name(name, y + _BAR + 3))
        start = 0.0
        for color, value in zip(COLORS, values, strict=False):
            parts.append(_rectangle(start, value, scale, y, 2 * _BAR - 3, color))
            start += value
        parts.append(svg.text(svg.x_of(start, scale) + 6, y + _BAR + 3, f"{start:.1%}"))
        y += 2 * _BAR + _GAP
    spoken = [(name, list(zip(series, values, strict=True))) for name, values in rows]
    return _figure(title, series, scale, height, parts, spoken)


def _end(bar: Bar | None) -> float:
    return 0.0 if bar is None else max(bar.value, bar.high or 0.0)


def _bar(bar: Bar, scale: float, y: float, color: str) -> str:
    end = svg.x_of(_end(bar), scale)
    whisker = ""
    if bar.low is not None and bar.high is not None:
        middle = y + (_BAR - 3) / 2
        whisker = svg.line(svg.x_of(bar.low, scale), middle, svg.x_of(bar.high, scale), middle)
    label = svg.text(end + 6, y + _BAR - 4, f"{bar.value:.1%}")
    return _rectangle(0, bar.value, scale, y, _BAR - 3, color) + whisker + label


def _rectangle(
    start: float, value: float, scale: float, y: float, height: float, color: str
) -> str:
    left, right = svg.x_of(start, scale), svg.x_of(start + value, scale)
    return svg.rectangle(left, y, right - left, height, color)


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
    body = svg.legend(series) + svg.ticks(scale, height) + "".join(parts)
    return svg.figure(title, said, height, body)
