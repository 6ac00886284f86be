"""A dashboard and a page for every browser test; both fail the test if they complain."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from ecv_core import stopping
from ecv_core.records import RunState
from ecv_core.spec import make_spec
from ecv_core.store import open_store
from tests.browser.dashboard import CHROMIUM, FLAGS, Dashboard
from tests.browser.tab import watched_tab
from tests.jobs import SCORES, fold_result


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def dashboard(tmp_path: Path, data_dir: Path) -> Iterator[Dashboard]:
    running = Dashboard(tmp_path, data_dir)
    running.start()
    yield running
    running.stop()
    assert running.complaints() == []


@pytest.fixture
def page(browser: Browser, dashboard: Dashboard) -> Iterator[Page]:
    """A tab of its own session, that fails the test if the page writes errors to the console."""
    with watched_tab(browser) as tab:
        yield tab


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory, data_dir: Path) -> Iterator[Dashboard]:
    """One dashboard for a whole module, where no test minds what another did."""
    running = Dashboard(tmp_path_factory.mktemp("warm"), data_dir)
    running.start()
    yield running
    running.stop()
    assert running.complaints() == []


@pytest.fixture(scope="module")
def run_id(warm: Dashboard) -> str:
    """A finished run that stopped early and then ran on to check."""
    store = open_store(warm.database_url)
    spec = make_spec(dataset="synthetic", algorithm="popular", k=5, alpha=0.01, full=True)
    run_id = store.create([spec], owner="test")[0]
    folds = [fold_result(index, score) for index, score in enumerate(SCORES)]
    moments = stopping.moments(stopping.rule_for(spec), folds, spec.confidence)
    for fold, moment in zip(folds, moments, strict=True):
        store.add_fold(run_id, fold, stopped_at=4 if moment.n >= 4 else None, moment=moment)
    store.finish(run_id, RunState.FINISHED)
    return run_id


@pytest.fixture
def tab(browser: Browser, warm: Dashboard) -> Iterator[Page]:
    """As `page`, on the warm dashboard."""
    with watched_tab(browser) as tab:
        yield tab
