"""A lecture: two phones follow the lecturer's page and fold, bet in the game, and hear of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.browser.dashboard import Dashboard
from tests.browser.tab import followed

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PHONE: ViewportSize = {"width": 390, "height": 844}


@pytest.fixture
def phones(browser: Browser) -> Iterator[list[Page]]:
    contexts = [browser.new_context(viewport=PHONE, has_touch=True) for _ in range(2)]
    yield [context.new_page() for context in contexts]
    for context in contexts:
        context.close()


def bet(phone: Page, fold: int, bracket: str) -> None:
    """Press for the fold of the stop, and for how far its mean is off."""
    expect(phone.locator("fieldset")).to_have_count(2)
    phone.locator("fieldset").nth(0).get_by_role("button", name=str(fold), exact=True).click()
    phone.locator("fieldset").nth(1).get_by_role("button", name=bracket, exact=True).click()
    expect(phone.get_by_text("Your bet is in.")).to_be_visible()


def test_phones_bet_in_the_game_and_the_hall_sees_who_was_nearest(
    page: Page, dashboard: Dashboard, phones: list[Page]
) -> None:
    page.goto(f"{dashboard.url}/learn?chapter=predict&round=7")
    page.get_by_role("button", name="Let phones follow").click()
    address = page.locator(".ecv-phones-code p").inner_text()
    chart = page.locator(".ecv-figure[data-drawn]").first.bounding_box()
    panel = page.locator(".ecv-phones").bounding_box()
    assert chart is not None
    assert panel is not None
    assert chart["x"] + chart["width"] <= panel["x"]  # the code covers nothing of it
    for place, phone in enumerate(phones):
        phone.goto(address)
        expect(phone.get_by_text(f"You follow the lecture as phone {place + 1}.")).to_be_visible()
        assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")
    brackets = phones[0].locator("fieldset").nth(1).get_by_role("button")
    expect(brackets.first).to_be_visible()
    bracket = brackets.first.inner_text()
    folds = (4, 9)
    for phone, fold in zip(phones, folds, strict=True):
        bet(phone, fold, bracket)
    expect(page.get_by_text("2 phones, 2 bets")).to_be_visible()
    question = page.locator(".st-key-learn-bet")
    question.get_by_text("4", exact=True).click()
    followed(page)
    question.get_by_text(bracket, exact=True).click()
    followed(page)
    page.get_by_role("button", name="Bet").click()
    expect(page.get_by_text("The hall")).to_be_visible()
    outcome = page.locator(".st-key-learn").inner_text()
    stop = int(re.findall(r"the rule stopped after fold (\d+)", outcome)[0])
    right = "which is right" in outcome
    points = [max(2 - abs(fold - stop), 0) + right for fold in folds]
    nearest = [str(place + 1) for place in range(2) if points[place] == max(points)]
    expect(page.locator("p", has_text="The hall")).to_contain_text(
        re.compile(rf"nearest with {max(points)} of 3 points phones? {', '.join(nearest)}\.")
    )
    expect(page.get_by_text(re.compile("^Bets on fold 4: 1, fold 9: 1; on "))).to_be_visible()
    for phone, fold, own in zip(phones, folds, points, strict=True):
        told = re.compile(rf"You bet on fold {fold} and .*: {own} of 3 points\.")
        expect(phone.get_by_text(told)).to_be_visible()


def test_phones_follow_the_lecturer_to_another_page_and_from_fold_to_fold(
    page: Page, dashboard: Dashboard, phones: list[Page]
) -> None:
    page.goto(f"{dashboard.url}/learn?chapter=interval")
    page.get_by_role("button", name="Let phones follow").click()
    address = page.locator(".ecv-phones-code p").inner_text()
    for phone in phones:
        phone.goto(address)
        expect(phone.get_by_role("heading", name="How sure is the mean?")).to_be_visible()
    page.get_by_role("button", name="Next").click()
    for phone in phones:
        expect(phone.get_by_role("heading", name="When is it enough?")).to_be_visible()
    # The phones may be ahead of the page, and the chapter before has a slider, too.
    expect(page.get_by_role("heading", name="When is it enough?")).to_be_visible()
    followed(page)
    page.get_by_role("slider").first.focus()
    page.keyboard.press("End")
    for phone in phones:
        expect(phone.get_by_text(re.compile("^With alpha 0.01, the rule stops"))).to_be_visible()
        expect(phone.get_by_role("img")).to_be_visible()
    page.get_by_role("button", name="Results").click()
    page.get_by_role("menuitem", name="Replay", exact=True).click()
    for phone in phones:
        expect(phone.get_by_role("heading", name=re.compile("Replay"))).to_be_visible()
    page.get_by_role("button", name="To the start").click()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    for phone in phones:
        expect(phone.get_by_text(re.compile("^After 2 folds"))).to_be_visible()
    page.get_by_role("button", name="End", exact=True).click()
    for phone in phones:
        expect(phone.get_by_text("The lecture is over. Nothing was kept.")).to_be_visible()
