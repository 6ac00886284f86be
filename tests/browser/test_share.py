"""Saving figures, tables, links and reports in a real browser, and opening what was saved."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from ecv_core import stopping
from ecv_core.fold.spec import make_spec
from ecv_core.records.run import RunState
from ecv_core.store.store import open_store
from tests.browser.dashboard import Dashboard
from tests.fake_folds import SCORES, fold_result

pytestmark = pytest.mark.browser


@pytest.fixture
def opened(page: Page, dashboard: Dashboard) -> str:
    """The page of a finished run, its figure drawn; gives the run's id."""
    store = open_store(dashboard.database_url)
    spec = make_spec(dataset="synthetic", algorithm="popular", k=5, rule="never")
    run_id = store.create([spec], owner="test")[0]
    folds = [fold_result(index, score) for index, score in enumerate(SCORES)]
    moments = stopping.moments(stopping.rule_for(spec), folds, spec.confidence)
    for fold, moment in zip(folds, moments, strict=True):
        store.add_fold(run_id, fold, stopped_at=5, moment=moment)
    store.finish(run_id, RunState.FINISHED)
    page.goto(f"{dashboard.url}/run?run={run_id}")
    expect(page.locator('.ecv-figure[data-drawn="true"]').first).to_be_visible(timeout=60_000)
    return run_id


def shows_the_same_view(page: Page) -> None:
    """A tab's link, copied and opened."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("tab", name="Repeat this run").click()
    page.wait_for_url(re.compile("details="))
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Link copied")).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    page.goto("about:blank")
    page.goto(link)
    expect(page.get_by_text("The same run on a command line")).to_be_visible()
    expect(page.get_by_role("heading", name="Popularity on Synthetic")).to_be_visible()


def opens_on_its_own_and_fits_one_sheet(path: Path, browser: Browser) -> None:
    context = browser.new_context(offline=True, java_script_enabled=False)
    tab = context.new_page()
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(path.as_uri())
    expect(tab.get_by_role("heading", name="Popularity on Synthetic")).to_be_visible()
    expect(tab.get_by_role("img", name=re.compile("after 5 of 5 folds"))).to_be_visible()
    sheets = re.findall(rb"/Type\s*/Page\b", tab.pdf(prefer_css_page_size=True))
    context.close()
    assert asked == [path.as_uri()]
    assert len(sheets) == 1


@pytest.mark.slow
def test_figure_1_is_saved_by_keyboard_as_svg_and_as_a_large_png(page: Page, opened: str) -> None:
    page.get_by_role("button", name="Save this chart as SVG").first.focus()
    expect(page.locator(".ecv-save").first).to_have_css("opacity", "1")
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    root = ElementTree.fromstring(Path(download.value.path()).read_text(encoding="utf-8"))
    said = "".join(root.itertext())
    assert "mean so far" in said
    assert "Popularity on Synthetic" in said
    with page.expect_download() as download:
        page.get_by_role("button", name="Save this chart as PNG").first.click()
    assert download.value.suggested_filename == "e-fold-popular-on-synthetic-figure-1.png"
    with Image.open(download.value.path()) as picture:
        assert picture.format == "PNG"
        assert picture.width >= 3 * 760
        colours = picture.convert("RGB").getcolors(picture.width * picture.height)
    assert colours is not None
    assert len(colours) > 50
    # The page's own ground, light here, and never a hole that turns black on a slide.
    assert max(colours)[1] == (0xFB, 0xFB, 0xF9)


def test_the_table_behind_the_figure_the_report_and_the_copied_link(
    page: Page, opened: str, browser: Browser, tmp_path: Path
) -> None:
    page.get_by_text("Table", exact=True).first.click()
    table = page.get_by_label(re.compile("^The numbers behind: Popularity on Synthetic"))
    expect(table.first).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="CSV", exact=True).first.click()
    lines = Path(download.value.path()).read_text().splitlines()
    assert lines[0] == "n,fold,score,mean,low,high,width,used"
    assert len(lines) == 6
    page.get_by_role("tab", name="Export").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Report").click()
    report = tmp_path / download.value.suggested_filename
    download.value.save_as(report)
    opens_on_its_own_and_fits_one_sheet(report, browser)
    shows_the_same_view(page)


@pytest.mark.slow
def test_a_printed_page_is_white_and_has_nothing_to_press(page: Page, opened: str) -> None:
    page.emulate_media(media="print")
    background = "node => getComputedStyle(node).backgroundColor"
    assert page.get_by_test_id("stApp").evaluate(background) == "rgb(255, 255, 255)"
    expect(page.locator(".ecv-card")).to_be_visible()
    expect(page.locator('.ecv-figure[data-drawn="true"]').first).to_be_visible()
    for widget in ("button", "tab", "combobox", "slider", "checkbox"):
        for element in page.locator("main").get_by_role(widget).all():
            expect(element).to_be_hidden()
    sheets = re.findall(rb"/Type\s*/Page\b", page.pdf(prefer_css_page_size=True))
    assert len(sheets) <= 2
