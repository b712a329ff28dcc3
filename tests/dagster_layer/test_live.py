"""The whole operation on this machine: a release, another seed, the same seed, a backfill.

The tests of this file follow each other on one server.
"""

from typing import Any

import pytest
from live_server import BACKFILL, Live, until
from test_ui import CHROMIUM, FLAGS

pytestmark = pytest.mark.slow
COLOR = ["color-n1", "color-n2"]
KEYS = [*COLOR, "position-n2"]


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    made = Live(tmp_path_factory.mktemp("live"))
    made.build()
    with made.serve():
        yield made


@pytest.fixture(scope="module")
def page(live):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        made = browser.new_page(viewport={"width": 1500, "height": 950})
        made.set_default_timeout(90_000)
        yield made
        browser.close()


def cells_made(live: Live) -> list[str]:
    return sorted(str(partition) for partition, _ in live.made("model_scores"))


def shown(live: Live) -> set[tuple[str, str]]:
    """The cells of the leaderboard that have items."""
    rows = live.artifact("leaderboard").read().to_pylist()
    return {(row["model"], row["benchmark"]) for row in rows if row["n_items"]}


def test_a_model_in_the_file_is_scored_and_shown_without_any_other_action(live):
    live.settle()  # nothing is left to do
    runs = len(live.runs())
    before = live.artifact("leaderboard").digest
    live.models.write_text("models: [{model: 'check:oracle'}]\n")
    until(lambda: ("check:oracle", "position-n2") in shown(live) and len(shown(live)) == 6)
    assert live.artifact("leaderboard").digest != before
    live.settle()  # the next ticks ask for nothing
    assert cells_made(live) == sorted(
        f"{key}|check-{m}" for key in KEYS for m in ("random", "oracle")
    )
    assert all(run["status"] == "SUCCESS" for run in live.runs())
    assert len(live.runs()) > runs


def test_another_seed_of_one_benchmark_scores_its_cells_again(live):
    cells, content = cells_made(live), live.artifact("negatives", "color-n2").digest
    live.write(seed=1)
    live.reload()
    live.launch("build_benchmark", "color-n2")
    assert live.artifact("negatives", "color-n2").digest != content
    live.settle()
    again = ["color-n2|check-oracle", "color-n2|check-random"]
    assert cells_made(live) == sorted(cells + again)
    assert len(shown(live)) == 6


def test_the_same_seed_scores_nothing(live):
    cells, content = cells_made(live), live.artifact("negatives", "color-n2").digest
    runs = len(live.runs())
    live.launch("build_benchmark", "color-n2")
    assert live.artifact("negatives", "color-n2").digest == content
    live.settle()
    assert cells_made(live) == cells
    assert len(live.runs()) == runs + 1


@pytest.fixture(scope="module")
def backfill(live, page):
    """The name of a backfill of one task, launched from the page; it ends while others look on."""
    known = {one["id"] for one in live.backfills()}
    page.goto(f"{live.url}/assets/concept_set?view=partitions")
    page.get_by_role("button", name="Materialize").first.click()
    page.get_by_text("Select a partition or create one").click()
    for key in COLOR:
        page.locator("[role=menuitem]", has_text=key).first.click()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Launch backfill").click()
    until(lambda: len(live.backfills()) > len(known))
    (launched,) = {one["id"] for one in live.backfills()} - known
    return launched


def test_the_asset_graph(live, page, backfill):
    page.goto(f"{live.url}/asset-groups")
    for group in ("concepts", "images", "evaluation"):
        page.get_by_text(group, exact=True).first.wait_for()


def test_a_partition_shows_its_picture_and_its_checks(live, page, backfill):
    page.goto(f"{live.url}/assets/images?view=partitions&partition=color-n2")
    page.get_by_text("[Show Markdown]").first.click()
    page.locator("img[src^='data:image/png;base64']").first.wait_for()
    page.goto(f"{live.url}/assets/negatives?view=checks")
    page.get_by_text("candidate_counts", exact=True).first.wait_for()
    page.get_by_text("Succeeded").first.wait_for()


def test_a_backfill_of_one_task_from_the_page_finishes(live, page, backfill):
    def now() -> dict[str, Any]:
        return next(one for one in live.backfills() if one["id"] == backfill)

    until(lambda: now()["status"].startswith(("COMPLETED", "FAILED", "CANCELED")))
    assert now()["status"] == "COMPLETED_SUCCESS"
    assert sorted(now()["partitionNames"]) == COLOR
    runs = {
        run["runId"] for run in live.runs() if {"key": BACKFILL, "value": backfill} in run["tags"]
    }
    assert sorted(str(key) for key, run in live.made("concept_set") if run in runs) == COLOR
    page.goto(f"{live.url}/runs/b/{backfill}")
    page.get_by_text("color-n1").first.wait_for()
