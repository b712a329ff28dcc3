"""The HTML report: a folder of pages that open from disk, without a network.

Style, scripts and pictures are part of each page. Equal data gives equal bytes.
"""

import base64
import csv
import hashlib
import io
import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from bindbench.reporting import numbers, views, wording
from bindbench.reporting.data import COLUMNS, SCORE_TRACKS, ReportData, Row, Rows
from bindbench.reporting.kinds import Kinds
from bindbench.reporting.marks import plain
from bindbench.tasks import TRACKS

INDEX = "index.html"


def render_report(data: ReportData) -> dict[str, str]:
    """Return the report's pages, file name -> HTML.

    ``index.html``, a page ``benchmark-<key>.html`` for each benchmark that the data mentions, a
    page ``model-<name>.html`` for each model, and ``kinds.html`` where there are contrastive and
    generative models. Names and captions are escaped.
    """
    scores = views.Scores(data.leaderboard)
    benchmarks = views.benchmarks_of(data)
    links = Links(benchmarks, scores.models)
    shared = {
        "data": data,
        "scores": scores,
        "benchmarks": benchmarks,
        "links": links,
        "kinds": Kinds(data),
    }
    pages = {INDEX: _render(INDEX, shared)}
    if shared["kinds"].comparable:
        pages[links.kinds] = _render("kinds.html", shared)
    for key in benchmarks:
        pages[links.benchmark[key]] = _render("benchmark.html", shared | {"key": key})
    for model in scores.models:
        pages[links.model[model]] = _render("model.html", shared | {"model": model})
    return pages


class Links:
    """The file names of the pages."""

    def __init__(self, benchmarks: Sequence[str], models: Sequence[str]) -> None:
        self.kinds = "kinds.html"
        self.benchmark = file_names("benchmark", benchmarks)
        self.model = file_names("model", models)


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
    text = io.StringIO()
    columns = views.distinct((key for row in rows for key in row), COLUMNS[name])
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return (
        "data:text/csv;charset=utf-8;base64," + base64.b64encode(text.getvalue().encode()).decode()
    )


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
