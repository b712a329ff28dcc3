"""The page on kinds of models, and what is shown of two judges."""

import re

from fake_report import JUDGES, MODELS, fake_report
from test_report import HOSTILE, Page, hard, part, score

from bindbench.reporting.data import ReportData
from bindbench.reporting.kinds import Kinds
from bindbench.reporting.report import render_report
from bindbench.reporting.samples import Disagreement

KINDS = {"m:1": "contrastive", "m:2": "generative", "m:3": "generative"}


def board(**accuracies):
    return [
        score(model=model.replace("_", ":"), accuracy=value, chance=0.5)
        for model, value in accuracies.items()
    ]


def test_models_stand_below_their_kind_and_controls_nowhere():
    kinds = Kinds(fake_report(samples=1))
    assert kinds.groups == {
        "contrastive": ["nano:clip", "nano:negclip"],
        "generative": ["hf:org/vlm"],
    }
    assert set(kinds.models) < set(MODELS)
    rows = [row for row in kinds.accuracies("minimal") if row.benchmark == "color-n2"]
    assert [row.name for row in rows] == ["swap", "confusion", "confusion_no_count"]
    assert [cell["model"] for cell in rows[0].cells if cell] == kinds.models


def test_the_last_column_is_the_difference_of_the_means():
    data = ReportData("t", leaderboard=board(m_1=0.5, m_2=0.75, m_3=1.0), kinds=KINDS)
    (line,) = Kinds(data).accuracies("minimal")
    assert line.gap == 0.875 - 0.5
    page = Page(render_report(data)["kinds.html"])
    cells = next(row for row in page.rows if row and row[0][0] == "Color, N=2")
    assert [value for _, value in cells[2:5]] == ["0.5", "0.75", "1.0"]
    assert cells[5] == ("+37.5", "0.375")


def test_what_one_kind_lacks_has_no_difference():
    unmeasured = board(m_1=0.5, m_2=None, m_3=None)
    assert Kinds(ReportData("t", leaderboard=unmeasured, kinds=KINDS)).accuracies("minimal")[
        0
    ].gap is None  # fmt: skip


def test_the_page_needs_both_kinds():
    rows = board(m_2=0.5, m_3=0.5)
    pages = render_report(ReportData("t", leaderboard=rows, kinds=KINDS))
    assert "kinds.html" not in pages and "kinds.html" not in pages["index.html"]
    both = render_report(ReportData("t", leaderboard=[*rows, *board(m_1=0.5)], kinds=KINDS))
    assert "kinds.html" in both["index.html"]


def test_leaning_on_the_order_is_concordant_minus_discordant():
    rows = [
        part(model=model, axis="horizontal", order=order, accuracy=value, low=0, high=1, chance=0.5)
        for model, values in (("m:1", (0.75, 0.25)), ("m:2", (0.5, 0.5)), ("m:3", (0.5, 0.75)))
        for order, value in zip(("concordant", "discordant"), values, strict=True)
    ]
    data = ReportData(
        "t", leaderboard=board(m_1=0.5, m_2=0.5, m_3=0.5), kinds=KINDS, concordance=rows,
        order=[{"benchmark": "color-n2", "track": "minimal", "axis": "horizontal",
                "correlation": -0.125, "low": -0.25, "high": 0.0, "n": 9}],
    )  # fmt: skip
    (line,) = Kinds(data).orders("minimal")
    assert line.gap == -0.125 - 0.5
    cells = Page(render_report(data)["kinds.html"]).rows[-1]
    assert cells[2][0] == "−0.12−0.25 to +0.00"
    assert cells[3][0] == "Concordant75.0% Discordant25.0% gap +50.0 points"
    assert cells[6] == ("−62.5", "-0.625")


def test_the_share_lost_to_counting_is_shown_as_it_is():
    data = fake_report(samples=1)
    shown = [value for row in Page(render_report(data)["kinds.html"]).rows for _, value in row]
    wanted = [row for row in data.counting if row["model"] in data.kinds]
    assert wanted and {str(row["share"]) for row in wanted} <= set(shown)


def test_two_judges_stand_with_the_quality_and_the_direction_of_their_disagreement():
    data = fake_report(samples=1)
    pages = render_report(data)
    index = Page(pages["quality.html"])
    lines = {
        row[0][1]: row for row in index.rows if len(row) == 8 and row[0][1] and row[1][1] == "50"
    }
    assert list(lines) == [row["benchmark"] for row in data.agreement]
    for row in data.agreement:
        values = [value for _, value in lines[row["benchmark"]][2:]]
        assert values == [
            str(row[name]) if row[name] is not None else ""
            for name in ("agreement", "kappa", "disagree", "only_first", "only_second", "p")
        ]
    heads = [text for row in index.rows for text, _ in row]
    assert f"Only {JUDGES[0]} passes" in heads and f"Only {JUDGES[1]} passes" in heads


def test_a_benchmark_shows_images_of_both_directions():
    page = render_report(fake_report(samples=1))["benchmark-color-n2.html"]
    part = page[page.index('<h2 id="judges">') : page.index('<h2 id="samples">')]
    first, second = re.split(f"<h3>Only {re.escape(JUDGES[1])} passes", part)
    for side, right, wrong in ((first, *JUDGES), (second, *reversed(JUDGES))):
        assert side.count("<img") == 2
        assert side.count(f"✓ {right}") == side.count(f"✗ {wrong}") == 2
        assert f"✓ {wrong}" not in side
        assert "wrong label: cup: brown, not red" in side


def test_one_judge_alone_has_no_view():
    pages = render_report(ReportData("t", leaderboard=board(m_1=0.5)))
    assert not any('id="judges"' in page or "#judges" in page for page in pages.values())


def test_hostile_words_of_judges_are_only_text():
    data = ReportData(
        "t",
        leaderboard=[score(model=HOSTILE, accuracy=0.5), *board(m_2=0.5)],
        hardest=[hard()],
        judges=(HOSTILE, HOSTILE),
        kinds={HOSTILE: "contrastive", "m:2": "generative"},
        agreement=fake_report(samples=1).agreement,
        disagreements=[
            Disagreement("color-n2", "minimal", b"png", HOSTILE, True, HOSTILE, HOSTILE)
        ],
    )
    for text in render_report(data).values():
        assert "<script>alert" not in text
        assert not [a for _, a in Page(text).elements for key in a if key.startswith("on")]
