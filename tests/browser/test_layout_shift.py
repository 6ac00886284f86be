"""What is painted of a page stays where it is while the rest comes, on a phone too."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.dashboard import Dashboard

pytestmark = pytest.mark.browser

SHIFTS = """window.shifted = 0;
new PerformanceObserver((list) => list.getEntries().forEach((shift) => {
  if (!shift.hadRecentInput) window.shifted += shift.value;
})).observe({ type: "layout-shift", buffered: true });"""
"""Adds up what web.dev calls cumulative layout shift, of the whole opening."""


@pytest.mark.parametrize("width", [1280, pytest.param(390, marks=pytest.mark.slow)])
def test_home_and_the_form_move_by_less_than_a_tenth_as_they_open(
    browser: Browser, warm: Dashboard, width: int
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 800}, reduced_motion="reduce")
    tab = context.new_page()
    tab.add_init_script(SHIFTS)
    for path, last in (("/", "My scores"), ("/run", "Interval, minimum folds, energy")):
        tab.goto(warm.url + path)
        expect(tab.get_by_text(last)).to_be_attached(timeout=60_000)
        expect(tab.get_by_test_id("stStatusWidget")).to_have_count(0)
        if path == "/":
            expect(tab.locator(".ecv-lane-1")).to_be_visible()
        shifted = tab.evaluate("new Promise((done) => setTimeout(() => done(window.shifted), 100))")
        assert shifted < 0.1, path
    context.close()
