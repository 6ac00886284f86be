"""Which is best?: a recorded selection plays by itself; one of one's own runs to its verdict."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.dashboard import Dashboard
from tests.browser.tab import followed

pytestmark = pytest.mark.browser

LANES = '.st-key-best-lanes .ecv-figure[data-drawn="true"]'


def test_a_recorded_selection_plays_and_one_of_ones_own_is_decided(
    page: Page, dashboard: Dashboard
) -> None:
    page.goto(f"{dashboard.url}/best")
    expect(page.locator(LANES)).to_be_visible(timeout=60_000)
    # It plays by itself, to its last round.
    expect(page.locator(".ecv-where")).to_have_text(re.compile(r"round (\d+) of \1$"))
    expect(page.locator(LANES)).to_have_attribute(
        "aria-label", re.compile("EASE: the contender to use")
    )

    page.get_by_text("Start one of your own").click()
    start = page.get_by_role("button", name="Start the selection")
    expect(start).to_be_enabled()
    contenders = page.get_by_role("toolbar", name="Algorithms")
    for name in ("EASE", "ImplicitMF", "RP3beta"):  # leaves two, whose folds are soon computed
        contenders.get_by_role("button", name=name, exact=True).click()
    expect(contenders.get_by_role("button", pressed=True)).to_have_text(["Popularity", "ItemKNN"])
    followed(page)  # the form that opens moves the button while it is drawn
    start.click()
    decided = re.compile(r"Use .* on Synthetic.* Decided after \d+ fold")
    verdict = page.locator(".ecv-card")  # two for a moment, as the last fold comes
    expect(verdict.filter(has_text=decided)).to_be_visible(timeout=120_000)
    assert re.search(r"selection=[0-9a-f]{12}", page.url)
    expect(page.get_by_role("button", name="Start the selection")).to_be_hidden()
    page.reload()
    expect(page.locator(".ecv-card")).to_contain_text("It has the best mean")
