"""Every kind of page passes axe, at the width of a desktop and of a phone, without any error."""

import dataclasses

import pytest
from browsers import DESKTOP, PHONE, opened_browser, opened_page, write_files
from fake_report import fake_report

from bindbench.reporting.data import COLUMNS, ReportData
from bindbench.reporting.report import report_files

pytestmark = pytest.mark.slow
KINDS = (
    *("index.html", "leaderboard.html", "figures.html", "kinds.html", "gallery.html"),
    *("tables.html", "quality.html", "methods.html"),
    *("benchmark-color-n2.html", "model-nano-clip.html", "model-hf-org-vlm.html"),
)


BENCHMARKS = ("color-n1", "color-n2", "position-n3", "all")


def small_report() -> ReportData:
    """Return a report of few benchmarks: axe looks at every element."""
    data = fake_report(samples=4)
    kept = {
        name: [row for row in getattr(data, name) if row["benchmark"] in BENCHMARKS]
        for name in COLUMNS
    }
    for name in ("gallery", "hardest", "disagreements"):
        kept[name] = [one for one in getattr(data, name) if one.benchmark in BENCHMARKS]
    return dataclasses.replace(data, **kept)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("report")
    write_files(path, report_files(small_report()))
    return path


@pytest.fixture(scope="module")
def browser():
    with opened_browser() as browser:
        yield browser


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_pass_axe_fit_and_have_no_errors(browser, folder, size, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    with opened_page(browser, size, scheme) as page:
        for name in KINDS:
            page.goto((folder / name).as_uri())
            if name == "gallery.html":
                page.locator("#tiles button").first.wait_for()
            found = axe.run(page).response["violations"]
            said = [(v["id"], [node["html"][:200] for node in v["nodes"]]) for v in found]
            assert said == [], name
            assert page.evaluate("document.documentElement.scrollWidth") == size[0], name
        page.goto((folder / "gallery.html").as_uri())
        page.locator("#tiles button").first.click()
        page.locator("dialog[open]").wait_for()
        assert axe.run(page).response["violations"] == []
        assert page.problems == []


def test_a_wide_table_says_that_it_scrolls_and_the_keyboard_reaches_all(browser, folder):
    with opened_page(browser) as page:
        page.goto((folder / "leaderboard.html").as_uri())
        wide = page.locator(".scroll:visible").first
        assert wide.evaluate("one => one.scrollWidth > one.clientWidth")
        assert "scroll sideways" in wide.evaluate("one => one.previousElementSibling.textContent")
        page.keyboard.press("Tab")
        focused = "document.activeElement"
        assert page.evaluate(f"{focused}.textContent") == "Skip to the content"
        page.keyboard.press("Enter")
        assert page.evaluate(f"{focused}.id") == "main"
        reached = set()
        for _ in range(60):
            page.keyboard.press("Tab")
            reached.add(page.evaluate(f"{focused}.getAttribute('role') ?? {focused}.tagName"))
        assert {"tab", "region", "A", "BUTTON"} <= reached
