"""ConMe's page in a real browser: on a desktop and on a phone, light and dark."""

import io
import json
import shutil

import numpy as np
import pytest
from PIL import Image

from bindbench.conme.report import PAGE, Shown, render_report
from bindbench.conme.results import STAGES
from bindbench.conme.settings import WORDING

pytestmark = pytest.mark.slow
MODELS = {
    "nano-vlm": "target",
    "a-target-with-a-rather-long-name-of-its-own": "target",
    "strong": "strong",
    "other": "unseen",
}
READINGS = ("generate", "letter", "text", "text_mean", "vqa", "blind")
RATES = ("accuracy", "both", "order_effect", "drop", "between", "without")
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


def row(name: str, reading: str, stage: str) -> dict:
    values = {rate + end: 0.1 * k for rate in RATES for k, end in enumerate(("_low", "", "_high"))}
    found = values | {"set": "photos", "panel": "two", "model": name, "part": MODELS[name]}
    found |= {"reading": reading, "stage": stage, "n": 120, "unreadable": 0.05, "first": 0.5}
    return found | {"details": None}


def details() -> str:
    errors = {
        name: {"n": 60, "rate": 0.25, "rate_low": 0.125, "rate_high": 0.5}
        for name in ("color", "count")
    }
    return json.dumps(
        {
            "labeller": WORDING,
            "repeats": {"questions": 40, "near": 3, "examples": []},
            "leaks": [],
            "self_check": {"n": 120, "unread": 0, "passed": {"all": {"value": 0.75}}},
            "agreement": {"generate and letter": {"same": 0.75, "kappa": 0.5}},
            "categories": {"topics": {"errors": errors, "shares": {}}},
        }
    )


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    rows = [row(*names, stage) for names in _names() for stage in STAGES]
    for one in rows:
        if (one["reading"], one["stage"]) == ("generate", STAGES[-1]):
            one["details"] = details()
    out = io.BytesIO()
    Image.fromarray(np.full((240, 200, 3), 200, np.uint8)).save(out, "PNG")
    shown = [
        Shown(out.getvalue(), "Is the washing machine above or under the <b>scissors</b>?",
              "above", "under", "photos, two", ["nano-vlm"])
        for _ in range(4)
    ]  # fmt: skip
    file = tmp_path_factory.mktemp("report") / PAGE
    file.write_text(render_report("Tiny", rows, {}, shown)[PAGE], encoding="utf-8")
    return file


def _names() -> list[tuple[str, str]]:
    return [(model, reading) for model in MODELS for reading in READINGS]


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module", params=[(DESKTOP, "light"), (PHONE, "dark")])
def page(request, browser, path):
    size, colors = request.param
    page = browser.new_context(
        viewport=size, color_scheme=colors, reduced_motion="reduce"
    ).new_page()
    page.problems = []
    page.on("console", lambda message: page.problems.append(message.text))
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("request", lambda request: page.problems.append(request.url)
            if not request.url.startswith(("file:", "data:")) else None)  # fmt: skip
    page.goto(path.as_uri())
    yield page
    assert page.problems == []


def test_the_page_fits_the_window_and_loads_nothing(page):
    width = page.viewport_size["width"]
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.problems == []


def test_every_table_stands_under_its_heading(page):
    for name, count in (("samples", 1), ("models", 4), ("stages", 24), ("orders", 24)):
        rows = page.locator(f"section:has(> h2#{name}) tbody tr")
        assert rows.count() == count, name
    quality = page.locator("section:has(> h2#quality)").inner_text()
    assert quality.count("the image nano-vlm is right in 10.0% of the samples") == 1
    assert "3 of 40 questions" in quality


def test_a_table_is_sorted_by_a_click_on_its_head(page):
    table = page.locator("section:has(> h2#models) table")
    table.get_by_role("button", name="Model").click()
    names = table.locator("tbody th").all_inner_texts()
    assert names in (sorted(MODELS), sorted(MODELS, reverse=True))


def test_figures_can_be_read_on_their_background(page):
    assert page.locator("svg.chart").count() == 1
    fill = page.locator(".chart text").first.evaluate("one => getComputedStyle(one).fill")
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert fill != background and fill != "none"
    assert (
        "by the wording of the questions"
        in page.locator("section:has(> h2#taxonomies)").inner_text()
    )


def test_questions_are_text_whatever_they_hold(page):
    gallery = page.locator("section:has(> h2#gallery)")
    assert gallery.locator("article").count() == 4
    assert gallery.locator("b").count() == 0
    assert "under the <b>scissors</b>?" in gallery.locator(".question").first.inner_text()
    tops = [gallery.locator("article").nth(i).bounding_box()["y"] for i in (0, 1)]
    assert (tops[0] == tops[1]) == (page.viewport_size["width"] > 1000)  # side by side
    shown = gallery.locator("img").first.bounding_box()
    assert shown["x"] >= 0 and shown["x"] + shown["width"] <= page.viewport_size["width"]
