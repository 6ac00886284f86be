"""Saved pages play from disk, without the dashboard and without a network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.dashboard import Dashboard

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def offline(browser: Browser) -> Iterator[Page]:
    """A tab without a network, in which nothing may go wrong."""
    context = browser.new_context(offline=True)
    tab = context.new_page()
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("requestfailed", lambda request: errors.append(request.url))
    yield tab
    context.close()
    assert not errors


def saved_page(page: Page, menu: str, folder: Path) -> str:
    """Save the picture of the page that is open; the address of the file."""
    page.get_by_role("button", name=menu).click()
    button = page.get_by_test_id("stDownloadButton").filter(has_text="Web page")
    with page.expect_download() as download:
        button.click()
    path = folder / "saved.html"
    download.value.save_as(path)
    return path.as_uri()


def plays_to_its_end(tab: Page) -> None:
    slider = tab.locator("#step")
    last = slider.get_attribute("max")
    assert last is not None
    tab.get_by_role("button", name="Play").click()
    expect(slider).to_have_value(last, timeout=60_000)
    expect(tab.get_by_role("button", name="Play")).to_be_visible()


def test_the_race_plays_from_disk_to_its_answer_in_both_looks(
    page: Page, dashboard: Dashboard, offline: Page, tmp_path: Path
) -> None:
    page.goto(f"{dashboard.url}/best?selection=ml-100k")
    offline.goto(saved_page(page, "Save the race", tmp_path))
    plays_to_its_end(offline)
    expect(offline.locator("#sentence")).to_contain_text("Use EASE on MovieLens 100K")
    light = offline.locator("#chart text").first.evaluate("text => getComputedStyle(text).fill")
    offline.get_by_role("button", name="Dark").click()
    dark = offline.locator("#chart text").first.evaluate("text => getComputedStyle(text).fill")
    assert light != dark


def test_the_race_of_a_run_against_k_fold_plays_from_disk(
    page: Page, dashboard: Dashboard, offline: Page, tmp_path: Path
) -> None:
    page.goto(f"{dashboard.url}/replay?run=ml-100k--item-knn&view=Race")
    offline.goto(saved_page(page, "Save the picture", tmp_path))
    expect(offline.get_by_text("0 of 10 folds").first).to_be_visible()
    plays_to_its_end(offline)
    expect(offline.get_by_text("done after all 10 folds")).to_be_visible()
    expect(offline.get_by_text("The score of 4 folds differs by 0.49 %")).to_be_visible()


def test_the_slider_of_a_chapter_works_from_disk(
    page: Page, dashboard: Dashboard, offline: Page, tmp_path: Path
) -> None:
    page.goto(f"{dashboard.url}/learn?chapter=rule")
    offline.goto(saved_page(page, "Save the picture", tmp_path))
    expect(offline.locator("#name")).to_have_text("alpha 1e-4")
    offline.locator("#step").press("End")
    expect(offline.locator("#name")).to_have_text("alpha 0.01")
    expect(offline.locator("#sentence")).to_contain_text("With alpha 0.01, the rule stops")
    offline.locator("#step").press("Home")
    plays_to_its_end(offline)


def test_the_cards_of_a_chapter_are_dealt_from_disk(
    page: Page, dashboard: Dashboard, offline: Page, tmp_path: Path
) -> None:
    page.goto(f"{dashboard.url}/learn?chapter=folds")
    offline.goto(saved_page(page, "Save the picture", tmp_path))
    offline.get_by_role("button", name="Deal").click()
    offline.get_by_role("button", name="Hold out fold 3").click()
    expect(offline.get_by_text("Fold 3 of 5 is held out")).to_be_visible()
