"""ConMe's report: one page that opens from disk, without a network.

The paper's Tables 1 to 3 and Figures 3 and 4 for the models at hand, what is known of the quality
of the samples, and samples to look at. Equal inputs give equal bytes.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from markupsafe import Markup

from bindbench.analysis.resampling import Estimate
from bindbench.conme.results import FINAL, mean
from bindbench.conme.settings import WORDING
from bindbench.conme.verification import Verified
from bindbench.reporting.charts import COLORS, Bar, bars
from bindbench.reporting.report import environment

PAGE = "conme.html"
Row = Mapping[str, Any]
STAGE_NAMES = {
    "source": "Source benchmark",
    "round_1": "Iteration 1",
    "round_1_kept": "Iteration 1, filtered",
    "round_2": "Iteration 2",
    "round_2_kept": "Iteration 2, filtered",
}
READING_NAMES = {
    "generate": "generate",
    "letter": "likelihood of the letter",
    "text": "likelihood of the text, sum",
    "text_mean": "likelihood of the text, mean",
    "vqa": "VQAScore",
    "blind": "without the image",
}
PARTS = {"target": "target", "strong": "strong model", "unseen": "unseen"}
FIGURES = {"topics": "Figure 3", "formats": "Figure 4"}


@dataclass(frozen=True)
class Shown:
    """A sample of the gallery."""

    image: bytes | None  # PNG, small
    question: str
    answer: str
    negative: str
    place: str  # the set and the panel
    missed: Sequence[str]  # models that are not right in both orders


@dataclass(frozen=True)
class Overall:
    """A model over all sets of a panel (Table 2)."""

    panel: str
    model: str
    part: str
    source: Estimate | None
    final: Estimate | None
    without: Estimate | None
    verified: Estimate | None
    drop: float | None


def render_report(
    title: str,
    rows: Sequence[Row],
    verified: Mapping[tuple[str, str], Verified],
    gallery: Sequence[Shown],
) -> dict[str, str]:
    """Return the page, file name -> HTML. Names, questions and answers are escaped.

    Args:
        title: stands at the top.
        rows: of the asset ``conme_results``.
        verified: what people found, by set and panel.
        gallery: samples to look at.
    """
    details = [row for row in rows if row["details"]]
    context = {
        "data": SimpleNamespace(title=title),
        "home": PAGE,
        "counts": counts(rows),
        "overall": overall(rows, verified),
        "accuracies": accuracies(rows),
        "final": [row for row in rows if row["stage"] == FINAL and row["n"]],
        "blind": blind(rows),
        "details": [{**row, "details": _parsed(row)} for row in details],
        "sets": list({(r["set"], r["panel"]): _parsed(r) for r in details}.items()),
        "verified": verified,
        "figures": figures(details),
        "figure_names": FIGURES,
        "gallery": gallery,
        "stages": STAGE_NAMES,
        "readings": READING_NAMES,
        "parts": PARTS,
        "wording": WORDING,
    }
    return {PAGE: environment().get_template(PAGE).render(context)}


def _parsed(row: Row) -> dict[str, Any]:
    return json.loads(row["details"])


def counts(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return how many samples each set has at each stage, by panel (Table 1)."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        key = row["set"], row["panel"]
        own = found.setdefault(key, {"set": key[0], "panel": key[1]})
        own[row["stage"]] = row["n"]
    return list(found.values())


def accuracies(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return each model's accuracy at every stage, by set, panel and reading (Table 3)."""
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in rows:
        names = {k: row[k] for k in ("panel", "model", "part", "set", "reading")}
        own = found.setdefault(tuple(names.values()), names | {"stages": {}, "between": None})
        own["stages"][row["stage"]] = row if row["n"] else None
        if row["stage"] == FINAL:
            own["between"] = row["between"]
    return list(found.values())


def blind(rows: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    """Return how well each model does on the final set without the image, by set and panel."""
    found: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        if (row["stage"], row["reading"]) == (FINAL, "blind") and row["n"]:
            found[row["set"], row["panel"]].append(row)
    return found


def overall(rows: Sequence[Row], verified: Mapping[tuple[str, str], Verified]) -> list[Overall]:
    """Return each model's mean over the sets of a panel, in its first reading (Table 2)."""
    groups: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    first: dict[tuple[str, str], str] = {}
    for row in rows:
        reading = first.setdefault((row["panel"], row["model"]), row["reading"])
        if row["reading"] == reading:
            groups[row["panel"], row["model"], row["part"]].append(row)
    out = []
    for (panel, model, part), own in groups.items():
        source, final = (_mean(own, "accuracy", stage) for stage in ("source", FINAL))
        checked = [
            pair[1].accuracy
            for row in own
            if row["stage"] == FINAL and (said := verified.get((row["set"], panel)))
            if (pair := said.accuracy.get(model)) and pair[1]
        ]
        out.append(
            Overall(
                panel,
                model,
                part,
                source,
                final,
                _mean(own, "without", FINAL),
                mean(checked),
                final.value - source.value if final and source else None,
            )
        )
    return out


def _mean(rows: Sequence[Row], rate: str, stage: str) -> Estimate | None:
    chosen = [row for row in rows if row["stage"] == stage and row[rate] is not None]
    return mean(
        [
            Estimate(row[rate], row[f"{rate}_low"], row[f"{rate}_high"], row["n"], row["n"])
            for row in chosen
        ]
    )


def figures(details: Sequence[Row]) -> dict[tuple[str, str, str], list[Markup]]:
    """Return error rates by category and model, by taxonomy, set and panel (Figures 3 and 4)."""
    groups: dict[tuple[str, str, str], dict[str, Any]] = defaultdict(dict)
    for row in details:
        for taxonomy, found in _parsed(row)["categories"].items():
            groups[taxonomy, row["set"], row["panel"]][row["model"]] = found["errors"]
    return {key: _charts(key, models) for key, models in groups.items()}


def _charts(key: tuple[str, str, str], models: Mapping[str, Any]) -> list[Markup]:
    """Return one chart for as many models as there are colors."""
    names, (taxonomy, where, panel) = list(models), key
    categories = list(dict.fromkeys(c for own in models.values() for c in own))
    sizes = {c: next(own[c]["n"] for own in models.values() if c in own) for c in categories}
    charts = []
    for start in range(0, len(names) if categories else 0, len(COLORS)):
        part = names[start : start + len(COLORS)]
        charts.append(
            bars(
                f"{FIGURES.get(taxonomy, taxonomy)}. Error rate by {taxonomy}: {where}, {panel}",
                part,
                [
                    (f"{c} ({sizes[c]})", [_bar(models[name].get(c)) for name in part])
                    for c in categories
                ],
            )
        )
    return charts


def _bar(found: Mapping[str, float] | None) -> Bar | None:
    return None if found is None else Bar(found["rate"], found["rate_low"], found["rate_high"])
