"""Every page with real content: axe finds nothing, light and wide or dark and narrow."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.dashboard import Dashboard
from tests.browser.tab import drawn

pytestmark = pytest.mark.browser

FIGURE = '.ecv-figure[data-drawn="true"]'
PAGES = {
    "data": ("/data", "[data-testid=stFileUploader]"),
    "home": ("/", ".ecv-lane-says"),
    "form": ("/run", "[data-testid=stButton]"),
    "run": ("/run?run={run}", FIGURE),
    "unknown run": ("/run?run=nothing", "[data-testid=stAlert]"),
    "studies": ("/studies", FIGURE),
    "best": ("/best?selection=ml-100k&fold=3", f".st-key-best-lanes {FIGURE}"),
    "folds": ("/folds", f".st-key-stops {FIGURE}"),
    "compare": ("/runs?view=Compare&runs=ml-100k--item-knn,ml-100k--popular,{run}", FIGURE),
    "nothing to compare": ("/runs?view=Compare", "[data-testid=stButton]"),
    "replay": ("/replay?fold=4", FIGURE),
    "presentation": ("/replay?fold=4&present=1", FIGURE),
    "ranks under splits": ("/studies?view=Splits+and+ranks", f".st-key-swaps-tau-figure {FIGURE}"),
    "splits": ("/splits?split=temporal-global", f".st-key-split-toy {FIGURE}"),
    "race": ("/replay?view=Race&fold=3", ".ecv-lane-says"),
    "learn": ("/learn?chapter=rule", FIGURE),
    "game": ("/learn?chapter=predict&round=7", FIGURE),
    "glossary": ("/learn?chapter=glossary&term=alpha", ".ecv-entry"),
    "runs": ("/runs", "[data-testid=stDataFrame]"),
    "file of scores": ("/best?selection=file", "[data-testid=stFileUploader]"),
    "baselines": ("/baselines", "h2"),
    "papers": ("/studies?view=Papers", ".st-key-papers table"),
}
"""Address, and what is there once the page is."""
SIZES = ((1024, 768), (390, 844))
SCHEMES: tuple[tuple[Literal["light", "dark"], str], ...] = (
    ("light", "rgb(16, 24, 31)"),
    ("dark", "rgb(230, 234, 237)"),
)
"""The look in which each size is looked at, and the colour that its text then has."""
HAS_TEXT_COLOUR = """(colour) =>
  getComputedStyle(document.querySelector(".stApp")).color === colour"""

CUT_OFF = """() => {
  const wide = document.documentElement.scrollWidth - innerWidth;
  const cut = [...document.querySelectorAll(
    '[data-testid=stMain] :is(button, input, select, a, [role=slider], [role=tab])')]
    .filter((one) => one.checkVisibility() && one.getBoundingClientRect().width > 1)
    .filter((one) => {
      if (one.getBoundingClientRect().right <= innerWidth + 1) return false;
      for (let box = one.parentElement; box; box = box.parentElement) {
        if (box.dataset.testid === 'stMain') return true;
        if (['auto', 'scroll'].includes(getComputedStyle(box).overflowX)) return false;
        if (box.offsetWidth <= 1) return false;  // a slider's own input, for its keyboard alone
      }
      return true;
    })
    .map((one) => one.outerHTML.slice(0, 120));
  const hides = [...document.querySelectorAll('[data-testid=stMain] [role=radiogroup]')]
    .filter((one) => one.scrollWidth > one.clientWidth + 1)
    .filter((one) => !one.closest('.st-key-learn-chapter'))  // Back and Next lead there
    .map((one) => `out of sight: one of ${one.innerText}`);
  return [...(wide > 0 ? [`${wide} pixels too wide`] : []), ...cut, ...hides];
}"""
"""Surplus width, controls beyond the edge that no box of their own scrolls to, and choices
of which one is out of sight."""


def barriers(page: Page) -> list[str]:
    """What axe finds, minor things too: the rule and where."""
    found = []
    for violation in Axe().run(page).response["violations"]:
        for node in violation["nodes"]:
            found.append(f"{violation['id']}: {node['target']} {node['html'][:150]}")
    return found


FIRST = ("form", "run")
"""Pages that everybody sees."""


def at_rest(look: Callable[[], list[str]], seconds: float = 15) -> list[str]:
    """What a look finds for so long: a page that changes size or colour takes its time."""
    end = time.monotonic() + seconds
    while (found := look()) and time.monotonic() < end:
        pass
    return found


@pytest.mark.parametrize(
    "name",
    [name if name in FIRST else pytest.param(name, marks=pytest.mark.slow) for name in PAGES],
)
def test_every_page_is_accessible_in_light_and_in_dark_and_narrow(
    name: str, tab: Page, warm: Dashboard, run_id: str
) -> None:
    address, there = PAGES[name]
    tab.goto(warm.url + address.format(run=run_id))
    expect(tab.locator(there).first).to_be_visible(timeout=60_000)
    drawn(tab)
    # What the driver asks of a page counts as a press, after which Present takes the whole screen.
    tab.evaluate("document.fullscreenElement && document.exitFullscreen()")
    found = {}
    for (width, height), (scheme, text_colour) in zip(SIZES, SCHEMES, strict=True):
        tab.set_viewport_size({"width": width, "height": height})
        tab.emulate_media(color_scheme=scheme)
        tab.wait_for_function(HAS_TEXT_COLOUR, arg=text_colour)
        drawn(tab)
        found[f"{width} pixels wide"] = at_rest(lambda: tab.evaluate(CUT_OFF))
        found[f"axe, {scheme}, {width} pixels wide"] = at_rest(lambda: barriers(tab))
    assert {when: what for when, what in found.items() if what} == {}
