"""The report's figures, each with its rows: shown on the pages, and to download."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from markupsafe import Markup

from bindbench.reporting import charts, figure_scores, figure_sets, views
from bindbench.reporting.data import COLUMNS, ReportData, Row, Rows
from bindbench.reporting.downloads import csv_text
from bindbench.reporting.svg import COLORS, standalone
from bindbench.reporting.wording import ERRORS, FAMILIES, MEASURES, TRACKS, title_of
from bindbench.tasks import TRACKS as TRACK_NAMES


@dataclass(frozen=True)
class Figure:
    """A figure with the rows that it draws."""

    name: str
    section: str
    title: str
    note: str
    svg: Markup
    rows: Rows
    columns: tuple[str, ...]
    glance: bool = False  # whether the overview shows it too

    @property
    def file(self) -> str:
        """Where it lies in the report's folder, without its ending."""
        return f"figures/{self.name}"


def figure_files(figures: list[Figure]) -> Iterator[tuple[str, bytes]]:
    """Yield each figure as SVG and its rows as CSV, path in the report's folder and content."""
    for figure in figures:
        yield f"{figure.file}.svg", standalone(figure.svg)
        yield f"{figure.file}.csv", csv_text(figure.rows, figure.columns).encode()


def figures_of(data: ReportData) -> list[Figure]:
    """Return the figures whose rows there are."""
    scores = views.Scores(data.leaderboard)
    makers: tuple[Callable[[ReportData, views.Scores], Iterator[Figure]], ...] = (
        *(_context, _gap, _survival, _shift, _labels, _errors, _words),
    )
    return [figure for make in makers for figure in make(data, scores) if figure.rows]


def _context(data: ReportData, scores: views.Scores) -> Iterator[Figure]:
    for family in ("swap", "confusion"):
        title = f"From minimal to contextual captions: {FAMILIES[family]}"
        yield Figure(
            f"context-{family}",
            "Effect of context",
            title,
            "Strict accuracy on the paired set, as in Auto-Comp's Table 6. The number is the "
            "difference in points.",
            figure_scores.arrows(title, scores, family),
            figure_scores.effect_rows(scores, family),
            COLUMNS["leaderboard"],
            glance=family == "swap",
        )


def _gap(data: ReportData, scores: views.Scores) -> Iterator[Figure]:
    for track in TRACK_NAMES:
        title = f"Swap against Confusion: {TRACKS[track].lower()} captions"
        yield Figure(
            f"scatter-{track}",
            "Swap against Confusion",
            title,
            "Strict accuracy. Below the diagonal swapped words mislead a model less than repeated "
            f"ones. Hollow: three objects. At most {len(COLORS)} models are drawn.",
            figure_scores.scatter(title, scores, track),
            figure_scores.gap_rows(scores, track),
            COLUMNS["leaderboard"],
            glance=track == TRACK_NAMES[0],
        )


def _survival(data: ReportData, scores: views.Scores) -> Iterator[Figure]:
    title = "What is left after each check"
    yield Figure(
        "survival",
        "Survival",
        title,
        "Share of all concepts. An image stops at the first check that it fails.",
        figure_sets.funnels(title, data.survival, views.benchmarks_of(data)),
        data.survival,
        COLUMNS["survival"],
    )


def _shift(data: ReportData, scores: views.Scores) -> Iterator[Figure]:
    for measure in ("label_tv", "object_tv", "pair_tv"):
        title = f"Filter shift. {MEASURES[measure]} from the target"
        yield Figure(
            f"shift-{measure.replace('_', '-')}",
            "Filter shift",
            title,
            "0 is the target's mix, 1 has nothing in common with it. Inside the band no shift was "
            "found.",
            figure_sets.shift_bars(title, data.shift, measure, views.benchmarks_of(data)),
            views.select(data.shift, measure=measure),
            COLUMNS["shift"],
        )


def _labels(data: ReportData, scores: views.Scores) -> Iterator[Figure]:
    for key in views.distinct(row["benchmark"] for row in data.label_shares):
        rows = views.select(data.label_shares, benchmark=key)
        title = f"Labels against their target: {title_of(key)}"
        yield Figure(
            f"labels-{key}",
            "Labels",
            title,
            "Share of the label mentions in accepted images. The band holds 95% of what so many "
            "draws from the target give.",
            figure_sets.label_bars(title, rows, TRACK_NAMES),
            rows,
            COLUMNS["label_shares"],
        )


def _errors(data: ReportData, scores: views.Scores) -> Iterator[Figure]:
    for track in TRACK_NAMES:
        rows = [
            row
            for row in views.select(data.error_families, track=track)
            if row["share"] is not None and row["model"] in scores.real_models
        ]
        families = views.distinct((row["family"] for row in rows), list(ERRORS))
        title = f"Error families: {TRACKS[track].lower()} captions"
        yield Figure(
            f"errors-{track}",
            "Error families",
            title,
            "Which family of wrong captions each model's errors on Confusion fall to, strict.",
            charts.stacks(title, [ERRORS[family] for family in families], _stacked(rows, families)),
            rows,
            COLUMNS["error_families"],
        )


def _stacked(rows: list[Row], families: list[str]) -> list[tuple[str, list[float]]]:
    """Return the parts of each benchmark and model; a family that it doesn't know has none."""
    lines = views.distinct((row["benchmark"], row["model"]) for row in rows)
    found = {(row["benchmark"], row["model"], row["family"]): row["share"] for row in rows}
    return [
        (f"{title_of(key)}, {model}", [found.get((key, model, name), 0.0) for name in families])
        for key, model in lines
    ]


def _words(data: ReportData, scores: views.Scores) -> Iterator[Figure]:
    models = scores.real_models[: len(COLORS)]
    for key in views.distinct(row["benchmark"] for row in data.by_label):
        rows = [
            row
            for row in views.select(
                data.by_label, benchmark=key, track=TRACK_NAMES[0], slice="label"
            )
            if row["model"] in models
        ]
        title = f"By color or relation: {title_of(key)}"
        yield Figure(
            f"words-{key}",
            "By color and relation",
            title,
            "Strict accuracy on Swap of the items that mention the word, minimal captions, with "
            f"intervals. At most {len(COLORS)} models are drawn.",
            figure_scores.dots(title, rows, "track", "word", models),
            rows,
            COLUMNS["by_label"],
        )
