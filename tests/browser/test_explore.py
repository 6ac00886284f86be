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
    for _ in range(5):
        slider.press("ArrowRight")
    page.wait_for_function(
        "before => { const m = document.body.innerText.match(/the rule stops after ([\\d.]+)/);"
        " return m && Number(m[1]) < before; }",
        arg=before,
    )
    assert folds() < before
