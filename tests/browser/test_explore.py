"""How many folds? in a real browser: recorded runs at once, and the slider moves every number."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.dashboard import Dashboard

pytestmark = pytest.mark.browser


def test_moving_alpha_changes_the_sentence_and_fewer_folds_are_used(
    page: Page, dashboard: Dashboard
) -> None:
    page.goto(f"{dashboard.url}/folds")
    sentence = page.get_by_text(
        re.compile(r"With alpha .* the rule stops after [\d.]+ of 10 folds")
    )
    expect(sentence.first).to_be_visible(timeout=60_000)
    expect(page.locator('.ecv-figure[data-drawn="true"]').first).to_be_visible(timeout=30_000)

    def folds() -> float:
        found = re.search(r"stops after ([\d.]+)", sentence.first.inner_text())
        assert found
        return float(found[1])

    before = folds()
    slider = page.get_by_role("slider").first
    slider.focus()
    slider.press("End")
    page.wait_for_function(
        "before => { const m = document.body.innerText.match(/the rule stops after ([\\d.]+)/);"
        " return m && Number(m[1]) < before; }",
        arg=before,
    )
    assert folds() < before


MIDDLE_OF_A_RUN = """() => {
  const node = document.querySelector(".ecv-figure"), { left, top } = node.getBoundingClientRect();
  const { xaxis, yaxis } = node._fullLayout;
  const lines = node._fullData.filter((one) => one.opacity < 0.5 && one.mode === "lines");
  const at = (line) => line.y[line.x.length >> 1];
  const line = lines.reduce((high, one) => (at(one) > at(high) ? one : high));
  return [
    left + xaxis._offset + xaxis.l2p(line.x[line.x.length >> 1]),
    top + yaxis._offset + yaxis.l2p(at(line)),
  ];
}"""
"""Of the highest line, which no other crosses: its place on the screen."""


@pytest.mark.slow
def test_a_click_on_the_line_of_a_run_plays_it(page: Page, dashboard: Dashboard) -> None:
    page.goto(f"{dashboard.url}/folds")
    expect(page.locator('.ecv-figure[data-drawn="true"]').first).to_be_visible()
    expect(page.get_by_text("each run", exact=True)).to_be_visible()
    page.mouse.move(*page.evaluate(MIDDLE_OF_A_RUN), steps=3)
    page.locator(".hoverlayer .hovertext").first.wait_for()
    page.mouse.click(*page.evaluate(MIDDLE_OF_A_RUN))
    page.wait_for_url(re.compile(r"/replay\?run=[0-9a-f]{12}"))
