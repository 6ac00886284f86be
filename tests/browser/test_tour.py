"""The tour of docs/tour.md, walked: every word in bold or quoted is where the tour says it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from ecv_core.store.recorded import recorded_runs
from pages.learn.course import CHAPTERS
from tests.browser.dashboard import ROOT, Dashboard
from tests.browser.tab import followed, open_from_bar

pytestmark = pytest.mark.browser

TOUR = " ".join(Path(ROOT / "docs" / "tour.md").read_text("utf-8").split())


def told(words: str) -> str:
    """These words, which the tour has."""
    assert words in TOUR
    return words


def figure(page: Page) -> Locator:
    return page.locator(".ecv-figure[aria-label]").first


LANDMARKS = "h1, .ecv-figure, .ecv-card table, [data-testid=stTabs], .ecv-card"
"""What a person looks at on the page of a run, from its title to its tables."""

WATCH_TOPS = """
(landmarks) => {
  window.tops = {};
  const look = () => {
    if (document.querySelector('[data-stale="true"], [data-testid=stStatusWidget]')) return;
    const first = {};
    for (const one of document.querySelectorAll(landmarks)) {
      const kind = one.dataset.testid || one.classList[0] || one.tagName.toLowerCase();
      first[kind] ??= Math.round(one.getBoundingClientRect().y);
    }
    for (const [name, top] of Object.entries(first)) (tops[name] ??= new Set()).add(top);
  };
  const observer = new MutationObserver(() => requestAnimationFrame(look));
  observer.observe(document.body, { subtree: true, childList: true, characterData: true });
  look();
}
"""


HALF_A_LINE = 10
"""Pixels: what stands still for a reader moves less."""


def tops(page: Page) -> dict[str, list[int]]:
    """Where the first landmark of each kind has stood, whenever the page was not being drawn.

    Returns: name -> pixels from the top of the screen, since they were watched.
    """
    found = page.evaluate("Object.entries(tops).map(([name, seen]) => [name, [...seen]])")
    return {str(name): sorted(map(int, seen)) for name, seen in found}


def visit(page: Page, name: str, address: str = "") -> None:
    assert f"**{name}**" in TOUR
    open_from_bar(page, name)
    page.wait_for_url(re.compile(f"/{address or name.lower()}"))


@pytest.mark.slow
def test_the_tour_starts_a_run_that_stops_survives_a_reload_is_checked_and_replayed(
    page: Page, dashboard: Dashboard
) -> None:
    page.goto(dashboard.url)
    visit(page, "Run")
    slider = page.get_by_role("slider", name=re.compile(f"^{told('alpha')}"))
    slider.focus()
    for _ in range(3):  # 2e-4, 5e-4, 1e-3
        slider.press("ArrowRight")
    expect(page.get_by_text(re.compile(told("alpha 1e-3")))).to_be_visible()
    page.get_by_role("button", name=told("Start")).click()
    page.wait_for_url(re.compile(r"run=[0-9a-f]+"))
    expect(page.get_by_role("heading", name="ItemKNN on Synthetic")).to_be_visible()
    expect(page.locator(".ecv-card").get_by_role("row").filter(has_text="energy")).to_be_visible()
    expect(page.get_by_test_id("stTabs")).to_be_visible()
    page.evaluate(WATCH_TOPS, LANDMARKS)
    expect(figure(page).get_by_text(told("stop after 4"))).to_be_visible(timeout=60_000)
    expect(figure(page).get_by_text(told("6 folds saved"))).to_be_visible()
    sentence = figure(page).get_attribute("aria-label") or ""
    assert re.search(r"after \d of 10 folds .* the rule stopped here", sentence)
    followed(page)
    moved = {name: seen for name, seen in tops(page).items() if seen[-1] - seen[0] > HALF_A_LINE}
    assert not moved, "what stood still for its reader moves: pixels from the top"
    assert {"h1", "ecv-card", "table", "stTabs"} <= tops(page).keys()
    page.reload()
    expect(figure(page).get_by_text("stop after 4")).to_be_visible()
    assert figure(page).get_attribute("aria-label") == sentence
    expect(page.get_by_text(told("saved by the stop"), exact=True).first).to_be_visible()
    for tab in ("Repeat this run", "Export"):
        expect(page.get_by_role("tab", name=told(tab))).to_be_visible()
    page.get_by_role("button", name=told("Run the remaining folds to check")).click()
    expect(figure(page).get_by_text(re.compile("mean of all 10"))).to_be_visible()
    checked = told("difference of 0.78 % from the 0.2993 at the stop")
    expect(page.get_by_text(re.compile(f"is {told('0.2970')}, a {checked}"))).to_be_visible()
    expect(page.get_by_text(told("the stop would save"), exact=True).first).to_be_visible()
    page.get_by_test_id("stMain").get_by_role("link", name=told("Replay")).click()
    page.wait_for_url(re.compile("/replay"))
    page.get_by_role("button", name=told("To the end")).click()
    expect(figure(page)).to_have_attribute("aria-label", re.compile("rule stopped here"))
    before = figure(page).get_attribute("aria-label") or ""
    page.get_by_role("slider", name="alpha").first.focus()
    page.keyboard.press("Home")
    expect(figure(page)).not_to_have_attribute("aria-label", before)
    expect(page.get_by_role("button", name=told("Play"), exact=True)).to_be_visible()
    expect(page.get_by_role("button", name=told("Shuffle"))).to_be_visible()


@pytest.mark.slow
@pytest.mark.skipif(not recorded_runs(), reason="no recorded runs came with this copy")
def test_the_tour_of_recorded_runs_finds_what_it_names(page: Page, dashboard: Dashboard) -> None:
    page.goto(dashboard.url)
    visit(page, "How many folds?", "folds")
    expect(
        page.get_by_role("heading", name=told("All options that keep this, cheapest first"))
    ).to_be_visible()
    visit(page, "Studies")
    expect(page.get_by_role("tab", name=told("Difference"))).to_be_visible()
    visit(page, "Replay")
    page.get_by_test_id("stMain").get_by_text(told("Race"), exact=True).click()
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.get_by_role("heading", name="What would it save at scale?")).to_be_visible()
    visit(page, "Splits")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    visit(page, "Learn")
    questions = {chapter.short: chapter.question for chapter in CHAPTERS.values()}
    for chapter in ("6 Rule", "7 Traps", "12 Glossary", "11 Game"):
        page.get_by_role("radio", name=told(chapter)).click()
        expect(page.get_by_role("heading", name=questions[chapter[2:].strip()])).to_be_visible()
        followed(page)  # as one who looks at it
    expect(page.get_by_role("button", name=told("Bet"))).to_be_visible()
    expect(page.get_by_role("button", name=told("Copy link"))).to_be_visible()
