"""The report in a real browser: on a phone and in the dark, its filters, tabs and sorting."""

import shutil

import pytest
from fake_report import fake_report

from bindbench.reporting.report import render_report

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("report")
    for name, text in render_report(fake_report(samples=8)).items():
        (path / name).write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        yield browser
        browser.close()


@pytest.fixture
def page(browser):
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme="dark")
    page = context.new_page()
    page.problems = []
    page.on("console", lambda message: page.problems.append(message.text))
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("request", lambda request: page.problems.append(request.url)
            if not request.url.startswith(("file:", "data:")) else None)  # fmt: skip
    yield page
    context.close()


def test_every_page_fits_a_phone_and_loads_nothing(page, folder):
    for path in sorted(folder.iterdir()):
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") == 390, path.name
    assert page.problems == []


def test_the_gallery_filters_by_verdict_and_words(page, folder):
    page.goto((folder / "benchmark-color-n2.html").as_uri())
    button = page.locator('button[data-tag="label: label"]')
    count = int(button.locator("span").inner_text())
    button.click()
    assert 0 < page.locator("article.sample:visible").count() == count < 8
    assert page.locator("article.sample:visible .state.no").count() >= count
    page.get_by_label("Search captions").fill("no such words")
    assert page.locator("article.sample:visible").count() == 0
    assert page.get_by_role("status").inner_text() == "0 of 8 samples shown"
    page.get_by_label("boxes").uncheck()
    assert page.locator(".box:visible").count() == 0


def test_tabs_and_sorting(page, folder):
    page.goto((folder / "benchmark-color-n2.html").as_uri())
    board = page.locator("section:has(> h2#leaderboard)")
    board.get_by_role("tab", name="Contextual", exact=True).click()
    panel = board.get_by_role("tabpanel", name="Contextual", exact=True)
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
