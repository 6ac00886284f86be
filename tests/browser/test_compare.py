"""Compare in a real browser: one-click example, a link that restores it, ticks in the list."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from ecv_core.fold.spec import make_spec
from ecv_core.records.run import Energy, FoldResult, RunState
from ecv_core.store.store import open_store
from tests.browser.dashboard import Dashboard
from tests.browser.tab import click_row

pytestmark = pytest.mark.browser


def figure(page: Page) -> Locator:
    return page.locator('.ecv-figure[data-drawn="true"]').first


def put(dashboard: Dashboard, algorithm: str, scores: list[float]) -> str:
    store = open_store(dashboard.database_url)
    spec = make_spec(dataset="synthetic", algorithm=algorithm)
    (run_id,) = store.create([spec], owner="test")
    for fold, score in enumerate(scores):
        result = FoldResult(
            fold=fold,
            score=score,
            metrics={"ndcg@10": score},
            users=5,
            fit_seconds=1,
            evaluate_seconds=1,
            total_seconds=2,
            energy=Energy(
                joules=36, cpu_joules=36, gpu_joules=0, ram_joules=0, grams_co2e=0, source="rapl"
            ),
        )
        store.add_fold(run_id, result, stopped_at=3 if fold > 1 else None)
    store.finish(run_id, RunState.FINISHED)
    return run_id


@pytest.mark.slow
def test_an_example_opens_with_one_click_and_its_link_restores_it(
    page: Page, dashboard: Dashboard
) -> None:
    page.goto(f"{dashboard.url}/runs?view=Compare")
    page.get_by_role("button", name="Every algorithm on MovieLens 100K").click()
    expect(figure(page)).to_be_visible(timeout=60_000)
    expect(page.get_by_text("How this is tested")).to_be_visible()
    expect(page).to_have_url(re.compile(r"runs=ml-100k--"))
    page.reload()
    expect(figure(page)).to_have_attribute(
        "aria-label", re.compile("runs on MovieLens 100K"), timeout=60_000
    )


def test_picked_runs_open_side_by_side_and_come_back(page: Page, dashboard: Dashboard) -> None:
    better = put(dashboard, "item-knn", [0.30, 0.31, 0.32])
    other = put(dashboard, "popular", [0.10, 0.11, 0.11])
    page.goto(f"{dashboard.url}/runs")
    for row in (1, 2):
        click_row(page, row)
    page.get_by_role("button", name="Compare 2 runs").click()
    page.wait_for_url(re.compile("view=Compare"))
    expect(figure(page)).to_be_visible(timeout=60_000)
    assert better in page.url
    assert other in page.url
    expect(page.get_by_text("ItemKNN is better than Popularity")).to_be_visible()
    page.get_by_text("All runs", exact=True).click()
    expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
    page.get_by_text("Compare", exact=True).click()
    expect(page.get_by_text("ItemKNN is better than Popularity")).to_be_visible()
    assert better in page.url
