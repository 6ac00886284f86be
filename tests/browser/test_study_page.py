"""Studies in a real browser: the recorded grid at once, the slider moves it, a study runs live."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.dashboard import Dashboard

pytestmark = pytest.mark.browser

DRAWN = '.ecv-figure[data-drawn="true"]'


@pytest.mark.slow
def test_on_a_phone_ranks_begin_with_their_sum_and_have_two_lines(
    browser: Browser, dashboard: Dashboard
) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844})
    tab = context.new_page()
    tab.goto(f"{dashboard.url}/studies")
    tab.get_by_role("tab", name="Ranks").click(timeout=60_000)
    figure = tab.locator(f".st-key-study-ranks-figure {DRAWN}")
    expect(figure).to_be_visible(timeout=60_000)
    expect(tab.get_by_text("same winner")).to_be_visible()
    assert figure.evaluate("node => node._fullLayout.xaxis2.domain[0]") == 0
    (ranks,) = figure.evaluate("node => [node.data[0].text[0][0]]")
    assert re.fullmatch(r"<b>[\d.]+</b><br>\([\d.]+\)", ranks)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 390
    context.close()


@pytest.mark.slow
def test_the_slider_moves_sentence_cells_and_rules_by_keyboard(
    page: Page, dashboard: Dashboard
) -> None:
    page.goto(f"{dashboard.url}/studies?study_datasets=ml-100k")
    sentence = page.get_by_text(re.compile(r"With alpha .* e-fold uses [\d.]+ of 10 folds")).first
    expect(sentence).to_be_visible(timeout=60_000)
    slider = page.get_by_role("slider").first
    page.get_by_role("tab", name="Folds used").click()
    stops = page.locator(f".st-key-study-stop-figure {DRAWN}")
    expect(stops).to_be_visible(timeout=30_000)
    said, words = sentence.inner_text(), stops.get_attribute("aria-label")
    moved_by_keyboard(slider)
    expect(sentence).not_to_have_text(said)
    expect(stops).not_to_have_attribute("aria-label", words or "")
    page.get_by_role("tab", name="Rules").click()
    rules = page.get_by_text(re.compile("the rules need these shares .* Fixed"))
    expect(rules).to_be_visible(timeout=60_000)
    before = rules.inner_text()
    moved_by_keyboard(slider)
    expect(rules).not_to_have_text(before)
    assert slider.get_attribute("aria-valuetext") != "1e-4"


def moved_by_keyboard(slider: Locator) -> None:
    slider.focus()
    for _ in range(5):
        slider.press("ArrowRight")


@pytest.mark.slow
def test_a_click_on_a_cell_opens_its_run_and_back_comes_back(
    page: Page, dashboard: Dashboard
) -> None:
    page.goto(f"{dashboard.url}/studies?study_datasets=ml-100k&study_algorithms=item-knn")
    figure = page.locator('.st-key-study-difference-figure .ecv-figure[data-drawn="true"]').first
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
    form = page.get_by_test_id("stExpander").filter(has_text="Start a study of your own")
    for name in ("ItemKNN", "EASE"):  # leaves Popularity on Synthetic
        form.get_by_role("button", name=name, exact=True).click()
    expect(form).to_contain_text("1 run, 10 folds to compute")
    page.get_by_role("button", name="Start the study").click()
    page.wait_for_url(re.compile(r"study=.*[0-9a-f]{12}"))
    done = page.get_by_text("1 of 1 run finished · 10 of 10 folds")
    expect(page.get_by_role("button", name="Start the study")).to_be_hidden()  # out of the way
    expect(done).to_be_visible(timeout=120_000)
    expect(page.get_by_text(re.compile("With alpha .* over the one run")).first).to_be_visible()
    second = page.context.new_page()
    second.goto(page.url)
    expect(second.get_by_text("10 of 10 folds")).to_be_visible(timeout=60_000)
