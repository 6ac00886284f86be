"""Every view is a link: whoever opens a copied one sees the same, also with numbers by hand."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.dashboard import Dashboard
from tests.browser.tab import followed

pytestmark = pytest.mark.browser

PATIENT = 60_000
FIGURE = '.ecv-figure[data-drawn="true"]'


def there(found: Locator) -> Locator:
    expect(found.first).to_be_visible(timeout=PATIENT)
    return found.first


def opened_elsewhere(tab: Page, seen: str | re.Pattern[str]) -> None:
    """Copy the link, open it in a session that knows nothing, and look for the same words."""
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    there(tab.get_by_role("button", name="Copy link")).click()
    expect(tab.get_by_role("button", name="Link copied")).to_be_visible()
    link = tab.evaluate("navigator.clipboard.readText()")
    tab.evaluate("localStorage.clear(); sessionStorage.clear()")
    tab.context.clear_cookies()
    tab.goto("about:blank")
    tab.goto(link)
    expect(tab.get_by_test_id("stMain")).to_contain_text(seen, timeout=PATIENT)


def said(tab: Page, words: str) -> str:
    """The whole sentence that begins so."""
    return there(tab.get_by_text(re.compile(words))).inner_text()


def written_by_hand(tab: Page, name: str, written: str) -> None:
    """A number given in the address is the slider's step, and is written there as pages do."""
    slider = tab.get_by_role("slider", name=re.compile(f"^{name}"))
    expect(slider).to_have_attribute("aria-valuetext", written, timeout=PATIENT)
    tab.wait_for_url(re.compile(re.escape(written.replace("%", "%25"))))


@pytest.mark.slow
def test_the_forms_settings_travel(tab: Page, warm: Dashboard) -> None:
    tab.goto(f"{warm.url}/run?alpha=0.001")
    written_by_hand(tab, "alpha", "1e-3")
    there(tab.get_by_role("button", name="Start"))
    tab.get_by_role("button", name="EASE", exact=True).click()
    expect(tab.get_by_text("ItemKNN and EASE on Synthetic")).to_be_visible()
    slider = tab.get_by_role("slider", name=re.compile("^alpha"))
    slider.focus()
    slider.press("Home")
    expect(tab.get_by_text("stopped by alpha 1e-7")).to_be_visible()
    opened_elsewhere(
        tab, "ItemKNN and EASE on Synthetic: nDCG@10, up to 10 folds, stopped by alpha 1e-7"
    )


@pytest.mark.slow
@pytest.mark.parametrize(("page", "more"), [("studies", ""), ("folds", "&source=Recorded")])
def test_alpha_and_the_chosen_cells_travel(
    page: str, more: str, tab: Page, warm: Dashboard
) -> None:
    tab.goto(f"{warm.url}/{page}?explore_alpha=0.001{more}")
    there(tab.locator(FIGURE))
    written_by_hand(tab, "alpha", "1e-3")
    whole = said(tab, "^With alpha ")
    there(tab.get_by_role("button", name="Choose")).click()
    there(tab.get_by_role("button", name="MovieLens 1M", exact=True)).click()
    tab.keyboard.press("Escape")
    where = "study_datasets" if page == "studies" else "datasets"
    tab.wait_for_url(re.compile(rf"[?&]{where}="), timeout=PATIENT)
    sentence = tab.get_by_text(re.compile("^With alpha ")).first
    expect(sentence).not_to_have_text(whole, timeout=PATIENT)
    slider = tab.locator(".st-key-explore-slider").get_by_role("slider")
    for _ in range(2):
        expect(slider).to_have_count(1, timeout=PATIENT)  # the one before goes with the redrawing
        slider.press("ArrowRight")
    moved = "1.6e-3"  # two steps of a tenth of a decade
    tab.wait_for_url(re.compile(f"explore_alpha={moved}"), timeout=PATIENT)
    opened_elsewhere(tab, said(tab, f"^With alpha {moved}"))


@pytest.mark.slow
def test_a_replay_travels_with_alpha_order_and_moment(
    tab: Page, warm: Dashboard, run_id: str
) -> None:
    tab.goto(f"{warm.url}/replay?run={run_id}&replay_alpha=0.001")
    there(tab.locator(FIGURE))
    written_by_hand(tab, "alpha", "1e-3")
    tab.get_by_role("button", name="Shuffle").click()
    expect(tab.get_by_text("shuffled with seed 1")).to_be_visible()
    slider = tab.get_by_role("slider", name="alpha")
    slider.press("Home")
    tab.wait_for_url(re.compile("replay_alpha=1e-7"))
    tab.get_by_role("button", name="To the end").click()
    words = re.compile("After 5 folds.*alpha = 1e-7")  # not those of the alpha before
    expect(tab.locator(".ecv-sentence").first).to_contain_text(words)
    assert "run=" in tab.url
    opened_elsewhere(tab, tab.locator(".ecv-sentence").first.inner_text())
    written_by_hand(tab, "alpha", "1e-7")


@pytest.mark.slow
def test_a_race_travels_with_its_year(tab: Page, warm: Dashboard, run_id: str) -> None:
    tab.goto(f"{warm.url}/replay?view=Race&run={run_id}")
    there(tab.locator(".ecv-lane-says"))
    box = tab.get_by_role("spinbutton", name="Folds used on average")
    box.fill("2")
    box.press("Enter")
    tab.wait_for_url(re.compile("folds_used=2"))
    year = said(tab, r"^By estimate.*\(60 %\)")
    opened_elsewhere(tab, year)


@pytest.mark.slow
def test_the_draws_of_a_chapter_travel(tab: Page, warm: Dashboard) -> None:
    tab.goto(f"{warm.url}/learn?chapter=one_fold")
    there(tab.get_by_role("button", name="Draw again")).click()
    lesson = said(tab, "^This time the first fold says")
    assert "Over 2 draws" in lesson
    opened_elsewhere(tab, lesson)


@pytest.mark.slow
def test_the_filter_of_history_travels(tab: Page, warm: Dashboard, run_id: str) -> None:
    tab.goto(f"{warm.url}/runs")
    find = there(tab.get_by_role("textbox", name="Find"))
    find.fill("nothing like it")
    find.press("Enter")
    expect(tab.get_by_text("No run matches")).to_be_visible()
    opened_elsewhere(tab, "No run matches")


@pytest.mark.slow
def test_a_tolerance_written_by_hand_is_the_sliders_step(tab: Page, warm: Dashboard) -> None:
    tab.goto(f"{warm.url}/run?rule=precision&tolerance=0.05")
    written_by_hand(tab, "Tolerance", "5%")


@pytest.mark.slow
def test_a_words_link_leads_to_its_entry(tab: Page, warm: Dashboard) -> None:
    tab.goto(f"{warm.url}/folds")
    link = there(tab.get_by_role("link", name="order", exact=True))
    with tab.context.expect_page() as opened:
        link.click()
    there(opened.value.locator("#order.ecv-here"))
    expect(opened.value.locator("#order")).to_be_in_viewport()


@pytest.mark.slow
def test_present_leaves_a_run_its_title_its_sentence_and_its_figure(
    tab: Page, warm: Dashboard, run_id: str
) -> None:
    tab.goto(f"{warm.url}/run?run={run_id}")
    there(tab.locator(FIGURE))
    there(tab.get_by_role("button", name="Present")).click()
    expect(tab.get_by_test_id("stHeader")).to_be_hidden(timeout=PATIENT)
    followed(tab)
    expect(tab.get_by_role("button", name="New run")).to_be_hidden()
    expect(tab.get_by_role("heading", name="Popularity on Synthetic")).to_be_visible()
    there(tab.locator(FIGURE))
