"""Figures of the sets: what is left after each check, and the mix of labels against its target."""

from collections.abc import Sequence

from markupsafe import Markup

from bindbench.reporting import svg, views
from bindbench.reporting.data import Row, Rows
from bindbench.reporting.numbers import measured, percent
from bindbench.reporting.samples import CHECKS
from bindbench.reporting.svg import TOP, WIDTH, x_of
from bindbench.reporting.wording import CHECKS as CHECK_TITLES
from bindbench.reporting.wording import TRACKS, title_of
from bindbench.tasks import TRACKS as TRACK_NAMES

BANDS = {"accepted": "blue", "outside the band": "orange", "by luck alone": "band", "target": "ink"}
_LINE, _HEAD, _NAMES, _GAP = 16, 24, 90, 70  # pixels


def funnels(title: str, rows: Rows, benchmarks: Sequence[str]) -> Markup:
    """Draw the share of all concepts that is still in after each check, one track a column."""
    column = (WIDTH - _NAMES) / len(TRACK_NAMES)
    parts, said, y = [], [], 12.0
    for i, track in enumerate(TRACK_NAMES):
        parts.append(svg.text(_NAMES + (i + 0.42) * column, y, TRACKS[track], "", "middle"))
    for key in benchmarks:
        y += _HEAD
        parts.append(svg.text(4, y, title_of(key), ""))
        y += 8
        for i, track in enumerate(TRACK_NAMES):
            for j, (check, row) in enumerate(views.funnel(rows, key, track)):
                left = _NAMES + i * column
                parts.append(_stage(row, check, left, column - _GAP, y + j * _LINE))
                if row is not None:
                    share = percent(row["share_of_all"])
                    said.append(f"{title_of(key)}, {TRACKS[track]}, {CHECK_TITLES[check]} {share}")
        for j, check in enumerate(CHECKS):
            parts.append(
                svg.text(_NAMES - 8, y + j * _LINE + 11, CHECK_TITLES[check], "value", "end")
            )
        y += len(CHECKS) * _LINE
    return svg.figure(title, "; ".join(said), y + 12, "".join(parts))


def _stage(row: Row | None, check: str, left: float, width: float, y: float) -> str:
    if row is None or not measured(row["share_of_all"]):
        return svg.text(left + width / 2, y + 11, "not run", anchor="middle")
    share = row["share_of_all"]
    color = "green" if check == "accepted" else "blue"
    bar = svg.rectangle(left + (1 - share) / 2 * width, y, share * width, _LINE - 3, color)
    return bar + svg.text(left + width + 4, y + 11, percent(share))


def label_bars(title: str, rows: Rows, tracks: Sequence[str]) -> Markup:
    """Draw each label's share of the accepted mentions over the band that luck alone gives."""
    shown = [row for row in rows if measured(row["share"])]
    largest = max((max(row["share"], row["null_high"]) for row in shown), default=0.1)
    scale = svg.scale_end(largest)
    parts, said, y = [svg.legend(tuple(BANDS), tuple(BANDS.values()))], [], float(TOP + 8)
    for track in tracks:
        here = views.select(shown, track=track)
        if not here:
            continue
        parts.append(svg.text(4, y + 10, TRACKS[track], ""))
        y += _HEAD - 6
        for row in here:
            parts.append(svg.name(row["label"], y + 10) + _label(row, scale, y))
            said.append(f"{TRACKS[track]}, {row['label']} {percent(row['share'])}")
            y += _LINE
        y += 8
    height = y + svg.BOTTOM
    return svg.figure(title, "; ".join(said), height, svg.ticks(scale, height) + "".join(parts))


def _label(row: Row, scale: float, y: float) -> str:
    low, high, share = row["null_low"], row["null_high"], row["share"]
    outside = share < low or share > high
    band = svg.rectangle(x_of(low, scale), y, x_of(high, scale) - x_of(low, scale), 12, "band")
    bar = svg.rectangle(
        x_of(0, scale),
        y + 3,
        x_of(share, scale) - x_of(0, scale),
        6,
        "orange" if outside else "blue",
    )
    target = svg.line(x_of(row["target"], scale), y, x_of(row["target"], scale), y + 12, "ink")
    end = x_of(max(share, high), scale)
    return band + bar + target + svg.text(end + 5, y + 10, percent(share))


def shift_bars(title: str, rows: Rows, measure: str, benchmarks: Sequence[str]) -> Markup:
    """Draw a measure of the filter shift over its null band, for each benchmark and track."""
    shown = [row for row in views.select(rows, measure=measure) if measured(row["value"])]
    ends = (row[name] for row in shown for name in ("value", "null_high") if measured(row[name]))
    scale = svg.scale_end(max(ends, default=0.1))
    parts, said, y = [_shift_key()], [], float(TOP + 8)
    for key in benchmarks:
        for track in TRACK_NAMES:
            row = views.first(shown, benchmark=key, track=track)
            if row is None:
                continue
            words = f"{title_of(key)}, {TRACKS[track].lower()}"
            parts.append(svg.name(words, y + 10) + _shift(row, scale, y))
            said.append(f"{words} {row['value']:.2f}")
            y += _LINE + 2
    height = y + svg.BOTTOM
    body = svg.ticks(scale, height, percent=False) + "".join(parts)
    return svg.figure(title, "; ".join(said), height, body)


def _shift(row: Row, scale: float, y: float) -> str:
    low, high, value = row["null_low"], row["null_high"], row["value"]
    parts = []
    if measured(low) and measured(high):
        width = x_of(high, scale) - x_of(low, scale)
        parts.append(svg.rectangle(x_of(low, scale), y, width, 12, "band"))
    color = "orange" if measured(high) and value > high else "blue"
    if measured(row["sampled"]):
        parts.append(svg.point(x_of(row["sampled"], scale), y + 6, "soft", "circle", hollow=True))
    parts.append(svg.point(x_of(value, scale), y + 6, color))
    ends = [end for end in (value, high) if measured(end)]
    return "".join(parts) + svg.text(x_of(max(ends), scale) + 10, y + 10, f"{value:.2f}")


def _shift_key() -> str:
    return (
        svg.point(14, 12, "blue") + svg.text(26, 16, "accepted images", "")
        + svg.point(144, 12, "orange") + svg.text(156, 16, "above the band", "")
        + svg.point(266, 12, "soft", hollow=True) + svg.text(278, 16, "concepts as sampled", "")
        + svg.rectangle(420, 6, 11, 11, "band") + svg.text(436, 16, "by luck alone", "")
    )  # fmt: skip
