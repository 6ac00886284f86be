"""Back goes back one step, the product's name stays."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.dashboard import Dashboard
from tests.browser.tab import headed, open_from_bar

pytestmark = pytest.mark.browser


def test_back_goes_one_page_at_a_time(tab: Page, warm: Dashboard) -> None:
    """From the front page through the bar, and back."""
    tab.goto(warm.url)
    headed(tab, "Know when you have evaluated enough")
    for name, title in (
        ("Learn", "Why hide part of the data?"),
        ("Runs", "Runs"),
        ("Replay", "Replay: see why it stopped"),
        ("Home", "Know when you have evaluated enough"),
    ):
        open_from_bar(tab, name)
        headed(tab, title)
        expect(tab.get_by_test_id("stHeader").get_by_role("img", name="Logo")).to_be_visible()
    tab.go_back()
    headed(tab, "Replay: see why it stopped")
    tab.go_back()
    headed(tab, "Runs")
    tab.go_back()
    headed(tab, "Why hide part of the data?")
