"""The gallery in a real browser: its filters, its search, its keys, and 20,000 items."""

import dataclasses
import json
import re
from urllib.parse import quote

import pytest
from browsers import DESKTOP, opened_browser, opened_page, write_files
from fake_report import MODELS, fake_report

from bindbench.reporting.data import ReportData
from bindbench.reporting.gallery import PART, gallery_files
from bindbench.reporting.report import render_report
from bindbench.tasks import BENCHMARKS

pytestmark = pytest.mark.slow
CONCEPTS = 10_000  # each in two tracks
TILES = 24  # of a page


@pytest.fixture(scope="module")
def data() -> ReportData:
    return fake_report(samples=12)


@pytest.fixture(scope="module")
def browser():
    with opened_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("gallery")
    write_files(path, gallery_files(data))
    (path / "gallery.html").write_text(render_report(data, [])["gallery.html"])
    return path


@pytest.fixture
def page(browser, folder):
    with opened_page(browser, DESKTOP) as page:
        yield page
        assert page.problems == []


def shown(page, folder, hash_=""):
    """Open the gallery at an address and return the number of items that fit."""
    page.goto("about:blank")
    page.goto(f"{(folder / 'gallery.html').as_uri()}#{hash_}")
    return counted(page)


def counted(page):
    """Wait for the status to say so, and return the number of items that fit."""
    page.locator("#status", has_text=re.compile(r"^[\d,]+ of")).wait_for()
    return int(page.locator("#status").inner_text().split(" of ")[0].replace(",", ""))


def choice(item, model):
    return next((c for c in item.choices if c.model == model), None)


def test_addresses_filter_by_what_the_items_are(page, folder, data):
    items = data.gallery
    assert shown(page, folder) == len(items) == 9 * 12 * 2
    assert page.locator("#tiles button").count() == TILES
    wanted = [i for i in items if i.benchmark == "color-n2" and i.track == "minimal"]
    assert shown(page, folder, "benchmark=color-n2&track=minimal") == len(wanted)
    rejected = [i for i in items if not i.accepted]
    assert shown(page, folder, "verdict=rejected") == len(rejected) > 0
    missing = [i for i in items if i.verdict == "presence: missing"]
    assert shown(page, folder, f"verdict={quote('presence: missing')}") == len(missing) > 0
    accepted = {(i.benchmark, i.index, i.track) for i in items if i.accepted}
    both = [a for a in accepted if {(*a[:2], "minimal"), (*a[:2], "contextual")} <= accepted]
    assert shown(page, folder, "paired=1") == len(both) < len(accepted)


@pytest.mark.parametrize(("outcome", "won"), [("wrong", False), ("right", True)])
def test_a_model_s_wrong_and_right_items(page, folder, data, outcome, won):
    model = "hf:org/vlm"
    found = [
        item for item in data.gallery
        if (own := choice(item, model)) and own.won.get("swap") is won
    ]  # fmt: skip
    address = f"model={quote(model)}&family=swap&outcome={outcome}"
    assert shown(page, folder, address) == len(found) > 0
    texts = page.locator("#tiles button").all_inner_texts()
    for text, item in zip(texts, found, strict=False):
        assert choice(item, model).text in text
        assert ("✓ right" in text) == choice(item, model).right


def test_words_are_searched_in_captions_reasons_and_choices(page, folder, data):
    shown(page, folder)
    page.get_by_label("Words").fill("brown NOT")
    wanted = [item for item in data.gallery if "brown, not" in item.reason]
    page.locator("#status", has_text=f"{len(wanted)} of 216 items").wait_for()
    assert counted(page) == len(wanted) > 0
    assert "text=brown+NOT" in page.url
    page.get_by_role("button", name="Show all").click()
    page.locator("#status", has_text="216 of 216 items").wait_for()


def test_an_item_opens_with_every_model_s_choice_and_keys_move_on(page, folder, data):
    shown(page, folder, "benchmark=color-n2")
    items = [item for item in data.gallery if item.benchmark == "color-n2"]
    first = next(i for i, item in enumerate(items) if item.accepted)
    page.locator("#tiles button").first.focus()
    for _ in range(first):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    dialog = page.locator("dialog[open]")
    rows = [row.all_inner_texts() for row in
            [line.locator("th, td") for line in dialog.locator("tbody tr").all()]]  # fmt: skip
    said = {True: "✓ right", False: "✗ wrong"}
    assert [row[0] for row in rows] == [*MODELS[3:], *MODELS[:3]]  # the controls last
    wanted = [[c.model, said[c.right], c.text] for c in items[first].choices]
    assert sorted(rows) == sorted(wanted)
    assert items[first].caption in dialog.inner_text()
    box, image = dialog.locator(".box").first.bounding_box(), dialog.locator("img").bounding_box()
    left = image["x"] + items[first].boxes[0].left * image["width"]
    assert box["x"] == pytest.approx(left, abs=2)
    page.keyboard.press("ArrowRight")
    following = items[first + 1]
    title = f"{following.track}, no. {following.index}"
    page.locator("#detail-title", has_text=title).wait_for()
    assert f"item=color-n2%2F{following.index}%2F{following.track}" in page.url
    page.keyboard.press("Escape")
    page.locator("#tiles button:focus").wait_for()
    assert page.locator("dialog[open]").count() == 0
    page.get_by_label("boxes").uncheck()
    assert page.locator("#tiles .box:visible").count() == 0


@pytest.fixture(scope="module")
def large(tmp_path_factory, data):
    """Return the folder of a gallery of 20,000 items, of which few have a picture."""
    few = data.gallery
    items = []
    for i in range(CONCEPTS):
        pair = few[2 * (i % (len(few) // 2)) :][:2]
        items += [
            dataclasses.replace(
                item,
                index=i,
                image=None,
                caption=f"{item.caption} Scene {i}.",
                concept_id=f"{i:08x}",
            )
            for item in pair
        ]
    items.sort(key=lambda item: list(BENCHMARKS).index(item.benchmark))
    whole = dataclasses.replace(data, gallery=items)
    path = tmp_path_factory.mktemp("large")
    write_files(path, gallery_files(whole))
    (path / "gallery.html").write_text(render_report(whole, [])["gallery.html"])
    return path, items


def test_20000_items_are_filtered_and_searched_and_the_page_stays_small(browser, large):
    folder, items = large
    assert len(items) == 20_000
    parts = len(list((folder / "gallery").glob("part-*.js")))
    assert parts == 20_000 // PART
    with opened_page(browser, DESKTOP) as page:
        loaded = []
        page.on("request", lambda request: loaded.append(request.url))
        assert shown(page, folder) == 20_000
        assert len([url for url in loaded if "part-" in url]) == 1  # of what is shown
        assert page.locator("*").count() < 2000
        wrong = [i for i in items if (c := choice(i, "nano:clip")) and c.won.get("swap") is False]
        address = "model=nano%3Aclip&family=swap&outcome=wrong"
        assert shown(page, folder, address) == len(wrong) > 1000
        assert page.locator("#tiles button").count() == TILES
        page.get_by_role("button", name="Next", exact=True).click()
        page.locator("#pager span", has_text="Page 2 of").wait_for()
        assert page.locator("#tiles button").count() == TILES
        assert shown(page, folder, f"text={quote('Scene 4321.')}") == sum(
            "scene 4321." in item.caption.lower() for item in items
        ) == 2  # fmt: skip
        assert page.locator("*").count() < 2000
        page.locator("#tiles button").first.click()
        assert "Scene 4321." in page.locator("dialog[open]").inner_text()
        assert page.problems == []
        index = (folder / "gallery" / "index.js").read_text()
        assert len(json.loads(re.sub(r"^bindbench.index\(|\);\s*$", "", index))["track"]) == 20_000
