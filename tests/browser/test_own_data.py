"""From a file on the desktop to how many folds it takes, with nothing read but the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.dashboard import Dashboard
from tests.browser.test_access import CUT_OFF, at_rest, barriers

pytestmark = pytest.mark.browser


def semicolons(path: Path) -> Path:
    """As a spreadsheet in Germany saves it, with a row that has no customer."""
    rows = [
        f"Käufer {user};Artikel {item};{(user * item) % 5},5;2025-03-{1 + (user + item) % 28:02}"
        for user in range(60)
        for item in range(30)
        if (user * 7 + item * 3) % 11 < 5 + (user % 3 == item % 3) * 5
    ]
    text = "\n".join(["Kunde;Artikel;Bewertung;Datum", *rows, ";Artikel 1;3;2025-03-01", ""])
    path.write_bytes(text.encode("latin-1"))
    return path


def test_a_dropped_file_becomes_a_dataset_a_run_and_a_number_of_folds(
    page: Page, dashboard: Dashboard, tmp_path: Path
) -> None:
    page.goto(dashboard.url)
    page.get_by_role("link", name="My data").click()
    uploader = page.get_by_test_id("stFileUploader").locator("input[type=file]")
    uploader.set_input_files(semicolons(tmp_path / "Laden.csv"))
    expect(page.get_by_role("heading", name="What can be used")).to_be_visible()
    page.wait_for_url(re.compile(r"/data\?file=[0-9a-f]{32}"))
    page.reload()  # in the middle
    expect(page.get_by_text(re.compile("1 row cannot be used"))).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_function(f"({CUT_OFF})().length === 0")  # the table has its new width soon
    assert page.evaluate(CUT_OFF) == []
    assert at_rest(lambda: barriers(page)) == []
    page.set_viewport_size({"width": 1280, "height": 700})
    page.get_by_role("button", name="Keep it").click()
    expect(page.get_by_text("is a dataset now")).to_be_in_viewport()  # the button was far below
    page.get_by_role("button", name="Run one algorithm").first.click()
    page.wait_for_url(re.compile(r"/run\?dataset=laden$"))
    page.reload()  # the address keeps what was picked
    expect(page.get_by_text(re.compile("ItemKNN.* on laden"))).to_be_visible()
    page.get_by_role("button", name="Start").click()
    check = page.get_by_role("button", name="Run the remaining folds to check")
    how_many = page.get_by_test_id("stMain").get_by_role("link", name="How many folds?")
    expect(check.or_(how_many)).to_be_visible()
    if check.is_visible():
        check.click()
    how_many.click()
    page.wait_for_url(re.compile(r"/folds\?"))
    expect(page.get_by_test_id("stMain")).to_contain_text(re.compile("ItemKNN on laden"))
