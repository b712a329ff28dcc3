"""Takes the pictures of the report for the docs: ``python docs/images/screenshots.py FOLDER``.

FOLDER holds a report's pages: ``store/embedded/html`` after ``make demo``.
"""

import io
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).parent
DESKTOP, PHONE = (1200, 900), (390, 844)
LOST = "gallery.html#benchmark=position-n3&track=minimal&model=nano%3Aclip&outcome=wrong"
# Name, page, size of the window, and what to show: a selector, or the window.
SHOTS = (
    ("report", "index.html", DESKTOP, ""),
    ("samples", "index.html", (1200, 900), "section:has(> h2#samples) .samples"),
    ("report-leaderboard", "leaderboard.html", DESKTOP, "section:has(> h2#all)"),
    ("report-figures", "figures.html", DESKTOP, "#figure-context-confusion"),
    ("report-scatter", "figures.html", DESKTOP, "#figure-scatter-minimal"),
    ("report-gallery", LOST, DESKTOP, ""),
    ("report-gallery-phone", LOST, PHONE, "#tiles"),
    ("report-phone", "index.html", PHONE, ""),
)
COLORS = 256  # of the palette
PLAIN = "nav.top { position: static !important }"  # it would lie across a long picture


def main(folder: Path) -> None:
    """Write one picture for each of SHOTS beside this file."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for name, address, (width, height), selector in SHOTS:
            size = {"width": width, "height": height}
            page = browser.new_page(viewport=size, reduced_motion="reduce")
            page.set_default_timeout(120_000)
            page.goto(f"{folder.resolve().as_uri()}/{address}")
            if address.startswith("gallery"):
                page.wait_for_selector("#tiles button")
                page.wait_for_load_state("networkidle")
            page.add_style_tag(content=PLAIN)
            (HERE / f"{name}.png").write_bytes(reduced(shot(page, selector)))
            page.close()
        browser.close()


def shot(page: Page, selector: str) -> bytes:
    """Return a picture of an element, at most 1000 pixels of it, or of the window."""
    if not selector:
        return page.screenshot()
    box = page.locator(selector).first.bounding_box()
    assert box is not None, selector
    return page.screenshot(full_page=True, clip={**box, "height": min(box["height"], 1000)})


def reduced(png: bytes) -> bytes:
    """Return a picture with few colors, which is a third of the size."""
    out = io.BytesIO()
    image = Image.open(io.BytesIO(png)).convert("RGB")
    image.quantize(COLORS, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
