"""The page of tables: each number as it is, and beside it where it comes from."""

import csv
import io
import json

import pytest
from fake_report import cell, fake_report, fake_tables
from test_report import Page

from bindbench.reporting import table_views
from bindbench.reporting.data import Table
from bindbench.reporting.report import render_report

MODELS = ["nano:clip", "hf:org/vlm@main"]


def number(asset, partition, **where):
    return cell("a", "b", 0.5, asset=asset, partition=partition, where=json.dumps(where))


@pytest.mark.parametrize(
    ("row", "query"),
    [
        (
            number("model_scores", "color-n2--nano-clip", track="minimal", family="swap"),
            {"benchmark": "color-n2", "track": "minimal", "model": "nano:clip", "family": "swap"},
        ),
        (
            number("model_scores", "color-n2--nano-clip", family="confusion", paired=True),
            {"benchmark": "color-n2", "model": "nano:clip", "family": "confusion", "paired": "1"},
        ),
        (number("model_scores", "color-n2--gone", track="minimal"), {}),
        (number("model_scores", "color-n2--nano-clip", labels="red"), {}),
        (
            number("validated", "color-n3", track="contextual", accepted=True),
            {"benchmark": "color-n3", "track": "contextual", "verdict": "accepted"},
        ),
        (
            number("validated", "color-n3", accepted=False),
            {"benchmark": "color-n3", "verdict": "rejected"},
        ),
        (number("leaderboard", "all", model="nano:clip"), {}),
    ],
)  # fmt: skip
def test_a_source_becomes_filters_of_the_gallery_where_it_can(row, query):
    assert table_views.gallery_query(row, MODELS) == query
    table = Table("5", "", "", [row])
    address = table_views.address(row, table, MODELS, True)
    assert address.startswith("gallery.html#benchmark=" if query else "tables/table-5.csv")
    assert table_views.address(row, table, MODELS, False) == "tables/table-5.csv"


def test_numbers_are_shown_in_their_unit():
    shown = {
        "share": "75.0%", "difference": "+75.0", "number": "0.75", "count": "1",
        "seconds": "0.8 s", "hours": "0.75 h", "money": "0.75",
    }  # fmt: skip
    assert {u: table_views.shown(cell("a", "b", 0.75, unit=u)) for u in shown} == shown
    assert table_views.shown(cell("a", "b", None)) == "—"
    assert table_views.bounds(cell("a", "b", 0.5, low=0.25, high=0.75)) == "25.0–75.0"
    assert table_views.bounds(cell("a", "b", 0.5)) == ""


def test_blocks_have_their_own_lines_and_columns():
    rows = [
        cell("m1", "x", 0.1), cell("m1", "y", 0.2), cell("m2", "y", 0.3),
        cell("m1", "z", 0.4, semantics="paper"),
    ]  # fmt: skip
    first, second = table_views.blocks(Table("5", "", "", rows))
    assert (first.title, first.columns) == ("minimal, strict", ["x", "y"])
    values = [(name, [c and c["value"] for c in cells]) for name, cells in first.lines()]
    assert values == [("m1", [0.1, 0.2]), ("m2", [None, 0.3])]
    assert (second.title, second.columns) == ("minimal, paper", ["z"])


def test_the_page_shows_numbers_published_values_and_why_others_are_missing():
    page = render_report(fake_report(samples=1), [])["tables.html"]
    parsed = Page(page)
    line = next(row for row in parsed.rows if row[0][0] == "nano:clip")
    assert [text for text, _ in line] == ["nano:clip", "75.0% 60.0–90.070.6%", "—"]
    assert 'title="Not scored: run it."' in page and "Nothing was fine-tuned." in page
    links = [a["href"] for a in parsed.all("a") if "model=nano%3Aclip" in (a["href"] or "")]
    assert links == ["gallery.html#benchmark=color-n2&track=minimal&model=nano%3Aclip&family=swap"]


def test_the_files_name_the_rows_of_every_number():
    files = dict(table_views.table_files(fake_tables()))
    rows = list(csv.DictReader(io.StringIO(files["tables/table-5.csv"].decode())))
    assert [row["value"] for row in rows] == ["0.75", "", "0.5"]
    assert rows[0]["asset"] == "model_scores"
    assert json.loads(rows[0]["where"])["family"] == "swap"
