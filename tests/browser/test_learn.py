"""Learn in a real browser: items move, the score follows, cards are dealt, the game is played."""

from __future__ import annotations

import re

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from ecv_core.evaluation import METRICS
from ecv_core.evaluation.formulas import Ranked
from pages.learn.course import CHAPTERS
from tests.browser.dashboard import Dashboard
from tests.browser.tab import drawn, followed

pytestmark = pytest.mark.browser
N = 5


def open_chapter(page: Page, dashboard: Dashboard, address: str) -> None:
    page.goto(f"{dashboard.url}/learn?chapter={address}")
    expect(page.get_by_test_id("stHeading").first).to_be_visible(timeout=60_000)
    # Streamlit loads the code of buttons by itself, often after the heading is there; until the
    # buttons are drawn, the keys that stand for them do nothing.
    expect(page.get_by_role("button", name="Next").first).to_be_visible()
    drawn(page)


def ranked(page: Page) -> list[tuple[str, bool]]:
    """The list as it stands: each item's name, and whether it is held out."""
    rows = page.locator("li.ecv-item").all()
    return [
        (str(row.get_attribute("data-item")), "ecv-hit" in str(row.get_attribute("class")))
        for row in rows
    ]


def shown_score(page: Page) -> float:
    return float(str(page.locator(".ecv-ndcg").get_attribute("data-score")))


def library_score(items: list[tuple[str, bool]]) -> float:
    hits = np.array([[hit for _, hit in items]])
    ranked_hits = Ranked(hits=hits[:, :N], held_out=hits.sum(axis=1), cutoffs=(N,))
    return float(METRICS["ndcg"].at_cutoffs(ranked_hits)[0, 0])


def drag(page: Page, item: Locator, by: float) -> None:
    box = item.bounding_box()
    assert box is not None
    x, y = box["x"] + 120, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y + by, steps=10)
    page.mouse.up()


def test_items_are_dragged_or_moved_by_keyboard_and_the_score_is_the_librarys(
    page: Page, dashboard: Dashboard
) -> None:
    open_chapter(page, dashboard, "ndcg")
    item = page.locator('li[data-item="Second Violin"]')
    expect(item).to_be_visible()
    assert shown_score(page) == pytest.approx(library_score(ranked(page)))
    before = [name for name, _ in ranked(page)]
    drag(page, item, -400)
    after = [name for name, _ in ranked(page)]
    assert after == ["Second Violin", *[name for name in before if name != "Second Violin"]]
    assert shown_score(page) == pytest.approx(library_score(ranked(page)))
    drag(page, page.locator('li[data-item="Second Violin"]'), 500)
    assert ranked(page)[-1][0] == "Second Violin"
    assert shown_score(page) == pytest.approx(library_score(ranked(page)))
    are_moved_by_keyboard_alone(page, "Second Violin")


def are_moved_by_keyboard_alone(page: Page, last: str) -> None:
    """From the end of the list to its top."""
    up = page.get_by_role("button", name=f"Move {last} up")
    up.focus()
    for place in range(len(ranked(page)) - 1, 1, -1):
        page.keyboard.press("Enter")
        assert ranked(page)[place - 1][0] == last
        assert shown_score(page) == pytest.approx(library_score(ranked(page)))
        expect(up).to_be_focused()
    page.keyboard.press("Enter")
    assert ranked(page)[0][0] == last
    expect(page.get_by_role("button", name=f"Move {last} down")).to_be_focused()
    page.get_by_role("button", name="Perfect").click()
    assert shown_score(page) == 1.0
    page.get_by_role("button", name="Worst").click()
    assert shown_score(page) == pytest.approx(library_score(ranked(page)))


@pytest.mark.slow
def test_cards_are_dealt_and_every_fold_is_held_out_once(page: Page, dashboard: Dashboard) -> None:
    open_chapter(page, dashboard, "folds")
    page.get_by_role("button", name="Deal").click()
    said = page.locator(".ecv-said")
    play = page.get_by_role("button", name="Play", exact=True)
    expect(said).to_contain_text("Fold 3 of 5")  # it plays by itself
    page.get_by_role("button", name="Pause").click()
    expect(play).to_be_visible()
    page.emulate_media(reduced_motion="reduce")  # from here a step for each press
    page.get_by_role("button", name="Hold out fold 1").click()
    every = page.locator(".ecv-card").count()
    held = []
    for fold in range(1, 6):
        expect(said).to_contain_text(f"Fold {fold} of 5 is held out")
        held.append(page.locator(".ecv-card.ecv-held").count())
        learned = page.locator(".ecv-card.ecv-train").count()
        assert f"learns from {learned} interactions" in said.inner_text()
        assert held[-1] + learned == every
        if fold < 5:
            play.click()
    assert sum(held) == every
    page.get_by_role("button", name="Hold out fold 2").click()
    expect(said).to_contain_text("Fold 2 of 5")
    slider = page.get_by_role("slider")
    slider.focus()
    slider.press("ArrowRight")
    expect(said).to_contain_text("of 6 is held out")
    expect(page).to_have_url(re.compile("chapter=folds"))  # the arrow was the slider's


@pytest.mark.slow
def test_arrow_keys_turn_the_pages_but_a_slider_keeps_its_own(
    page: Page, dashboard: Dashboard
) -> None:
    open_chapter(page, dashboard, "interval")
    slider = page.get_by_role("slider").first
    slider.focus()
    slider.press("ArrowRight")
    expect(page.get_by_text("4 folds, the mean is").first).to_be_visible()
    page.get_by_test_id("stHeading").first.click()
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile("chapter=rule"))
    expect(page.get_by_role("slider", name=re.compile("^alpha"))).to_be_visible()
    page.keyboard.press("ArrowLeft")
    expect(page).to_have_url(re.compile("chapter=interval"))


def test_alpha_moves_the_stop_in_the_browser(page: Page, dashboard: Dashboard) -> None:
    open_chapter(page, dashboard, "rule&lesson_alpha=0.001")
    slider = page.get_by_role("slider", name=re.compile("^alpha"))
    expect(slider).to_have_attribute("aria-valuetext", "1e-3")  # as it was written by hand
    page.wait_for_url(re.compile("lesson_alpha=1e-3"))
    said = page.get_by_text(re.compile(r"With alpha .* the rule")).first
    expect(said).to_be_visible()
    slider.focus()
    slider.press("Home")
    expect(page.get_by_text("needs all 10 folds").first).to_be_visible()
    slider.press("End")
    expect(page.get_by_text("stops after fold 3").first).to_be_visible()


@pytest.mark.slow
def test_the_game_is_played_to_its_end_and_on(page: Page, dashboard: Dashboard) -> None:
    open_chapter(page, dashboard, "predict&round=7")
    page.get_by_role("radio", name="5", exact=True).click()
    page.get_by_role("radio", name="1 to 2 %").click()
    placed = page.get_by_role("button", name="Bet")
    expect(placed).to_be_enabled()
    placed.click()
    expect(page.get_by_role("button", name="Next round")).to_be_visible()
    truth = re.compile("the mean of all 10, is|All 10 folds were used")
    expect(page.get_by_text(truth).first).to_be_visible()
    page.keyboard.press("n")
    expect(page).to_have_url(re.compile("round=8"))
    expect(placed).to_be_disabled()
    page.reload()
    expect(placed).to_be_visible(timeout=60_000)
    expect(page).to_have_url(re.compile("round=8"))


@pytest.mark.slow
def test_the_glossary_filters_while_typing_and_shows_the_term_of_the_address(
    page: Page, dashboard: Dashboard
) -> None:
    open_chapter(page, dashboard, "glossary&term=coverage")
    expect(page.locator("#coverage")).to_be_in_viewport()
    expect(page.locator("#coverage")).to_have_class(re.compile("ecv-here"))
    page.get_by_role("searchbox").fill("interval width")
    shown = page.locator(".ecv-entry:visible")
    expect(shown.first).to_contain_text("c_n")
    for text in shown.all_inner_texts():
        assert "interval" in text.lower()
        assert "width" in text.lower()
    page.get_by_role("searchbox").fill("no such word")
    expect(shown).to_have_count(0)
    expect(page.get_by_text("No entry has all of these words")).to_be_visible()


@pytest.mark.slow
def test_every_chapter_is_accessible(page: Page, dashboard: Dashboard) -> None:
    open_chapter(page, dashboard, "held_out")
    for chapter in CHAPTERS.values():
        heading = page.get_by_role("heading", name=chapter.question)
        expect(heading).to_be_visible()
        followed(page)
        drawn(page)
        found = Axe().run(page).response["violations"]
        bad = [one["id"] for one in found if one["impact"] in ("serious", "critical")]
        assert bad == [], chapter.id
        page.keyboard.press("ArrowRight")
