"""InstaBind's report: pages that open from disk, without a network.

The paper's Tables II to VII and Figures 1, 2, 3 and 5 for the models at hand, and misbindings with
the boxes of target and source. Equal inputs give equal bytes.
"""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from markupsafe import Markup

from bindbench.instabind.annotations import Annotations
from bindbench.instabind.conditions import FULL
from bindbench.instabind.metrics import Metrics
from bindbench.instabind.outputs import Outputs
from bindbench.instabind.questions import LEVELS, Question
from bindbench.instabind.report_data import ERRORS, Findings, findings, statistics, subjects
from bindbench.instabind.report_gallery import PictureOf, misbindings
from bindbench.instabind.report_words import ERROR_NAMES, MEASURES, RATES, SETTINGS, SLICES, TERMS
from bindbench.reporting.charts import Bar, Row, bars, stacks
from bindbench.reporting.report import environment, file_names


def render_report(
    title: str,
    annotations: Annotations,
    questions: Mapping[str, Question],
    outputs: Mapping[tuple[str, str], Outputs],
    picture: PictureOf | None = None,
    name: str = "instabind",
) -> dict[str, str]:
    """Return the pages, file name -> HTML: ``<name>.html``, and one for each model.

    A model that answers as a choice of the group's values is shown apart from the same model in
    free text. Names, questions and answers are escaped.

    Args:
        title: stands at the top of every page.
        annotations: the images with their groups.
        questions: by id, of these annotations.
        outputs: the answers, by the model's name in the report and the setting.
        picture: returns the PNG or JPEG of an image id, or None; it is asked for a few images.
            Without it, misbindings are shown as their boxes.
        name: of the first page, and before the names of the others.

    Raises:
        UserError: a picture can't be read.
    """
    found = [findings(subject, annotations) for subject in subjects(questions, outputs)]
    names = [one.subject.name for one in found]
    gallery = {
        one.subject.name: list(misbindings(one.subject, annotations, questions, picture))
        for one in found
    }
    home = f"{name}.html"
    shared = {
        "data": SimpleNamespace(title=title),
        "home": home,
        "links": file_names(name, names),
        "findings": found,
        "full": [one for one in found if one.full is not None],
        "figures": _figures(found),
        "gallery": gallery,
        "statistics": statistics(annotations, questions),
        "levels": LEVELS,
        "rates": RATES,
        "errors": ERROR_NAMES,
        "settings": SETTINGS,
        "terms": TERMS,
        "slices": SLICES,
        "measures": MEASURES,
    }
    pages = {home: _render("instabind.html", shared)}
    for one in found:
        own = {"found": one, "shown": gallery[one.subject.name]}
        pages[shared["links"][one.subject.name]] = _render("instabind_model.html", shared | own)
    return pages


def _render(template: str, context: dict[str, Any]) -> str:
    return environment().get_template(template).render(context)


def _figures(found: Sequence[Findings]) -> dict[str, Markup]:
    """Return the paper's figures by what they show."""
    full = [(one.subject.name, one, one.full) for one in found if one.full is not None]
    far = max((max(map(int, m.distance_counts), default=1) for _, _, m in full), default=1)
    names = [SETTINGS[FULL], *_localized(found).values()]
    return {
        "models": bars(
            "Figure 1. Accuracy, misbinding and out-of-set answers on the full image",
            ("accuracy", "misbinding (MBR)", "out of set"),
            [
                (name, [_rate(m, rate) for rate in ("accuracy", "mbr", "out_of_set_rate")])
                for name, _, m in full
            ],
        ),
        "errors": stacks(
            "Figure 2. Errors on the full image, share of all questions",
            list(ERROR_NAMES.values()),
            [(name, [one.errors[error] for error in ERRORS]) for name, one, _ in full],
        ),
        "distance": bars(
            "Figure 3. Misbindings by the distance of their source, share of all questions",
            [f"distance {d}" for d in range(1, far + 1)],
            [
                (name, [Bar(m.distance_counts.get(str(d), 0) / m.total) for d in range(1, far + 1)])
                for name, _, m in full
            ],
        ),
        "interventions": bars(
            "Figure 5. MBR on the questions that the interventions ask",
            names,
            [_intervened(one, list(_localized(found))) for one in found if one.effects],
        ),
    }


def _rate(found: Metrics, name: str) -> Bar:
    low, high = found.intervals.get(name, (None, None))
    return Bar(getattr(found, name), low, high)


def _localized(found: Sequence[Findings]) -> dict[str, str]:
    """Return the interventions that any model was asked in, with their titles."""
    used = {effect.setting for one in found for effect in one.effects}
    return {name: title for name, title in SETTINGS.items() if name in used}


def _intervened(one: Findings, settings: Sequence[str]) -> Row:
    by_setting = {effect.setting: _rate(effect.other, "mbr") for effect in one.effects}
    full = _rate(one.effects[0].full, "mbr")
    return one.subject.name, [full, *(by_setting.get(setting) for setting in settings)]
