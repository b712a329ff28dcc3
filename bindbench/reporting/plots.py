"""Plots as PNG or SVG: of the survival, of the mix of labels, and of the leaderboard.

Equal rows give equal bytes: no date is written, and the ids of an SVG come from a fixed salt.
The colors (Okabe and Ito) can be told apart by color-blind readers.
"""

import io
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from bindbench.reporting import views
from bindbench.reporting.data import SEMANTICS, Rows
from bindbench.reporting.numbers import percent
from bindbench.reporting.samples import CHECKS
from bindbench.reporting.wording import CHECKS as CHECK_TITLES
from bindbench.reporting.wording import FAMILIES, TRACKS, title_of

Format = Literal["png", "svg"]
BLUE, ORANGE, GREEN, SKY, RED, GRAY = (
    *("#0072b2", "#e69f00", "#009e73", "#56b4e9", "#d55e00", "#9aa1aa"),
)
_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "bindbench",
    "svg.fonttype": "path",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
}


def survival_funnel(rows: Rows, benchmark: str, format: Format = "png") -> bytes:
    """Draw the share of all concepts that is still in after each check, for each track."""
    tracks = views.distinct(row["track"] for row in views.select(rows, benchmark=benchmark))
    with mpl.rc_context(_STYLE):
        figure, axes = _axes(3.2 * max(1, len(tracks)), 2.2, max(1, len(tracks)))
        for ax, track in zip(axes, tracks, strict=False):
            _funnel(ax, rows, benchmark, track)
        figure.suptitle(title_of(benchmark), x=0.02, ha="left")
        return _save(figure, format)


def _funnel(ax: Axes, rows: Rows, benchmark: str, track: str) -> None:
    for y, (check, row) in enumerate(views.funnel(rows, benchmark, track)):
        if row is None or row["share_of_all"] is None:
            ax.text(0.5, y, "not run", ha="center", va="center", color=GRAY)
            continue
        share = row["share_of_all"]
        color = GREEN if check == "accepted" else BLUE
        ax.barh(y, share, left=(1 - share) / 2, color=color, height=0.75)
        ax.text(1.03, y, f"{row['passed']}  {percent(share)}", va="center")
    ax.set_yticks(range(len(CHECKS)), [CHECK_TITLES[check] for check in CHECKS])
    ax.set(
        xlim=(0, 1.35), xticks=[], ylim=(len(CHECKS) - 0.5, -0.5), title=TRACKS.get(track, track)
    )
    ax.spines[["left", "bottom"]].set_visible(False)
    ax.tick_params(left=False)


def label_distribution(
    shares: Mapping[str, float],
    target: Mapping[str, float],
    low: Mapping[str, float] | None = None,
    high: Mapping[str, float] | None = None,
    title: str = "Labels among the accepted images",
    format: Format = "png",
) -> bytes:
    """Draw the share of each label against its target.

    Args:
        shares: label -> share of the validated mentions.
        target: label -> share of the prior; its order is the order of the bars.
        low: label -> lower bound of what luck alone gives.
        high: its upper bound.
        title: above the plot.
        format: of the picture.
    """
    names = views.distinct((*target, *shares))
    with mpl.rc_context(_STYLE):
        figure, axes = _axes(max(3.5, 0.32 * len(names) + 1), 2.8)
        ax = axes[0]
        ax.bar(range(len(names)), [shares.get(n, 0.0) for n in names], color=SKY, label="accepted")
        for x, name in enumerate(names):
            if low is not None and high is not None and name in low and name in high:
                ax.vlines(x, low[name], high[name], color=GRAY, linewidth=6, alpha=0.6)
            ends = (x - 0.4, x + 0.4)
            ax.plot(ends, [target.get(name, 0.0)] * 2, color="black", label=None if x else "target")
        if low is not None and high is not None:
            ax.plot([], [], color=GRAY, linewidth=6, alpha=0.6, label="by luck")
        ax.set_xticks(range(len(names)), names, rotation=60, ha="right")
        ax.set(title=title, ylabel="share of mentions")
        ax.legend(frameon=False, ncols=3, fontsize=8)
        return _save(figure, format)


def leaderboard_bars(
    rows: Rows,
    benchmark: str,
    track: str = "minimal",
    subset: str = "all",
    format: Format = "png",
) -> bytes:
    """Draw a benchmark's accuracies: strict beside paper, with intervals, chance and ceiling."""
    scores = views.Scores(views.select(rows, benchmark=benchmark))
    families = [f for f in scores.families(benchmark) if f != "confusion_no_count"]
    with mpl.rc_context(_STYLE):
        size = (3.6 * max(1, len(families)) + 0.8, 0.5 * len(scores.models) + 1.4)
        figure, axes = _axes(*size, max(1, len(families)))
        for ax, family in zip(axes, families, strict=False):
            pairs = [scores.pair(m, benchmark, track, subset, family) for m in scores.models]
            _bars(ax, pairs, scores.models if ax is axes[0] else [""] * len(pairs))
            ax.set_title(FAMILIES.get(family, family))
        if families:
            handles, labels = axes[0].get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
        figure.suptitle(
            f"{title_of(benchmark)}, {TRACKS.get(track, track).lower()}", x=0.02, ha="left"
        )
        return _save(figure, format)


def _bars(ax: Axes, pairs: Sequence[views.Pair], names: Sequence[str]) -> None:
    """Draw one family: two bars for each model; a missing score is said to be missing."""
    for mode, color, shift in zip(SEMANTICS, (BLUE, ORANGE), (-0.19, 0.19), strict=True):
        for y, pair in enumerate(pairs):
            row = getattr(pair, mode)
            if row is None or row["accuracy"] is None:
                ax.text(
                    0.01, y + shift, f"{mode}: not measured", va="center", color=GRAY, fontsize=7
                )
                continue
            ax.barh(y + shift, row["accuracy"], height=0.36, color=color)
            if row["low"] is not None and row["high"] is not None:
                ax.hlines(y + shift, row["low"], row["high"], color="black", linewidth=1.2)
            ends = (y + shift - 0.18, y + shift + 0.18)
            if row["chance"] is not None:
                ax.vlines(row["chance"], *ends, color=RED, linewidth=1.8)
            if row["ceiling"] is not None:
                ax.vlines(row["ceiling"], *ends, color="black", linewidth=1.5, linestyle=":")
        ax.barh([0], [0], height=0, color=color, label=mode)
    ax.plot([], [], color=RED, label="chance")
    ax.plot([], [], color="black", linestyle=":", label="ceiling")
    ax.set_yticks(range(len(pairs)), names)
    ax.set(xlim=(0, 1), ylim=(len(pairs) - 0.5, -0.5))
    ax.set_xticks((0, 0.25, 0.5, 0.75, 1), ("0%", "25%", "50%", "75%", "100%"))


def _axes(width: float, height: float, columns: int = 1) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)  # never a window
    return figure, [figure.add_subplot(1, columns, i + 1) for i in range(columns)]


def _save(figure: Figure, format: Format) -> bytes:
    out = io.BytesIO()
    metadata = {"Date": None} if format == "svg" else {"Software": None}
    figure.savefig(out, format=format, dpi=110, metadata=metadata)
    return out.getvalue()
