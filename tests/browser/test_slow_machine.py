"""On a slow machine presses come before the page has followed the last one; none is lost."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.dashboard import Dashboard
from tests.browser.tab import click_row, followed

pytestmark = [pytest.mark.browser, pytest.mark.slow]
SLOWER = 6
"""Times, of the browser's processor."""
PRESS_BOTH = """
([first, second, pause]) => {
  const named = (name) =>
    [...document.querySelectorAll("button, summary")].find((one) => one.innerText.includes(name));
  named(first).click();
  setTimeout(() => named(second).click(), pause);
}
"""
PRESS_ONCE_THERE = """
async ([first, address, second]) => {
  const named = (name) =>
    [...document.querySelectorAll("button")].find((one) => one.innerText.includes(name));
  named(first).click();
  while (!location.search.includes(address)) await new Promise((done) => setTimeout(done));
  named(second).click();
  while (location.search.includes(address)) await new Promise((done) => setTimeout(done));
}
"""
"""The second press comes as soon as the first has its address, while its chapter is drawn."""
PRESS_WHEN_THERE = """
async ([first, second, pause]) => {
  const named = (name) =>
    [...document.querySelectorAll("button, [role=tab]")]
      .find((one) => one.innerText.trim().endsWith(name));
  named(first).click();
  await new Promise((done) => setTimeout(done, pause));
  while (!named(second)) await new Promise((done) => setTimeout(done));
  named(second).click();
}
"""
"""The second press comes after a pause, as soon as there is something to press."""
FRAMES = """async (count) => {
  while (count--) await new Promise((next) => requestAnimationFrame(next));
}"""
PAUSES = (0, 60, 200)
"""Milliseconds between two presses: the first is still on its way, or not drawn yet."""


def slow_down(page: Page) -> None:
    followed(page)
    page.wait_for_load_state("networkidle")  # what the page loads ahead is there
    session = page.context.new_cdp_session(page)
    session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})


def test_the_csv_of_a_chart_is_saved_while_its_table_opens_or_closes(
    tab: Page, warm: Dashboard, run_id: str
) -> None:
    tab.goto(f"{warm.url}/run?run={run_id}")
    expect(tab.locator('.ecv-figure[data-drawn="true"]')).to_be_visible(timeout=60_000)
    expect(tab.get_by_role("button", name="CSV", exact=True)).to_be_visible(timeout=60_000)
    slow_down(tab)
    for pause in PAUSES:
        with tab.expect_download(timeout=60_000) as download:
            tab.evaluate(PRESS_BOTH, ["Table", "CSV", pause])
        assert download.value.path().read_text("utf-8").startswith("n,fold,score,")


def test_a_report_is_saved_as_soon_as_its_tab_shows_the_button(
    tab: Page, warm: Dashboard, run_id: str
) -> None:
    for pause in PAUSES:
        tab.goto("about:blank")
        tab.goto(f"{warm.url}/run?run={run_id}")
        expect(tab.locator('.ecv-figure[data-drawn="true"]')).to_be_visible(timeout=60_000)
        followed(tab)
        tab.wait_for_load_state("networkidle")  # what the page loads ahead is there
        with tab.expect_download(timeout=60_000) as download:
            tab.evaluate(PRESS_WHEN_THERE, ["Export", "Report", pause])
        assert "<html" in download.value.path().read_text("utf-8")


def test_a_chapter_picked_while_another_is_drawn_is_the_one_that_opens(
    tab: Page, warm: Dashboard
) -> None:
    tab.goto(f"{warm.url}/learn?chapter=interval")
    expect(tab.get_by_role("button", name="Next")).to_be_enabled(timeout=60_000)
    slow_down(tab)
    tab.evaluate(PRESS_BOTH, ["3 nDCG", "6 Rule", 60])
    expect(tab).to_have_url(re.compile("chapter=rule"))
    expect(tab.get_by_role("heading", name="When is it enough?")).to_be_visible()
    tab.evaluate(PRESS_ONCE_THERE, ["3 nDCG", "chapter=ndcg", "6 Rule"])
    expect(tab).to_have_url(re.compile("chapter=rule"))
    followed(tab)
    expect(tab.get_by_role("heading", name="When is it enough?")).to_be_visible()
    expect(tab).to_have_url(re.compile("chapter=rule"))
    tab.go_back()
    expect(tab.get_by_role("heading", name="What makes a ranked list good?")).to_be_visible()


def test_a_run_opens_though_the_code_of_links_comes_late(
    tab: Page, warm: Dashboard, run_id: str
) -> None:
    held: list[Route] = []
    tab.route("**/static/js/PageLink.*", lambda code: held.append(code))
    tab.goto(f"{warm.url}/runs")
    click_row(tab, 1, at=66)  # the arrow
    expect(tab.locator(".st-key-go-there")).to_be_attached()
    followed(tab)
    tab.evaluate(FRAMES, 200)
    assert held
    for code in held:
        code.continue_()
    tab.wait_for_url(re.compile(r"/run\?run="))
