"""The report in a real browser: on a phone and in the dark, its tabs, sorting and filters."""

import re

import pytest
from browsers import opened_browser, opened_page, write_files
from fake_report import fake_report

from bindbench.reporting.report import report_files

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def data():
    return fake_report(samples=8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("report")
    write_files(path, report_files(data))
    return path


@pytest.fixture(scope="module")
def browser():
    with opened_browser() as browser:
        yield browser


@pytest.fixture
def page(browser):
    with opened_page(browser) as page:
        yield page


def test_every_page_fits_a_phone_and_loads_nothing(page, folder):
    for path in sorted(folder.glob("*.html")):
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") == 390, path.name
    assert page.problems == []


def test_the_leaderboard_filters_by_its_columns(page, folder, data):
    page.goto((folder / "leaderboard.html").as_uri())
    board = page.locator("section:has(> h2#all)")
    for name, value in (("Kind", "contrastive"), ("Task", "Color"), ("Set", "paired concepts")):
        board.get_by_label(name, exact=True).select_option(value)
    rows = [
        row
        for row in data.leaderboard
        if data.kinds.get(row["model"]) == "contrastive"
        and row["benchmark"].startswith("color-")
        and (row["track"], row["set"]) == ("minimal", "paired")
        and (row["semantics"], row["readout"]) == ("strict", "score")
    ]
    assert board.locator("tbody tr:visible").count() == len(rows) > 0
    shown = board.locator("tbody tr:visible td:nth-child(9)").all()
    values = [float(cell.get_attribute("data-value")) for cell in shown]
    assert sorted(values) == sorted(row["accuracy"] for row in rows)
    board.locator("tbody tr:visible td:last-child a").first.click()
    page.locator("#status", has_text=re.compile(r"^[\d,]+ of")).wait_for()
    assert page.locator("select[name=model]").input_value() == rows[0]["model"]
    assert page.locator("select[name=benchmark]").input_value() == rows[0]["benchmark"]


def test_tabs_and_sorting(page, folder):
    page.goto((folder / "benchmark-color-n2.html").as_uri())
    board = page.locator("section:has(> h2#leaderboard)")
    board.get_by_role("tab", name="Contextual", exact=True).click()
    panel = board.get_by_role("tabpanel", name="Leaderboard: Contextual", exact=True)
    assert board.locator("[role=tabpanel]:visible").count() == 1
    for order in ("descending", "ascending"):
        panel.locator("th[data-column='1'] button").click()
        assert panel.locator("th[data-column='1']").get_attribute("aria-sort") == order
        cells = panel.locator("tbody td:nth-child(2)").all()
        values = [float(cell.get_attribute("data-value")) for cell in cells]
        assert values == sorted(values, reverse=order == "descending")


def test_hardest_negatives_of_one_benchmark_at_a_time(page, folder):
    page.goto((folder / "model-nano-clip.html").as_uri())
    part = page.locator("section:has(> h2#hardest)")
    assert "Not measured." in part.locator("[role=tabpanel]:visible").inner_text()
    part.get_by_role("tab", name="Color, N=3", exact=True).click()
    assert part.locator("img:visible").count() == 6  # three in each track
    assert part.locator(".diff:visible").first.inner_text() == "red"
    assert part.locator(".hard:visible").first.inner_text().startswith("✓")
