"""Figures of scores: the effect of context, Swap against Confusion, errors, words."""

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from bindbench.reporting import svg, views
from bindbench.reporting.data import Row, Rows
from bindbench.reporting.numbers import measured, percent, points
from bindbench.reporting.svg import COLORS, SHAPES, TOP, x_of
from bindbench.reporting.wording import TASK_TITLES, TRACKS, title_of
from bindbench.tasks import BENCHMARKS

_LINE, _HEAD = 17, 24  # pixels of a row, and of a heading above some rows
EFFECTS = {"context helps": "blue", "it hurts": "orange", "not told from zero": "gray"}


def arrows(title: str, scores: views.Scores, family: str) -> Markup:
    """Draw an arrow from minimal to contextual accuracy for each benchmark and real model.

    Blue: context helps; orange: it hurts; gray: the interval of the difference holds zero.
    """
    parts, said, y = [svg.legend(tuple(EFFECTS), tuple(EFFECTS.values()))], [], float(TOP + 8)
    for key, lines in _effects(scores, family):
        parts.append(svg.text(4, y + 10, title_of(key), ""))
        y += _HEAD - 6
        for model, before, after, effect in lines:
            parts.append(svg.name(model, y + 10) + _arrow(before, after, effect, y + 6))
            move = f"{percent(before['accuracy'])} to {percent(after['accuracy'])}"
            said.append(f"{title_of(key)}, {model}: {move}")
            y += _LINE
        y += 8
    height = y + svg.BOTTOM
    return svg.figure(title, "; ".join(said), height, svg.ticks(1.0, height) + "".join(parts))


def effect_rows(scores: views.Scores, family: str) -> list[Row]:
    """Return the rows of the leaderboard that ``arrows`` draws."""
    return [row for _, lines in _effects(scores, family) for _, *rows in lines for row in rows]


def _effects(
    scores: views.Scores, family: str
) -> Iterator[tuple[str, list[tuple[str, Row, Row, Row]]]]:
    """Yield each benchmark with every model's rows: minimal, contextual and their difference."""
    for key in scores.benchmarks:
        lines = []
        for model in scores.real_models:
            tracks = ("minimal", "contextual", "difference")
            pairs = [scores.pair(model, key, track, "paired", family) for track in tracks]
            rows = [pair.strict for pair in pairs]
            if all(row is not None and measured(row["accuracy"]) for row in rows):
                lines.append((model, *[row for row in rows if row is not None]))
        if lines:
            yield key, lines


def _arrow(before: Row, after: Row, effect: Row, y: float) -> str:
    low, high = effect["low"], effect["high"]
    known = measured(low) and measured(high)
    color = "blue" if known and low > 0 else "orange" if known and high < 0 else "gray"
    start, end = x_of(before["accuracy"], 1.0), x_of(after["accuracy"], 1.0)
    way = 1 if end >= start else -1
    head = "" if abs(end - start) < 1 else (
        f'<polygon points="{end:.1f},{y:.1f} {end - 7 * way:.1f},{y - 4:.1f} '
        f'{end - 7 * way:.1f},{y + 4:.1f}" style="fill:var(--{color})"/>'
    )  # fmt: skip
    tail = f'<circle cx="{start:.1f}" cy="{y:.1f}" r="3" style="fill:var(--{color})"/>'
    label = svg.text(max(start, end) + 8, y + 4, points(effect["accuracy"]))
    return svg.line(start, y, end - 4 * way if head else end, y, color, 2) + tail + head + label


def scatter(title: str, scores: views.Scores, track: str) -> Markup:
    """Draw strict accuracy on Confusion against that on Swap: models by color, tasks by shape.

    Of more models than colors the first are drawn.
    """
    left, top, side = 70, TOP + 40, 480
    parts = [svg.legend(scores.real_models[: len(COLORS)]), _shape_key()]
    for i in range(6):
        at, said = i / 5 * side, f"{i / 5:.0%}"
        parts.append(svg.line(left, top + side - at, left + side, top + side - at, "line", 1))
        parts.append(svg.line(left + at, top, left + at, top + side, "line", 1))
        parts.append(svg.text(left - 8, top + side - at + 4, said, anchor="end"))
        parts.append(svg.text(left + at, top + side + 16, said, anchor="middle"))
    parts.append(svg.line(left, top + side, left + side, top, "gray", 1))
    parts.append(svg.text(left + side / 2, top + side + 34, "Swap", "", "middle"))
    parts.append(svg.text(left, top - 8, "Confusion", "", "middle"))
    spoken = []
    for key, model, swap, confusion in _gaps(scores, track):
        x, y = left + swap["accuracy"] * side, top + (1 - confusion["accuracy"]) * side
        color = COLORS[scores.real_models.index(model)]
        task = list(TASK_TITLES).index(BENCHMARKS[key].task.name)
        said = f"{title_of(key)}, {model}: Swap {percent(swap['accuracy'])}, Confusion " + percent(
            confusion["accuracy"]
        )
        mark = svg.point(x, y, color, SHAPES[task], hollow=BENCHMARKS[key].n > 2)
        parts.append(Markup("<g><title>{}</title>{}</g>").format(said, Markup(mark)))
        spoken.append(said)
    return svg.figure(title, "; ".join(spoken), top + side + 44, "".join(parts))


def gap_rows(scores: views.Scores, track: str) -> list[Row]:
    """Return the rows of the leaderboard that ``scatter`` draws."""
    return [row for _, _, *rows in _gaps(scores, track) for row in rows]


def _gaps(scores: views.Scores, track: str) -> Iterator[tuple[str, str, Row, Row]]:
    for key, cells in scores.gaps(track):
        for model, (swap, confusion) in zip(scores.real_models[: len(COLORS)], cells, strict=False):
            if swap is not None and confusion is not None:
                known = measured(swap["accuracy"]) and measured(confusion["accuracy"])
                if known and key in BENCHMARKS:
                    yield key, model, swap, confusion


def _shape_key() -> str:
    parts, x = [], 14.0
    for shape, words in zip(SHAPES, TASK_TITLES.values(), strict=True):
        parts.append(svg.point(x, 34, "soft", shape) + svg.text(x + 12, 38, words, ""))
        x += 40 + 6.6 * len(words)
    parts.append(svg.point(x, 34, "soft", "circle", hollow=True) + svg.text(x + 12, 38, "N=3", ""))
    return "".join(parts)


def dots(title: str, rows: Rows, group: str, item: str, models: Sequence[str]) -> Markup:
    """Draw accuracies with intervals: a line for each value of ``item``, models by color.

    Args:
        title: of the figure.
        rows: with ``model``, ``accuracy``, ``low``, ``high`` and ``chance``.
        group: the column by whose values the lines are grouped.
        item: the column that names a line.
        models: by color, in this order; there are as many as colors at most.
    """
    parts, said, y = [svg.legend(models)], [], float(TOP + 8)
    for heading in views.distinct(row[group] for row in rows):
        here = views.select(rows, **{group: heading})
        parts.append(svg.text(4, y + 10, _title(heading), ""))
        y += _HEAD - 6
        for words in views.distinct(row[item] for row in here):
            own = [row for row in views.select(here, **{item: words}) if measured(row["accuracy"])]
            parts.append(svg.name(words, y + 4 + 5 * len(models) / 2))
            for row in own:
                place = models.index(row["model"])
                parts.append(_dot(row, y + 5 * place + 3, COLORS[place]))
                said.append(f"{words}, {row['model']} {percent(row['accuracy'])}")
            y += max(_LINE, 5 * len(models) + 6)
        y += 8
    height = y + svg.BOTTOM
    return svg.figure(title, "; ".join(said), height, svg.ticks(1.0, height) + "".join(parts))


def _title(heading: str) -> str:
    return TRACKS.get(heading) or title_of(heading)


def _dot(row: Row, y: float, color: str) -> str:
    x, whisker = x_of(row["accuracy"], 1.0), ""
    if measured(row["low"]) and measured(row["high"]):
        whisker = svg.line(x_of(row["low"], 1.0), y, x_of(row["high"], 1.0), y, color, 1.5)
    return whisker + f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" style="fill:var(--{color})"/>'
