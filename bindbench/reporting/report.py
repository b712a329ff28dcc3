"""The report: a folder of pages, pictures and data that opens from disk, without a network.

Style and scripts are part of each page. Equal data gives equal bytes.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined

from bindbench.reporting import numbers, table_views, views, wording
from bindbench.reporting.data import COLUMNS, FAMILIES, SCORE_TRACKS, ReportData, Row, Rows
from bindbench.reporting.downloads import csv_text
from bindbench.reporting.figures import Figure, figure_files, figures_of
from bindbench.reporting.gallery import gallery_files
from bindbench.reporting.kinds import Kinds
from bindbench.reporting.marks import plain
from bindbench.reporting.methods import numbers_html
from bindbench.reporting.table_views import table_files
from bindbench.tasks import TRACKS

INDEX = "index.html"


def report_files(data: ReportData) -> Iterator[tuple[str, bytes]]:
    """Yield every file of the report, path in its folder and content, the pages first."""
    figures = figures_of(data)
    for name, html in render_report(data, figures).items():
        yield name, html.encode()
    yield from figure_files(figures)
    yield from table_files(data.tables)
    yield from gallery_files(data)


def render_report(data: ReportData, figures: Sequence[Figure] | None = None) -> dict[str, str]:
    """Return the report's pages, file name -> HTML.

    The overview, the leaderboard, figures, quality, gallery, tables and methods; a page
    ``benchmark-<key>.html`` for each benchmark that the data mentions, a page
    ``model-<name>.html`` for each model, and ``kinds.html`` where there are contrastive and
    generative models. Names and captions are escaped.

    Args:
        data: what is shown.
        figures: of the data, if they are known.
    """
    scores, kinds = views.Scores(data.leaderboard), Kinds(data)
    benchmarks = views.benchmarks_of(data)
    links = Links(benchmarks, scores.models)
    site = links.site(kinds.comparable, bool(data.tables))
    shared = {
        "data": data,
        "scores": scores,
        "benchmarks": benchmarks,
        "links": links,
        "kinds": kinds,
        "figures": figures_of(data) if figures is None else figures,
        "site": site,
        "exact": numbers_html(),
    }
    templates: list[tuple[str, str, dict[str, str]]] = [
        (file, TEMPLATES.get(file, file), {}) for file, _ in site
    ]
    templates += [(links.benchmark[key], "benchmark.html", {"key": key}) for key in benchmarks]
    templates += [(links.model[model], "model.html", {"model": model}) for model in scores.models]
    return {
        file: _render(template, shared | own | {"page": file}) for file, template, own in templates
    }


TEMPLATES = {"figures.html": "all_figures.html"}


class Links:
    """The file names of the pages."""

    leaderboard = "leaderboard.html"
    figures = "figures.html"
    kinds = "kinds.html"
    quality = "quality.html"
    gallery = table_views.GALLERY
    tables = "tables.html"
    methods = "methods.html"

    def __init__(self, benchmarks: Sequence[str], models: Sequence[str]) -> None:
        self.benchmark = file_names("benchmark", benchmarks)
        self.model = file_names("model", models)

    def site(self, kinds: bool, tables: bool) -> list[tuple[str, str]]:
        """Return the pages that stand at the top of every page, with their titles."""
        pages = [
            (INDEX, "Overview", True),
            (self.leaderboard, "Leaderboard", True),
            (self.figures, "Figures", True),
            (self.kinds, "Kinds of models", kinds),
            (self.gallery, "Gallery", True),
            (self.tables, "Tables", tables),
            (self.quality, "Quality", True),
            (self.methods, "Methods", True),
        ]
        return [(file, title) for file, title, there in pages if there]

    def items(self, row: Row) -> str:
        """Return the gallery's address of the items of a row of the leaderboard, or ``""``."""
        if row["family"] not in FAMILIES:  # of one picture, not of two
            return ""
        query = {"benchmark": row["benchmark"], "track": row["track"], "model": row["model"]}
        query |= {"family": row["family"], "paired": "1" if row["set"] == "paired" else ""}
        if row["track"] not in TRACKS:
            del query["track"]
        return f"{self.gallery}#{urlencode({k: v for k, v in query.items() if v})}"


def file_names(kind: str, names: Sequence[str]) -> dict[str, str]:
    """Return a safe, distinct file name for each name, also on file systems that ignore case."""
    slugs = {name: re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") for name in names}
    folded = [slug.lower() for slug in slugs.values()]
    return {
        name: f"{kind}-{slug}.html"
        if slug and folded.count(slug.lower()) == 1
        else f"{kind}-{slug}-{hashlib.sha256(name.encode()).hexdigest()[:8]}.html"
        for name, slug in slugs.items()
    }


def _render(template: str, context: dict[str, Any]) -> str:
    return environment().get_template(template).render(context)


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Return what turns templates into pages, with their filters for numbers."""
    made = Environment(
        loader=PackageLoader("bindbench.reporting", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "percent": numbers.percent,
        "points": numbers.points,
        "decimal": numbers.decimal,
        "count": numbers.count,
        "probability": numbers.probability,
        "raw_score": numbers.raw_score,
        "lead": numbers.lead,
        "plain": plain,
        "png": _png_uri,
        "at": _position,
        "pretty": _pretty,
        "anchor": _anchor,
    }
    made.tests["measured"] = numbers.measured
    made.globals |= {
        "MISSING": numbers.MISSING,
        "TRACKS": TRACKS,
        "SCORE_TRACKS": SCORE_TRACKS,
        "interval": numbers.interval,
        "bounds": numbers.bounds,
        "words": wording,
        "views": views,
        "tables": table_views,
        # 'self' is no file where a page was opened from disk.
        "sources": "'self' file:",
        "csv_of": _csv_uri,
        "glance": _glance,
    }
    return made


def _png_uri(png: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(png).decode()


def _position(value: float) -> str:
    """Return a fraction as a CSS percentage; a picture ends at its edges."""
    return f"{100 * min(max(value, 0.0), 1.0):.2f}%"


def _pretty(settings: Any) -> str:
    return json.dumps(settings, indent=2, sort_keys=True, ensure_ascii=False)


def _csv_uri(rows: Rows, name: str) -> str:
    """Return the rows of one list as a CSV file to download, at full precision."""
    text = csv_text(rows, COLUMNS[name])
    return "data:text/csv;charset=utf-8;base64," + base64.b64encode(text.encode()).decode()


def _anchor(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower())


def _glance(data: ReportData) -> dict[str, Any]:
    """Return the totals at the top of the report."""
    checked = views.select(data.survival, check="presence")
    accepted = views.select(data.survival, check="accepted")
    models = views.models_of(data.leaderboard)
    faulty = [row for row in data.accepted_faulty if row["share"] is not None]
    worst: Row | None = max(faulty, key=lambda row: row["share"], default=None)
    return {
        "checked": sum(row["reached"] for row in checked) if checked else None,
        "accepted": sum(row["passed"] for row in accepted) if accepted else None,
        "models": [name for name in models if name not in wording.CONTROLS],
        "controls": [name for name in models if name in wording.CONTROLS],
        "worst": worst,
    }
