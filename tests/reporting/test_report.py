import base64
import csv
import dataclasses
import hashlib
import io
import os
import re
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest
from fake_report import fake_report

from bindbench.reporting.data import COLUMNS, ReportData
from bindbench.reporting.numbers import percent, points
from bindbench.reporting.report import render_report, report_files
from bindbench.reporting.samples import Box, GalleryItem, HardNegative, Negative

VOID = {"meta", "img", "input", "br", "link"}
HOSTILE = "<script>alert('x')</script>\"><img src=x onerror=alert(1)>"


class Page(HTMLParser):
    """Elements, table rows (texts and data-values of the cells) and the ids of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.rows: list[list[tuple[str, str | None]]] = []
        self.open: list[str] = []
        self.cell: list[str] | None = None
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.cell, self.value = [], dict(attrs).get("data-value")

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        assert self.open.pop() == tag, f"{tag} closes another element"
        if tag in ("td", "th") and self.cell is not None:
            self.rows[-1].append((" ".join("".join(self.cell).split()), self.value))
            self.cell = None

    def handle_data(self, data):
        if self.cell is not None:
            self.cell.append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def data() -> ReportData:
    return fake_report(samples=2)


@pytest.fixture(scope="module")
def pages(data) -> dict[str, str]:
    return render_report(data)


@pytest.fixture(scope="module")
def parsed(pages) -> dict[str, Page]:
    return {name: Page(text) for name, text in pages.items()}


def score(**values):
    row = dict.fromkeys(COLUMNS["leaderboard"])
    row |= {"model": "m:1", "benchmark": "color-n2", "track": "minimal", "set": "all"}
    row |= {
        "family": "swap",
        "readout": "score",
        "semantics": "strict",
        "n_items": 10,
        "n_excluded": 0,
    }
    return row | values


def part(**values):
    row = {"model": "m:1", "benchmark": "color-n2", "track": "minimal", "n_items": 7}
    return row | dict.fromkeys(("accuracy", "low", "high", "chance")) | values


def hard(model="m:1", right=(("a cup", False),), chosen=(("a hat", False),)):
    return HardNegative(model, "color-n2", "minimal", b"png", right, chosen, "swap", 0.25, 0.5)


def test_there_is_a_page_for_each_benchmark_and_model(pages):
    assert len(pages) == 8 + 9 + 6
    assert {"index.html", "kinds.html", "benchmark-color-n1.html", "model-nano-clip.html"} <= set(
        pages
    )


def test_a_retired_model_is_marked_where_its_name_heads_scores(data):
    rows = [row | {"retired": row["model"] == "nano:clip"} for row in data.leaderboard]
    pages = render_report(dataclasses.replace(data, leaderboard=rows))
    badge = re.compile(r'>([^<>]+)(?:</a>)? <span class="badge"[^>]*>retired</span>')
    marked = {name: set(badge.findall(text)) for name, text in pages.items()}
    assert marked.pop("model-nano-clip.html") == {"nano:clip"}
    for name in ("leaderboard.html", "kinds.html", "benchmark-color-n2.html"):
        assert marked.pop(name) == {"nano:clip"}
    assert not any(found for name, found in marked.items() if name.startswith("model-"))
    assert not any(badge.search(text) for text in render_report(data).values())


def test_equal_data_gives_equal_bytes_in_any_process(data):
    files = dict(report_files(data))
    code = (
        "import hashlib; from fake_report import fake_report;"
        "from bindbench.reporting.report import report_files;"
        "files = dict(report_files(fake_report(samples=2)));"
        "print(hashlib.sha256(repr(files).encode()).hexdigest())"
    )
    environment = os.environ | {"PYTHONHASHSEED": "7"}
    here = Path(__file__).parent
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=here, env=environment, capture_output=True, text=True
    )
    assert run.stdout.strip() == hashlib.sha256(repr(files).encode()).hexdigest(), run.stderr


def test_pages_load_nothing_but_the_reports_own_pictures(data, parsed, pages):
    files = dict(report_files(data))
    for page in parsed.values():
        sources = [a["src"] for _, a in page.elements if a.get("src")]
        assert all(s.startswith("data:image/png") or s in files for s in sources)
        assert page.all("link") == []
    assert not any("http://" in text or "https://" in text for text in pages.values())


def test_every_link_leads_somewhere(data, parsed):
    files = dict(report_files(data))
    ids = {
        name: {a["id"] for _, a in page.elements if a.get("id")} for name, page in parsed.items()
    }
    for name, page in parsed.items():
        for attributes in page.all("a"):
            href = attributes["href"] or ""
            if href.startswith("data:"):
                continue
            target, _, anchor = href.partition("#")
            if target == "gallery.html" or "download" in attributes or target.endswith(".csv"):
                assert target in files, href
                continue
            assert (target or name) in parsed, href
            assert not anchor or anchor in ids[target or name], href


def test_pages_are_accessible(parsed):
    for page in parsed.values():
        assert all(image.get("alt") for image in page.all("img"))
        assert all(header.get("scope") for header in page.all("th"))
        ids = [a["id"] for _, a in page.elements if a.get("id")]
        assert len(ids) == len(set(ids))
        pictures = [a for _, a in page.elements if a.get("role") == "img"]
        assert all(picture.get("aria-label") for picture in pictures)
        assert page.all("html")[0]["lang"] == "en"


def test_hostile_text_is_only_text():
    item = GalleryItem(
        "color-n2", 0, "minimal", HOSTILE, HOSTILE, False, image=b"webp", width=8, height=8,
        boxes=[Box(HOSTILE, 0, 0, 0.5, 0.5)], verdicts={"presence": HOSTILE}, reason=HOSTILE,
        negatives=[Negative(HOSTILE, HOSTILE)],
    )  # fmt: skip
    data = ReportData(
        HOSTILE,
        settings={HOSTILE: HOSTILE},
        leaderboard=[score(model=HOSTILE, accuracy=0.5)],
        gallery=[item],
        hardest=[hard(HOSTILE, right=((HOSTILE, True),), chosen=((HOSTILE, False),))],
        by_label=[
            part(model=HOSTILE, slice="label", word=HOSTILE, accuracy=0.5, low=0.1, high=0.9)
        ],
    )
    for name, text in render_report(data).items():
        assert re.fullmatch(r"[A-Za-z0-9._-]+", name)
        page = Page(text)
        assert len(page.all("script")) == 1 + (name == "gallery.html")
        assert not [a for _, a in page.elements for key in a if key.startswith("on")]
        assert not [image for image in page.all("img") if image["src"] == "x"]
        assert "<script>alert" not in text


def test_every_row_of_the_leaderboard_is_shown_as_it_is(data, parsed):
    for model in ("nano:clip", "check:constant", "hf:org/vlm"):
        page = parsed[f"model-{re.sub('[:/]', '-', model)}.html"]
        rows = [row for row in page.rows if len(row) == 19][1:]
        wanted = [row for row in data.leaderboard if row["model"] == model]
        assert len(rows) == len(wanted) > 0
        for cells, row in zip(rows, wanted, strict=True):
            shown = points if row["track"] == "difference" else percent
            assert cells[6][1] == row["readout"]
            assert cells[7][0] == str(row["n_items"])
            assert cells[9] == (shown(row["accuracy"]), str(row["accuracy"]))
            assert cells[14][0] == percent(row.get("undecided"))
            assert cells[15][0] == percent(row["chance"])
            assert cells[16][0] == percent(row["ceiling"])


READOUTS = ("score", "mean", "subtracted", "blind")


def test_readouts_stand_side_by_side_on_the_page_of_a_model_that_has_them(data, parsed):
    page = parsed["model-hf-org-vlm.html"]
    wanted = {}
    for row in data.leaderboard:
        where = [row[name] for name in ("model", "benchmark", "track", "set", "family")]
        if where == ["hf:org/vlm", "color-n2", "minimal", "all", "swap"]:
            wanted[row["readout"], row["semantics"]] = row
    lines = [row for row in page.rows if row[:1] == [("Color, N=2", None)] and len(row) == 10]
    cells = next(row for row in lines if row[1][0] == "Swap")
    assert cells[2][0] == "50.0%paper 50.0%"
    for (text, value), readout in zip(cells[3:7], READOUTS, strict=True):
        strict, paper = wanted[readout, "strict"], wanted[readout, "paper"]
        assert value == str(strict["accuracy"])
        assert text.startswith(percent(strict["accuracy"]))
        assert f"paper {percent(paper['accuracy'])}" in text
    assert cells[8] == ("—", "")  # a choice of 50 is for more than 50 candidates
    own = wanted["score", "strict"]
    assert cells[9] == (percent(own["undecided"]), str(own["undecided"]))
    assert 'id="readouts"' not in render_report(data)["model-nano-clip.html"]


def test_other_tables_show_the_models_own_score(data, parsed):
    own = {
        row["family"]: row["accuracy"]
        for row in data.leaderboard
        if (row["model"], row["benchmark"], row["track"], row["set"])
        == ("hf:org/vlm", "color-n2", "minimal", "all")
        and (row["readout"], row["semantics"]) == ("score", "strict")
    }
    for name in ("leaderboard.html", "benchmark-color-n2.html", "model-hf-org-vlm.html"):
        values = [value for row in parsed[name].rows for _, value in row]
        assert str(own["swap"]) in values and str(own["confusion"]) in values
    others = {
        str(row["accuracy"]) for row in data.leaderboard if row["readout"] in READOUTS[1:3]
    }  # fmt: skip
    for name in ("leaderboard.html", "benchmark-color-n2.html"):
        tables = [row for row in parsed[name].rows if len(row) != 19]  # all but "All figures"
        assert len(tables) > 30
        assert not others & {value for row in tables for _, value in row}


def test_what_beats_the_right_caption_is_decided_by_the_models_own_score():
    won = score(accuracy=0.75, tie_rate=0.25)
    blind = score(readout="blind", accuracy=0.25, tie_rate=0.0)
    page = render_report(ReportData("t", leaderboard=[won, blind]))["model-m-1.html"]
    assert page.count("No false caption scores above the right one.") == 1


def test_blind_scores_stand_on_the_benchmarks_page(data, parsed):
    (line,) = [
        row for row in parsed["benchmark-color-n2.html"].rows
        if row and row[0][0] == "hf:org/vlm" and len(row) == 7 and row[0][1] is None
    ]  # fmt: skip
    wanted = [
        row["accuracy"] for track in ("minimal", "contextual") for family in
        ("swap", "confusion", "confusion_no_count") for row in data.leaderboard
        if (row["model"], row["benchmark"], row["track"], row["set"], row["family"])
        == ("hf:org/vlm", "color-n2", track, "all", family)
        and (row["readout"], row["semantics"]) == ("blind", "strict")
    ]  # fmt: skip
    assert [float(value or "nan") for _, value in line[1:]] == wanted


def test_leaks_are_named_and_what_is_by_design_is_none(data, pages, parsed):
    index = pages["quality.html"]
    audit = index[index.index('<h2 id="audit">') : index.index('<h2 id="calibration">')]
    assert audit.count("✓ no leak") == 8
    assert audit.count("White space at the ends") == 1
    rows = {row[0][1]: row for row in parsed["benchmark-position-n3.html"].rows if row}
    assert rows["edge_space"][1][0] == "90.0% 8.3–33.3 most, p <0.001 leak"
    assert rows["edge_space"][1][1] == "0.9"
    assert "by design" in rows["repeated_words"][2][0]
    assert "by design" not in rows["repeated_words"][1][0]
    assert rows["label_order"][2] == ("—", "")
    leakless = {row[0][1]: row for row in parsed["benchmark-position-n2.html"].rows if row}
    assert leakless["edge_space"][1][0] == "same in all"


def test_a_benchmark_shows_strict_beside_paper(data, parsed):
    def at(semantics, family):
        return next(
            row["accuracy"]
            for row in data.leaderboard
            if (row["model"], row["benchmark"], row["track"], row["set"])
            == ("nano:clip", "color-n2", "minimal", "all")
            and (row["semantics"], row["family"]) == (semantics, family)
        )

    rows = parsed["benchmark-color-n2.html"].rows
    line = next(row for row in rows if row and row[0][1] == "nano:clip")
    shown = [float(value or "nan") for _, value in line[1:7]]
    families = ("swap", "confusion", "confusion_no_count")
    assert shown == [at(mode, f) for f in families for mode in ("strict", "paper")]
    assert line[1][0].startswith(percent(shown[0]))


def test_survival_is_shown_as_it_is(data, parsed):
    rows = [row for row in parsed["quality.html"].rows if row and row[0][1] == "position-n2"]
    cells = next(row for row in rows if row[1][1] == "minimal" and len(row) == 7)
    found = [
        row for row in data.survival
        if row["benchmark"] == "position-n2" and row["track"] == "minimal"
    ]  # fmt: skip
    for (text, value), row in zip(cells[2:], found, strict=True):
        assert value == str(row["share_of_reached"])
        assert text.startswith(percent(row["share_of_reached"]))
        assert text.endswith(f"{row['passed']} of {row['reached']}")


def test_the_rows_can_be_downloaded_at_full_precision(data, parsed):
    links = [
        a for a in parsed["leaderboard.html"].all("a") if a.get("download") == "leaderboard.csv"
    ]
    text = base64.b64decode((links[0]["href"] or "").partition("base64,")[2]).decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == len(data.leaderboard)
    assert [float(row["accuracy"]) for row in rows] == [r["accuracy"] for r in data.leaderboard]
    assert {row["ceiling"] for row in rows} > {""}


def test_what_is_missing_is_a_dash_and_never_a_zero():
    scored = [score(accuracy=0.5), score(model="m:2", accuracy=None)]
    data = ReportData("t", leaderboard=[*scored, score(benchmark="color-n3", accuracy=0.25)])
    pages = render_report(data)
    index = Page(pages["leaderboard.html"])
    line = next(row for row in index.rows if row and row[0][0] == "Color, N=2")
    assert line[3][0].startswith("50.0%")
    assert line[4] == ("—", "")  # measured, without a number
    line = next(row for row in index.rows if row and row[0][0] == "Color, N=3")
    assert line[4] == ("—", "")  # no row at all
    for name in ("leaderboard.html", "benchmark-color-n2.html", "model-m-1.html"):
        assert 'title="Not measured"' in pages[name]
    assert not [cell for row in index.rows for cell, _ in row if re.search(r"(?<![\d.])0%", cell)]


def test_an_empty_report_says_so():
    pages = render_report(ReportData("nothing"))
    assert "benchmark-color-n2.html" not in pages and "tables.html" not in pages
    for words in ("No model has been scored yet.", "No image has been checked yet.", "No samples."):
        assert words in pages["index.html"]
    assert "No samples." in pages["gallery.html"]
    assert "Nothing has been measured yet." in pages["figures.html"]


def test_a_row_without_a_column_is_refused():
    with pytest.raises(ValueError, match="Row 0 of order lacks axis, correlation, low, high, n"):
        ReportData("t", order=[{"benchmark": "color-n2", "track": "minimal"}])


def test_models_of_similar_names_get_pages_of_their_own():
    names = ["a:x/y", "a:x-y", "A:x-y", "a:b"]
    pages = render_report(
        ReportData("t", leaderboard=[score(model=m, accuracy=0.5) for m in names])
    )
    files = [name for name in pages if name.startswith("model-")]
    assert len({name.lower() for name in files}) == 4
    assert "model-a-b.html" in files


def test_a_calibration_of_all_benchmarks_together_stands_on_the_overview(data):
    rows = [
        dict(row, benchmark="all", share=0.875)
        for row in data.calibration
        if row["benchmark"] == "color-n2" and row["fault"] == "leaked"
    ]
    implied = [{"benchmark": "all", "track": "minimal", "share": 0.03, "low": None, "high": 0.06}]
    pages = render_report(
        dataclasses.replace(data, calibration=rows, fault_free=[], accepted_faulty=implied)
    )
    assert "benchmark-all.html" not in pages
    lines = [row for row in Page(pages["quality.html"]).rows if row and row[0][1] == "leaked"]
    assert [value for _, value in lines[0][1:]] == ["0.875", "0.875"]
    assert "at worst, at most 6.0%" in pages["index.html"]
    assert 'href="quality.html#calibration"' in pages["index.html"]
    assert "quality.html#calibration" in pages["benchmark-color-n2.html"]


def test_comparisons_show_their_p_and_what_they_could_have_found():
    row = score(track="difference", set="paired", accuracy=0.1, p_value=1e-9, detectable=0.214)
    page = Page(render_report(ReportData("t", leaderboard=[row]))["model-m-1.html"])
    cells = next(row for row in page.rows if len(row) == 19 and row[2][1] == "difference")
    assert cells[9][0] == "+10.0"
    assert [text for text, _ in cells[17:]] == ["<0.001", "21.4"]


def test_swap_stands_against_confusion_once_a_model_is_scored():
    controls = [
        score(model="check:random", family=family, accuracy=0.5) for family in ("swap", "confusion")
    ]
    alone = render_report(ReportData("t", leaderboard=controls))["leaderboard.html"]
    assert 'id="gap"' not in alone and "#gap" not in alone
    rows = [
        score(accuracy=0.75, low=0.6, high=0.9, chance=0.5),
        score(family="confusion", accuracy=0.25, low=0.1, high=0.4, chance=0.0625),
        score(model="m:2", accuracy=0.5),
    ]
    index = Page(render_report(ReportData("t", leaderboard=[*rows, *controls]))["leaderboard.html"])
    (line,) = [row for row in index.rows if any("points" in text for text, _ in row)]
    assert [text for text, _ in line] == [
        "Color, N=2",
        "Swap75.0% Confusion25.0% gap +50.0 points",
        "—",  # m:2 has no Confusion
    ]


def test_a_hardest_negative_shows_both_captions_with_their_difference():
    right = (("a ", False), ("red", True), (" cup", False))
    chosen = (("a ", False), ("blue", True), (" cup", False))
    data = ReportData("t", leaderboard=[score(accuracy=0.5)], hardest=[hard("m:1", right, chosen)])
    pages = render_report(data)
    for name in ("model-m-1.html", "benchmark-color-n2.html"):
        text = pages[name]
        assert 'a <strong class="diff">red</strong> cup' in text
        assert 'a <strong class="diff">blue</strong> cup' in text
        assert "ahead by 0.25" in text
        assert 'alt="a red cup"' in text


def test_no_hardest_negative_is_told_from_no_item():
    won, none = score(accuracy=0.75, tie_rate=0.25), score(track="contextual", n_items=0)
    pages = render_report(ReportData("t", leaderboard=[won, none]))
    unbeaten, missing = (
        "No false caption scores above the right one.",
        '<p class="card">Not measured.',
    )
    assert pages["model-m-1.html"].count(unbeaten) == 1
    assert pages["model-m-1.html"].count(missing) == 1
    assert unbeaten not in pages["benchmark-color-n2.html"]
    both = render_report(ReportData("t", leaderboard=[won, dict(won, track="contextual")]))
    assert unbeaten in both["benchmark-color-n2.html"]


def test_the_hardest_negatives_of_a_model_without_a_page_are_left_out():
    data = ReportData("t", leaderboard=[score(accuracy=0.5)], hardest=[hard("gone:1")])
    assert "gone:1" not in render_report(data)["benchmark-color-n2.html"]


def test_families_orders_and_labels_are_shown_as_they_are(data, parsed):
    page = parsed["model-nano-clip.html"]
    shares = [
        str(row["share"]) for row in data.error_families if row["model"] == "nano:clip"
    ]  # fmt: skip
    others = [
        "" if row["accuracy"] is None else str(row["accuracy"])
        for rows in (data.error_families, data.concordance, data.by_label)
        for row in rows
        if row["model"] == "nano:clip"
    ]
    cells = Counter(value for row in page.rows for _, value in row)
    assert not Counter(shares + others) - cells
    assert parsed["model-check-oracle.html"].rows  # its shares are missing
    title = [a.get("title") for _, a in parsed["model-check-oracle.html"].elements]
    missing = [row for row in data.error_families if row["model"] == "check:oracle"]
    assert title.count("No errors") == len(missing) > 0
