"""Studies in a real browser: the recorded grid at once, the slider moves it, a study runs live."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.dashboard import Dashboard

pytestmark = pytest.mark.browser

DRAWN = '.ecv-figure[data-drawn="true"]'


@pytest.mark.slow
def test_the_slider_moves_sentence_cells_and_rules_by_keyboard(
    page: Page, dashboard: Dashboard
) -> None:
    page.goto(f"{dashboard.url}/studies?study_datasets=ml-100k")
    sentence = page.get_by_text(re.compile(r"With alpha .* e-fold uses [\d.]+ of 10 folds")).first
    expect(sentence).to_be_visible(timeout=60_000)
    stops = page.locator(f".st-key-study-figures {DRAWN}").nth(1)
    expect(stops).to_be_visible(timeout=30_000)
    rules = page.get_by_role("region", name="Rules compared").locator("tbody")
    expect(rules).to_contain_text("fixed", timeout=60_000)
    before = sentence.inner_text(), stops.get_attribute("aria-label"), rules.inner_text()
    slider = page.get_by_role("slider").first
    slider.focus()
    for _ in range(5):
        slider.press("ArrowRight")
    moved = {before[0]: sentence, before[2]: rules}
    for text, locator in moved.items():
        expect(locator).not_to_have_text(text)
    expect(stops).not_to_have_attribute("aria-label", before[1] or "")
    assert slider.get_attribute("aria-valuetext") != "1e-4"


def test_a_click_on_a_cell_opens_its_run_and_back_comes_back(
    page: Page, dashboard: Dashboard
) -> None:
    page.goto(f"{dashboard.url}/studies?study_datasets=ml-100k&study_algorithms=item-knn")
    figure = page.locator('.st-key-study-figures .ecv-figure[data-drawn="true"]').first
    expect(figure).to_be_visible(timeout=60_000)
    figure.locator(".nsewdrag").first.click()  # the one cell
    expect(page.get_by_role("heading", name="Replay")).to_be_visible(timeout=60_000)
    expect(page.get_by_role("combobox", name="Run")).to_have_value(
        "ItemKNN on MovieLens 100K · nDCG@10 · recorded"
    )
    page.go_back()
    expect(page.get_by_role("heading", name="Does it hold")).to_be_visible(timeout=60_000)


def test_a_study_runs_live_and_a_second_tab_shows_the_same(
    page: Page, dashboard: Dashboard
) -> None:
    page.goto(f"{dashboard.url}/studies")
    page.get_by_text("Start a study of your own").click()
    form = page.locator(".st-key-new-study")
    for name in ("ItemKNN", "EASE"):  # leaves Popularity on Synthetic
        form.get_by_role("button", name=name, exact=True).click()
    expect(form).to_contain_text("1 run, 10 folds to compute")
    page.get_by_role("button", name="Start the study").click()
    page.wait_for_url(re.compile(r"study=[0-9a-f]{12}"))
    grid = page.locator(".ecv-grid")
    expect(page.get_by_role("button", name="Start the study")).to_be_hidden()  # out of the way
    expect(grid).to_contain_text("10 of 10 folds", timeout=120_000)
    expect(grid).to_contain_text("finished")
    expect(page.get_by_text(re.compile("With alpha .* over the one run")).first).to_be_visible()
    second = page.context.new_page()
    second.goto(page.url)
    expect(second.locator(".ecv-grid")).to_contain_text("10 of 10 folds", timeout=60_000)
