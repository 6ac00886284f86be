"""What people write about runs and datasets is no link: whoever reads it clicks on nothing."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from ecv_core.store.listing import Label, label_runs
from ecv_core.store.store import open_store
from tests.browser.dashboard import Dashboard

pytestmark = [pytest.mark.browser, pytest.mark.slow]

WRITTEN = (
    "https://evil.example/1 HTTP://evil.example/2 www.evil.example/3 ada@evil.example "
    "[text](https://evil.example/4) <https://evil.example/5> <a href='//evil.example'>6</a>"
)
LINKS = "a[href*='evil.example' i]"


@pytest.mark.parametrize(
    "address",
    ["/run?run={run}", "/runs", "/runs?view=Compare&runs={run},ml-100k--popular", "/replay"],
)
def test_names_notes_and_tags_make_no_links(
    tab: Page, warm: Dashboard, run_id: str, address: str
) -> None:
    label = Label(name=WRITTEN[:80], tags=("www.evil.example",), note=WRITTEN)
    store = open_store(warm.database_url)
    label_runs(store, {run_id: label})
    tab.goto(warm.url + address.format(run=run_id))
    expect(tab.get_by_role("heading").first).to_be_visible()
    expect(tab.get_by_test_id("stStatusWidget")).to_have_count(0)
    expect(tab.locator(LINKS)).to_have_count(0)
    label_runs(store, {run_id: Label()})


@pytest.mark.parametrize(
    "address", ["/run?dataset=", "/run?run=", "/folds?source=Recorded&datasets="]
)
def test_an_address_that_asks_for_nothing_makes_no_link(
    tab: Page, warm: Dashboard, address: str
) -> None:
    """A page repeats what it was asked for, and somebody else may have written the address."""
    tab.goto(warm.url + address + quote(WRITTEN))
    expect(tab.get_by_text("evil.example/4").first).to_be_visible()
    expect(tab.get_by_test_id("stStatusWidget")).to_have_count(0)
    expect(tab.locator(LINKS)).to_have_count(0)
