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


def saved(page: Page, words: str, folder: Path) -> Path:
    """Figure 1, saved through its menu."""
    menu = page.get_by_role("button", name="Save this chart").first
    if menu.get_attribute("aria-expanded") == "false":
        menu.click()
    with page.expect_download() as download:
        page.get_by_role("button", name=words).first.click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def is_a_large_png(path: Path) -> None:
    assert path.name == "e-fold-popular-on-synthetic-figure-1.png"
    with Image.open(path) as picture:
        assert picture.format == "PNG"
        assert picture.width >= 3 * 760
        colours = picture.convert("RGB").getcolors(picture.width * picture.height)
    assert colours is not None
    assert len(colours) > 50
    # The page's own ground, light here, and never a hole that turns black on a slide.
    assert max(colours)[1] == (0xFB, 0xFB, 0xF9)


def is_svg_with_its_sentence(path: Path) -> None:
    root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
    svg = "{http://www.w3.org/2000/svg}"
    title = root.find(f"{svg}title")
    assert title is not None
    assert title.text is not None
    assert title.text.startswith("Popularity on Synthetic: after 5 of 5 folds")
    assert "mean so far" in "".join(root.itertext())


def opens_without_a_network_and_without_complaints(path: Path, browser: Browser) -> None:
    context = browser.new_context(offline=True)
    tab = context.new_page()
    complaints: list[str] = []
    asked: list[str] = []
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(path.as_uri())
    expect(tab.locator("#chart .scatterlayer").first).to_be_visible()
    expect(tab.locator("#chart")).to_have_attribute("aria-label", re.compile("after 5 of 5 folds"))
    tab.locator("#chart").hover()
    buttons = [one.get_attribute("data-title") or "" for one in tab.locator(".modebar-btn").all()]
    context.close()
    assert buttons
    assert not [title for title in buttons if "cloud" in title.lower() or "share" in title.lower()]
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert complaints == []


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
def test_figure_1_is_saved_by_keyboard_and_as_every_kind_of_file(
    page: Page, opened: str, browser: Browser, tmp_path: Path
) -> None:
    menu = page.get_by_role("button", name="Save this chart").first
    menu.focus()
    expect(page.locator(".ecv-save").first).to_have_css("opacity", "1")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="PNG, for slides").first).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("button", name="SVG, for print").first).to_be_focused()
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    expect(page.get_by_role("status").filter(has_text="Saved.").first).to_be_attached()
    page.keyboard.press("Escape")
    expect(menu).to_be_focused()
    expect(menu).to_have_attribute("aria-expanded", "false")
    is_svg_with_its_sentence(Path(download.value.path()))
    is_a_large_png(saved(page, "PNG", tmp_path))
    opens_without_a_network_and_without_complaints(saved(page, "HTML", tmp_path), browser)


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
