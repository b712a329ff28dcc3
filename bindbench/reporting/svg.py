"""Parts of figures as SVG, in the page's own colors.

Every figure is a text of its own, so that it is read aloud and follows the page's light and dark.
"""

import math
import re
from collections.abc import Sequence

from markupsafe import Markup, escape

COLORS = ("blue", "orange", "green", "gold", "purple", "gray")  # of series, in this order
WIDTH, NAMES, VALUES, TOP = 760, 230, 60, 34  # pixels: the whole, the names on the left, ...
BOTTOM = 22
_LIGHT = {  # as the page's style has them
    "blue": "#0072b2", "orange": "#c25100", "green": "#00795a", "gold": "#b07a00",
    "purple": "#8b4a9c", "gray": "#9aa1aa", "ink": "#1b1e23", "soft": "#5b626c",
    "line": "#e0e0da", "band": "#cfd3d8", "red": "#b3261e", "card": "#ffffff",
}  # fmt: skip
_STYLE = (
    "text{font-family:'DejaVu Sans',Arial,sans-serif;font-size:12px;fill:#1b1e23}"
    ".value{fill:#5b626c;font-size:11px}.tick{stroke:#e0e0da}"
    ".whisker{stroke:#1b1e23;stroke-width:1.5}"
)


def figure(title: str, said: str, height: float, body: str) -> Markup:
    """Return a figure; ``said`` is what it shows, for those who hear it."""
    return Markup(
        f'<svg class="chart" viewBox="0 0 {WIDTH} {height:g}" role="img" '
        f'aria-label="{escape(title)}. {escape(said)}">{body}</svg>'
    )


def standalone(svg: Markup) -> bytes:
    """Return a figure as a file of its own, in the light colors."""
    fixed = re.sub(r"var\(--(\w+)\)", lambda found: _LIGHT[found[1]], str(svg))
    head, _, body = fixed.partition(">")
    head = head.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ')
    paper = '<rect width="100%" height="100%" fill="#ffffff"/>'
    return f"{head}><style>{_STYLE}</style>{paper}{body}\n".encode()


def scale_end(largest: float) -> float:
    """Return where an axis from 0 ends: a whole number of steps."""
    step = scale_step(largest)
    return max(step, math.ceil(largest / step - 1e-9) * step)


def scale_step(largest: float) -> float:
    """Return how far the lines of an axis stand apart."""
    return 0.05 if largest <= 0.25 else 0.1 if largest <= 0.5 else 0.2


def x_of(value: float, scale: float) -> float:
    """Return where a value lies on an axis from 0 to ``scale``."""
    return NAMES + value / scale * (WIDTH - NAMES - VALUES)


def text(x: float, y: float, words: str, style: str = "value", anchor: str = "start") -> str:
    """Return a line of text."""
    css = f'class="{style}" ' if style else ""
    return f'<text {css}x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def name(words: str, y: float) -> str:
    """Return a name to the left of the axis; a long one is cut in its middle."""
    short = words if len(words) <= 34 else words[:16] + "…" + words[-17:]
    return text(NAMES - 10, y, short, "", "end")


def line(x1: float, y1: float, x2: float, y2: float, color: str = "", width: float = 1.5) -> str:
    """Return a line; without a color a whisker."""
    look = f'style="stroke:var(--{color});stroke-width:{width:g}"' if color else 'class="whisker"'
    return f'<line {look} x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1:.1f}" y2="{y2:.1f}"/>'


def rectangle(x: float, y: float, width: float, height: float, color: str) -> str:
    """Return a filled rectangle."""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{height:g}" '
        f'style="fill:var(--{color})"/>'
    )


SHAPES = ("circle", "square", "triangle", "diamond")


def point(x: float, y: float, color: str, shape: str = "circle", hollow: bool = False) -> str:
    """Return a mark; a hollow one has the color of the paper inside."""
    fill = "card" if hollow else color
    look = f'style="fill:var(--{fill});stroke:var(--{color});stroke-width:2"'
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" {look}/>'
    corners = {
        "square": ((-4, -4), (4, -4), (4, 4), (-4, 4)),
        "triangle": ((0, -5.5), (5, 4), (-5, 4)),
        "diamond": ((0, -6), (5.5, 0), (0, 6), (-5.5, 0)),
    }[shape]
    places = " ".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners)
    return f'<polygon points="{places}" {look}/>'


def ticks(scale: float, height: float, percent: bool = True) -> str:
    """Return the lines of the axis below."""
    step = scale_step(scale)
    return "".join(
        tick(x_of(step * i, scale), f"{step * i:.0%}" if percent else f"{step * i:.2g}", height)
        for i in range(round(scale / step) + 1)
    )


def tick(x: float, words: str, height: float) -> str:
    """Return one line of an axis with its number."""
    return (
        f'<line class="tick" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 6}" y2="{height - 18:g}"/>'
        + text(x, height - 4, words, anchor="middle")
    )


def legend(series: Sequence[str], colors: Sequence[str] = COLORS) -> str:
    """Return the names of the series beside their colors."""
    parts, x = [], 8.0
    for color, words in zip(colors, series, strict=False):
        parts.append(rectangle(x, 6, 11, 11, color) + text(x + 16, 16, words, ""))
        x += 34 + 6.6 * len(words)
    return "".join(parts)
