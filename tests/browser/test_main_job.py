"""The main job in a real browser: start, watch the stop, reload, cancel, kill, restart, resume."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from ecv_core import dataset as datasets
from ecv_core import models
from ecv_core.records.run import RunRecord, RunState
from ecv_core.store.store import open_store
from tests.browser.dashboard import Dashboard
from tests.browser.tab import click_row, followed, headed

pytestmark = pytest.mark.browser

LONG = {"algorithm": "nmf", "factors": 512, "epochs": 10_000}
"""A fit that takes far longer than any test waits, on one core, and soon begins."""


def figure(page: Page) -> Locator:
    return page.locator(".ecv-figure").first


def start(page: Page, dashboard: Dashboard, *, dataset: str = "synthetic", **model: object) -> str:
    """Start a run through the form; gives its id from the address."""
    algorithm = model.pop("algorithm", "item-knn")
    page.goto(f"{dashboard.url}/run?dataset={dataset}&algorithm={algorithm}")
    title = models.algorithm(str(algorithm)).title
    expect(page.get_by_role("button", name=title, exact=True, pressed=True)).to_be_visible()
    if model:
        page.get_by_text("Model parameters").click()
        for name, value in model.items():
            box = page.get_by_role("spinbutton", name=name)
            box.fill(str(value))
            box.press("Enter")
    page.get_by_role("button", name="Start").click()
    page.wait_for_url(re.compile(r"run=[0-9a-f]+"))
    match = re.search(r"run=([0-9a-f]+)", page.url)
    assert match
    return match[1]


def wait_for(dashboard: Dashboard, run_id: str, done: Callable[[RunRecord], bool]) -> RunRecord:
    store = open_store(dashboard.database_url)
    end = time.monotonic() + 120  # a worker yields to all else that runs
    while time.monotonic() < end:
        run = store.run(run_id)
        if done(run):
            return run
        time.sleep(0.1)
    pytest.fail(f"waited in vain: {run}")


def computing(run: RunRecord) -> bool:
    return run.progress is not None and run.progress.phase == "fit" and run.progress.step > 0


@pytest.mark.skipif(
    not datasets.available(datasets.entry("ml-100k")), reason="ml-100k is not on this machine"
)
def test_a_run_on_ml_100k_stops(page: Page, dashboard: Dashboard) -> None:
    run_id = start(page, dashboard, dataset="ml-100k")
    expect(figure(page).get_by_text(re.compile("stop after"))).to_be_visible()
    run = wait_for(dashboard, run_id, lambda run: not run.state.active)
    assert run.spec.dataset == "ml-100k"
    assert run.stopped_at is not None
    assert len(run.folds) == run.stopped_at < 10


@pytest.mark.slow
def test_a_killed_worker_is_a_sentence_and_the_dashboard_lives_on(
    page: Page, dashboard: Dashboard
) -> None:
    run_id = start(page, dashboard, **LONG)
    wait_for(dashboard, run_id, computing)
    while wait_for(dashboard, run_id, lambda run: True).state.active:  # it is tried three times
        for worker in dashboard.workers():
            worker.kill()
        time.sleep(1)
    expect(page.get_by_text(re.compile("worker process was killed.*SIGKILL"))).to_be_visible()
    assert wait_for(dashboard, run_id, lambda run: True).state is RunState.INTERRUPTED
    next_id = start(page, dashboard, algorithm="popular")
    assert wait_for(dashboard, next_id, lambda run: not run.state.active).state is RunState.FINISHED


@pytest.mark.slow
def test_a_restart_finds_the_run_interrupted_resumes_it_and_cancel_ends_it(
    page: Page, dashboard: Dashboard
) -> None:
    run_id = start(page, dashboard, **LONG)
    wait_for(dashboard, run_id, computing)
    page.goto("about:blank")  # an open page would say that its server is away
    dashboard.kill()
    dashboard.start()
    page.goto(f"{dashboard.url}/runs")
    click_row(page, 1)
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("button", name="Cancel").first).to_be_visible()
    wait_for(dashboard, run_id, computing)
    dashboard.hold_workers()
    page.goto(f"{dashboard.url}/run?run={run_id}")
    page.get_by_role("button", name="Cancel").click()  # the page's own; the bar is not here
    wait_for(dashboard, run_id, lambda run: run.state is RunState.CANCELLED)
    expect(page.get_by_role("button", name="Resume")).to_be_visible()


def test_a_row_of_the_table_opens_its_run_and_is_deleted_with_an_undo(
    page: Page, dashboard: Dashboard, run_id: str
) -> None:
    page.goto(f"{dashboard.url}/runs")
    click_row(page, 1, at=66)  # the arrow beside its box
    page.wait_for_url(re.compile(f"/run\\?run={run_id}"))
    expect(figure(page)).to_be_visible()
    page.go_back()  # one step, and nothing of the run is left in the address
    expect(page).to_have_url(f"{dashboard.url}/runs")
    headed(page, "Runs")  # the page of the run has a table, too
    click_row(page, 1)
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No runs yet")).to_be_visible()
    assert open_store(dashboard.database_url).runs() == []
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("button", name="Undo")).to_be_hidden()
    assert [run.run_id for run in open_store(dashboard.database_url).runs()] == [run_id]


@pytest.mark.slow
def test_several_algorithms_queue_and_show_together(page: Page, dashboard: Dashboard) -> None:
    page.goto(f"{dashboard.url}/run")
    chips = page.get_by_role("toolbar", name="Algorithms")
    chips.get_by_role("button", name="Popularity").click()
    expect(chips.get_by_role("button", name="Popularity", pressed=True)).to_be_visible()
    page.get_by_role("button", name="Start").click()
    page.wait_for_url(re.compile(r"run=[0-9a-f]+"))
    expect(page.get_by_role("link", name="Compare them")).to_be_visible()
    expect(page.locator(".ecv-figure")).to_have_count(1)
    main = page.get_by_test_id("stMain")
    main.evaluate("main => main.scrollTo(0, 400)")
    page.go_back()  # one step, though the form had a choice in the address
    page.wait_for_url(re.compile(r"algorithm=[^=]*$"))
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    followed(page)
    expect(page.get_by_role("heading", name="Run until")).to_be_in_viewport()
