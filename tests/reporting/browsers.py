"""A real browser for the tests of pages: what goes wrong in it is collected."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

DESKTOP, PHONE = (1280, 900), (390, 844)


@contextmanager
def opened_browser() -> Iterator:
    """Give a browser; skip where playwright is not installed."""
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        yield browser
        browser.close()


@contextmanager
def opened_page(browser, size=PHONE, scheme="dark") -> Iterator:
    """Give a page whose ``problems`` are errors, messages, and requests for more than files."""
    width, height = size
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
    )
    page = context.new_page()
    page.set_default_timeout(120_000)
    page.problems = []
    page.on("console", lambda message: page.problems.append(message.text))
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("request", lambda request: page.problems.append(request.url)
            if not request.url.startswith(("file:", "data:")) else None)  # fmt: skip
    yield page
    context.close()


def write_files(folder, files) -> None:
    """Write files, path -> bytes, below a folder."""
    for name, data in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
