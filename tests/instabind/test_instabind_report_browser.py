"""InstaBind's report in a real browser: on a phone and in the dark, and its tabs by keyboard."""

import io
import shutil

import numpy as np
import pytest
from instabind_samples import asked, dataset, group, image
from PIL import Image

from bindbench.instabind.annotations import Annotations
from bindbench.instabind.outputs import Outputs
from bindbench.instabind.report import render_report

pytestmark = pytest.mark.slow
VALUES = ["red", "blue", "green", "white", "black", "yellow"]
RAW = dataset(*(image(f"im{n}", group(f"g{n}", VALUES[:n])) for n in range(3, 7)))
QUESTIONS = asked(RAW)


def answer(question):
    members = question.binding_context.instances
    return members[question.target.order_index - 2].attribute_value


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("report")
    out = io.BytesIO()
    Image.fromarray(np.full((480, 640, 3), 200, np.uint8)).save(out, "PNG")
    outputs = {
        (model, setting): Outputs(path, model, setting, [
            (key, answer(q) if setting == "full_image" else q.canonical_answer)
            for key, q in QUESTIONS.items()
            if setting in ("full_image", "instance_first") or q.level in ("L1", "L3")
        ])
        for model in ("m:1", "family:a-model-with-a-rather-long-name-of-its-own@main")
        for setting in ("full_image", "crop_oracle", "context_crop", "box_guided",
                        "dim_non_target", "instance_first")
    }  # fmt: skip
    pictures = {f"im{n}": out.getvalue() for n in (3, 5)}
    annotations = Annotations.model_validate(RAW)
    for name, text in render_report("Tiny", annotations, QUESTIONS, outputs, pictures.get).items():
        (path / name).write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def page():
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        context = browser.new_context(
            viewport={"width": 390, "height": 844}, color_scheme="dark", reduced_motion="reduce"
        )
        page = context.new_page()
        page.problems = []
        page.on("console", lambda message: page.problems.append(message.text))
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on("request", lambda request: page.problems.append(request.url)
                if not request.url.startswith(("file:", "data:")) else None)  # fmt: skip
        yield page
        browser.close()


def test_every_page_fits_a_phone_and_loads_nothing(page, folder):
    names = sorted(folder.iterdir())
    assert len(names) == 3
    for path in names:
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") == 390, path.name
    assert page.problems == []


def test_figures_have_the_colors_of_the_page(page, folder):
    page.goto((folder / "instabind.html").as_uri())
    for css in (".chart text", ".chart rect"):
        fill = page.locator(css).first.evaluate("one => getComputedStyle(one).fill")
        assert fill not in ("rgb(0, 0, 0)", "none"), css  # black on a dark page


def test_boxes_lie_where_they_should(page, folder):
    page.goto((folder / "instabind-m-1.html").as_uri())
    shot = page.locator(".instabind .shot:has(img)").first
    inner = shot.locator("img").bounding_box()
    target = shot.locator(".box.target").bounding_box()
    label = shot.locator(".box.target span").inner_text()
    assert label.startswith("target: ")
    order = VALUES.index(label.removeprefix("target: "))
    left = inner["x"] + (100 * order + 10) / 640 * inner["width"]
    assert target["x"] == pytest.approx(left, abs=2)
    assert target["width"] == pytest.approx(80 / 640 * inner["width"], abs=2)
    assert inner["width"] / inner["height"] == pytest.approx(640 / 480, rel=0.03)


def test_settings_are_tabs_for_the_keyboard(page, folder):
    page.goto((folder / "instabind-m-1.html").as_uri())
    part = page.locator("section:has(> h2#settings)")
    part.get_by_role("tab", name="Full image", exact=True).focus()
    page.keyboard.press("ArrowRight")
    assert part.get_by_role("tab", name="Crop", exact=True).get_attribute("aria-selected") == "true"
    assert part.locator("[role=tabpanel]:visible").count() == 1
