"""A dashboard and a page for every browser test; both fail the test if they complain."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect, sync_playwright

from ecv_core import stopping
from ecv_core.fold.spec import make_spec
from ecv_core.records.run import RunState
from ecv_core.store.store import open_store
from tests.browser.dashboard import FOR_TESTS, TEST_FLAGS, Dashboard
from tests.browser.tab import PATIENCE, VIEW, watched_tab
from tests.fake_folds import SCORES, fold_result

expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    """For contexts of one's own, that know nothing of other tests."""
    browser = playwright.chromium.launch(executable_path=FOR_TESTS, args=TEST_FLAGS)
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def profile(
    playwright: Playwright, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BrowserContext]:
    """A browser as a person has it: what it loaded and compiled once it has on disk.

    A page takes a third less of a processor to open there than in a context of its own.
    """
    context = playwright.chromium.launch_persistent_context(
        tmp_path_factory.mktemp("profile"),
        executable_path=FOR_TESTS,
        args=TEST_FLAGS,
        viewport=VIEW,
    )
    yield context
    context.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, data_dir: Path) -> Iterator[Dashboard]:
    """The one dashboard that all tests share; a start takes longer than most of them."""
    running = Dashboard(tmp_path_factory.mktemp("dashboard"), data_dir)
    yield running
    running.stop()
    assert running.complaints() == []


@pytest.fixture
def warm(server: Dashboard) -> Iterator[Dashboard]:
    """The dashboard, with whatever runs other tests left in its database."""
    if not server.is_up():  # the first test, or one after a test that killed it
        server.start()
    yield server
    assert server.complaints() == []


@pytest.fixture
def dashboard(warm: Dashboard) -> Dashboard:
    """The dashboard, nothing running and nothing in its database."""
    warm.empty()
    return warm


@pytest.fixture
def page(profile: BrowserContext, dashboard: Dashboard) -> Iterator[Page]:
    """A tab of its own session, that fails the test if the page writes errors to the console."""
    with watched_tab(profile) as tab:
        yield tab


@pytest.fixture
def run_id(warm: Dashboard) -> str:
    """A finished run that stopped early and then ran on to check; made once."""
    store = open_store(warm.database_url)
    spec = make_spec(dataset="synthetic", algorithm="popular", k=5, alpha=0.01, full=True)
    for run in store.runs():
        if run.spec == spec and run.state is RunState.FINISHED:
            return run.run_id
    run_id = store.create([spec], owner="test")[0]
    folds = [fold_result(index, score) for index, score in enumerate(SCORES)]
    moments = stopping.moments(stopping.rule_for(spec), folds, spec.confidence)
    for fold, moment in zip(folds, moments, strict=True):
        store.add_fold(run_id, fold, stopped_at=4 if moment.n >= 4 else None, moment=moment)
    store.finish(run_id, RunState.FINISHED)
    return run_id


@pytest.fixture
def tab(profile: BrowserContext, warm: Dashboard) -> Iterator[Page]:
    """As `page`, on the dashboard as others left it."""
    with watched_tab(profile) as tab:
        yield tab
