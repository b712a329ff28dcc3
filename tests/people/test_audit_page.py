"""The page for a quick check, in a browser, from disk: answers by mouse and keys go to a file."""

import json

import pytest
from audit_samples import small_audit
from playwright.sync_api import sync_playwright

from bindbench.people.audits import read_key
from bindbench.pipeline import audit

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def context(tmp_path_factory):
    yield from small_audit(tmp_path_factory.mktemp("store"))


@pytest.mark.parametrize("width", [1200, 390])
def test_what_is_answered_on_the_page_comes_into_the_store(context, tmp_path, width):
    drawn = audit.draw(context, ["color-n2"], 2, 0)
    audit.export(context, drawn, tmp_path, 0)
    errors = []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path="/usr/bin/chromium")
        page = browser.new_page(viewport={"width": width, "height": 800})
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
        page.goto((tmp_path / audit.PAGE).as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("#picture").evaluate("image => image.naturalWidth") == 64
        assert "1 of 12" in page.locator("#place").inner_text()
        page.get_by_role("radio").first.check()
        page.get_by_role("button", name="Next").click()
        page.keyboard.press("2")  # the second answer of the second question
        page.keyboard.press("Enter")
        assert "3 of 12; 2 answered" in page.locator("#place").inner_text()
        page.reload()  # nothing is lost
        assert "1 of 12; 2 answered" in page.locator("#place").inner_text()
        page.get_by_label("Your name").fill("P. Q.")
        with page.expect_download() as download:
            page.get_by_role("button", name="Save").click()
        assert download.value.suggested_filename == "answers-P-Q-.json"
        saved = tmp_path / "saved.json"
        download.value.save_as(saved)
        browser.close()
    assert not errors
    said = json.loads(saved.read_text())
    questions = read_key(tmp_path / "key.json", context.suite.name)
    assert said["name"] == "P. Q." and len(said["answers"]) == 2
    artifact = audit.read(context, tmp_path, [saved])
    own = {o.chosen for o in audit.answers_of(artifact) if o.validator == "P. Q."}
    asked = {q.id: q.offered for q in questions}
    first, second = (asked[key] for key in said["answers"])
    assert own == {first[0], second[1]}
