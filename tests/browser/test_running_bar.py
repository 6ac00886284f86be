"""The bar of what runs: another tab sees it on every page, cancels it, and both say it is over."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from ecv_core.records.run import RunState
from ecv_core.store.store import open_store
from tests.browser.dashboard import Dashboard
from tests.browser.tab import watched_tab
from tests.browser.test_main_job import LONG, computing, start, wait_for

pytestmark = pytest.mark.browser


def test_a_reload_and_a_second_tab_see_what_runs_on_any_page_and_cancel_it(
    page: Page, profile: BrowserContext, dashboard: Dashboard
) -> None:
    run_id = start(page, dashboard, **LONG)
    wait_for(dashboard, run_id, computing)
    dashboard.hold_workers()
    page.reload()  # in the middle
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    expect(page.get_by_role("progressbar")).to_be_visible()
    with watched_tab(profile) as other:
        other.goto(f"{dashboard.url}/learn")
        expect(other.get_by_text(re.compile("NMF on Synthetic · fold 1 of 10"))).to_be_visible()
        expect(other).to_have_title(re.compile(r"^▶ 1/10 NMF on Synthetic"))
        other.get_by_role("link", name="Open").click()
        other.wait_for_url(re.compile(f"run={run_id}"))
        other.goto(f"{dashboard.url}/run")  # it opens on what runs
        other.wait_for_url(re.compile(f"run={run_id}"))
        other.get_by_role("button", name="Cancel").click()
        wait_for(dashboard, run_id, lambda run: run.state is RunState.CANCELLED)
        expect(other.get_by_role("button", name="Cancel")).to_be_hidden()
        expect(other.get_by_role("button", name="Resume")).to_be_visible()
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    expect(page).not_to_have_title(re.compile("▶"))
    assert open_store(dashboard.database_url).active() == []
