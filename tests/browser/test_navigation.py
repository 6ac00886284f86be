"""Old addresses lead to the new place, Back goes back one step, the product's name stays."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.dashboard import Dashboard
from tests.browser.tab import open_from_bar

pytestmark = pytest.mark.browser


def headed(tab: Page, title: str) -> None:
    expect(tab.get_by_role("heading", level=1)).to_have_text(title, timeout=60_000)


def test_an_old_link_leads_to_the_new_place_and_back_goes_one_page_at_a_time(
    tab: Page, warm: Dashboard
) -> None:
    tab.goto(warm.url)
    headed(tab, "Know when you have evaluated enough")
    for old, new, title in (
        ("race?fold=3", r"/replay\?fold=3&view=Race", "Race: e-fold against k-fold"),
        ("compare?runs=ml-100k--ease", r"/runs\?runs=ml-100k--ease&view=Compare", "Compare runs"),
    ):
        tab.goto(f"{warm.url}/{old}")
        tab.wait_for_url(re.compile(new))
        headed(tab, title)
    tab.go_back()
    headed(tab, "Race: e-fold against k-fold")
    tab.go_back()
    headed(tab, "Know when you have evaluated enough")
    goes_back_one_page_at_a_time(tab)


def goes_back_one_page_at_a_time(tab: Page) -> None:
    """From the page with the form, through the bar and back."""
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
