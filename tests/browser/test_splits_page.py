"""Splits in a real browser: the toy follows the fold at once, and the address keeps the choice."""

from __future__ import annotations

import csv
import re
import zipfile

import pytest
from playwright.sync_api import Page, expect

from tests.browser.dashboard import Dashboard
from tests.browser.tab import followed

pytestmark = pytest.mark.browser


def opened(page: Page, dashboard: Dashboard, query: str = "") -> None:
    page.goto(f"{dashboard.url}/splits{query}")
    expect(page.get_by_role("heading", name="Use this split")).to_be_visible(timeout=60_000)
    expect(page.locator('.ecv-figure[data-drawn="true"]')).to_have_count(1, timeout=30_000)


HELD_OUT_DAYS = (
    "JSON.stringify([...document.querySelectorAll('.ecv-figure')]"
    ".map(node => (node.data ?? []).find(one => one.name === 'test'))"
    ".find(one => one?.type === 'scatter').x)"
)


def held_out_days(page: Page) -> str:
    """Where the toy's figure has its marks of the part 'test'."""
    return str(page.evaluate(HELD_OUT_DAYS))


@pytest.mark.slow
def test_moving_the_fold_or_picking_another_strategy_moves_the_address(
    page: Page, dashboard: Dashboard
) -> None:
    opened(page, dashboard)
    before = held_out_days(page)
    slider = page.get_by_role("slider").first
    slider.focus()
    slider.press("ArrowRight")
    page.wait_for_url(re.compile("fold=1"))
    expect(page.get_by_text("In fold 2,")).to_be_visible()
    page.wait_for_function(f"before => {HELD_OUT_DAYS} !== before", arg=before)
    moved = held_out_days(page)
    page.reload()
    expect(page.get_by_text("In fold 2,")).to_be_visible(timeout=30_000)
    expect(page.locator('.ecv-figure[data-drawn="true"]').first).to_be_visible(timeout=30_000)
    assert held_out_days(page) == moved
    k_stays_in_the_address_after_another_strategy_was_picked(page)


def k_stays_in_the_address_after_another_strategy_was_picked(page: Page) -> None:
    box = page.get_by_role("combobox", name="Fold strategy")
    box.click()
    box.fill("Random share")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("split=Random.share"))
    expect(page.get_by_role("spinbutton", name="test")).to_be_visible()
    folds = page.get_by_role("spinbutton", name="Folds (k)")
    folds.fill("4")
    folds.press("Enter")
    page.wait_for_url(re.compile("k=4"))


def test_the_run_page_opens_with_the_split_and_the_zip_holds_it(
    page: Page, dashboard: Dashboard
) -> None:
    opened(page, dashboard, "?split=leave-one-out&k=3&seed=5")
    with page.expect_popup() as popup:
        page.get_by_role("link", name="Run with this split").click()
    run = popup.value
    expect(run.get_by_text("up to 3 folds")).to_be_visible(timeout=30_000)
    expect(run.get_by_role("combobox", name="Fold strategy")).to_have_value("One at random")
    expect(run.get_by_role("spinbutton", name="Seed")).to_have_value("5")
    with page.expect_download() as download:
        page.get_by_role("button", name="ZIP with CSV files").click()
    assert download.value.suggested_filename == "synthetic-leave-one-out-seed5.zip"
    with zipfile.ZipFile(download.value.path()) as archive:
        names = archive.namelist()
        assert {"README.md", "fold-0.csv", "fold-2.csv"} <= set(names)
        assert "fold-3.csv" not in names


@pytest.mark.slow
def test_another_reference_is_told_in_another_sentence_and_the_csv_holds_the_ranks(
    tab: Page, warm: Dashboard
) -> None:
    tab.goto(f"{warm.url}/studies")
    tab.get_by_text("Splits and ranks", exact=True).click(timeout=60_000)
    expect(tab.get_by_role("heading", name="Ranks under each split")).to_be_visible(timeout=60_000)
    said = tab.get_by_text(re.compile(r"of algorithms that swap")).first
    expect(said).to_contain_text(re.compile(r"Under .+ beats "))
    before = said.inner_text()
    box = tab.get_by_role("combobox", name="Reference split")
    usual = box.input_value()
    box.click()
    options = tab.get_by_role("option")
    other = next(text for text in options.all_inner_texts() if text.strip() != usual)
    options.filter(has_text=other).first.click()
    tab.wait_for_url(re.compile("swaps_reference="))
    expect(tab.get_by_text(before, exact=True)).to_have_count(0)
    followed(tab)
    with tab.expect_download() as download:
        tab.get_by_role("button", name="CSV").first.click()
    rows = list(csv.DictReader(download.value.path().read_text().splitlines()))
    assert list(rows[0])[:4] == ["dataset", "metric", "split", "algorithm"]
    assert rows[0]["split"] == other.strip()  # the reference's come first
