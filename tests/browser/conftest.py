"""A dashboard and a page for every browser test; both fail the test if they complain."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from tests.browser.dashboard import CHROMIUM, FLAGS, Dashboard


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
    complaints = [
        line
        for line in running.log.read_text().splitlines()
        if "Traceback" in line or "Warning" in line or "deprecat" in line.lower()
    ]
    assert complaints == []


@pytest.fixture
def page(browser: Browser, dashboard: Dashboard) -> Iterator[Page]:
    """A tab of its own session, that fails the test if the page writes errors to the console."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(30_000)
    tab = context.new_page()
    errors: list[str] = []

    def note(message: ConsoleMessage) -> None:
        expected = ("Failed to load resource", "disconnected from server")  # while it restarts
        if message.type == "error" and not any(words in message.text for words in expected):
            errors.append(message.text)

    tab.on("console", note)
    tab.on("pageerror", lambda error: errors.append(str(error)))
    yield tab
    context.close()
    assert errors == []
