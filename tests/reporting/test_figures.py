"""Figures draw their rows where they are, and can be downloaded with them."""

import csv
import io
import re
import xml.etree.ElementTree as ElementTree

import pytest
from fake_report import MODELS, fake_report

from bindbench.reporting import svg
from bindbench.reporting.data import ReportData
from bindbench.reporting.figures import figure_files, figures_of
from bindbench.reporting.views import Scores
from bindbench.tasks import BENCHMARKS

REAL = MODELS[3:]


@pytest.fixture(scope="module")
def data() -> ReportData:
    return fake_report(samples=1)


@pytest.fixture(scope="module")
def figures(data):
    return {figure.name: figure for figure in figures_of(data)}


def drawn(figure, tag):
    """Return the attributes of a figure's elements of one kind."""
    root = ElementTree.fromstring(str(figure.svg))
    return [element.attrib for element in root.iter(tag)]


def test_every_wanted_figure_is_there_and_nothing_of_an_empty_report(figures):
    assert {"context-swap", "context-confusion", "scatter-minimal", "scatter-contextual"} <= set(
        figures
    )
    assert {"survival", "shift-label-tv", "labels-color-n2", "errors-minimal"} <= set(figures)
    assert {f"words-{key}" for key, b in BENCHMARKS.items() if b.n > 1} <= set(figures)
    assert figures_of(ReportData("t")) == []


def test_an_arrow_leads_from_minimal_to_contextual(data, figures):
    scores, figure = Scores(data.leaderboard), figures["context-swap"]
    starts = [float(c["cx"]) for c in drawn(figure, "circle")]
    wanted = []
    for key in scores.benchmarks[1:]:  # with one object there is no swap
        for model in REAL:
            row = scores.pair(model, key, "minimal", "paired", "swap").strict
            wanted.append(svg.x_of(row["accuracy"], 1.0))
    assert starts == pytest.approx(wanted, abs=0.05)
    effect = scores.pair("nano:clip", "color-n2", "difference", "paired", "swap").strict
    assert f"{100 * effect['accuracy']:+.1f}".replace("-", "−") in figure.svg


def test_a_point_stands_at_swap_and_confusion(data, figures):
    scores = Scores(data.leaderboard)
    group = re.findall(r"<title>Color, N=3, nano:clip.*?</g>", str(figures["scatter-minimal"].svg))
    x, y = map(float, re.findall(r'c[xy]="([\d.]+)"', group[0]))
    swap = scores.pair("nano:clip", "color-n3", "minimal", "all", "swap").strict["accuracy"]
    confusion = scores.pair("nano:clip", "color-n3", "minimal", "all", "confusion").strict
    left, top, side = 70, svg.TOP + 40, 480
    assert x == pytest.approx(left + side * swap, abs=0.05)
    assert y == pytest.approx(top + side * (1 - confusion["accuracy"]), abs=0.05)


def test_labels_outside_their_band_are_told_apart(data, figures):
    bars = [r for r in drawn(figures["labels-color-n2"], "rect") if r["height"] == "6"]
    colors = [re.search(r"--(\w+)", bar["style"])[1] for bar in bars]
    rows = [row for row in data.label_shares if row["benchmark"] == "color-n2"]
    assert colors == ["orange" if row["share"] > row["null_high"] else "blue" for row in rows]
    assert colors.count("orange") == 2
    scale = svg.scale_end(max(row["share"] for row in rows))
    widths = [svg.x_of(row["share"], scale) - svg.x_of(0, scale) for row in rows]
    assert [float(bar["width"]) for bar in bars] == pytest.approx(widths, abs=0.05)


def test_a_funnel_is_as_wide_as_what_is_left(data, figures):
    bars = [r for r in drawn(figures["survival"], "rect") if r["height"] == "13"]
    shares = [row["share_of_all"] for row in data.survival]
    widest = max(float(bar["width"]) for bar in bars) / max(shares)
    assert [float(bar["width"]) for bar in bars] == pytest.approx(
        [widest * share for share in shares], abs=0.1
    )


def test_parts_of_the_errors_add_up(data, figures):
    bars = [r for r in drawn(figures["errors-minimal"], "rect") if r["height"] == "23"]
    total = sum(float(bar["width"]) for bar in bars)
    lines = {(row["benchmark"], row["model"]) for row in figures["errors-minimal"].rows}
    assert total == pytest.approx(len(lines) * (svg.x_of(1, 1.0) - svg.x_of(0, 1.0)), rel=0.001)
    assert "check:random" not in figures["errors-minimal"].svg


def test_files_are_whole_and_hold_the_rows(data, figures):
    files = dict(figure_files(list(figures.values())))
    assert len(files) == 2 * len(figures)
    for name, content in files.items():
        if name.endswith(".svg"):
            root = ElementTree.fromstring(content.decode())
            assert root.tag == "{http://www.w3.org/2000/svg}svg"
            assert b"var(" not in content
    text = files["figures/labels-color-n3.csv"].decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    wanted = [row for row in data.label_shares if row["benchmark"] == "color-n3"]
    assert [float(row["share"]) for row in rows] == [row["share"] for row in wanted]
    assert [row["label"] for row in rows] == [row["label"] for row in wanted]
