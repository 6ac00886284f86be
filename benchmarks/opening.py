"""Seconds until everything on a page stands, and what they cost: a fresh server for each page.

python -m benchmarks.opening [home folds studies ...] [--times 4] [--width 1280]

Each page is opened in a browser that was never here, and again: once a browser has loaded a program
twice it keeps it compiled. A page stands when its script has run, figures are drawn, and nothing
has changed for a second; the time told is that of the last change. Wall-clock times say something
on an idle machine only; seconds of processor are the server's.
"""

from __future__ import annotations

import argparse
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

import psutil
from playwright.sync_api import Page, sync_playwright

from ecv_core.store.store import open_store
from tests.browser.dashboard import FLAGS, FOR_TESTS, Dashboard

PAGES = [
    "home",
    "learn",
    "data",
    "run",
    "best",
    "folds",
    "runs",
    "replay",
    "studies",
    "splits",
    "baselines",
]
"""As their addresses name them."""
WATCH = """
window.changed = 0;
new MutationObserver((all) => {
  const outside = (one) => !one.target.parentElement?.closest("[data-testid=stStatusWidget]");
  if (all.some(outside)) window.changed = performance.now();
}).observe(document, { subtree: true, childList: true, characterData: true, attributes: true });"""
STANDS = """() => performance.now() - window.changed > 1000
  && document.querySelector("[data-testid=stMain] :is(h1, h2, p)")
  && !document.querySelector(
    "[data-testid=stStatusWidget], [data-stale=true], [data-testid=stSpinner]")
  && [...document.querySelectorAll(".ecv-figure")]
    .every((one) => one.dataset.drawn === "true" || !one.checkVisibility())"""
IDLE_SECONDS = 3.0
"""Between the start of the server and the first opening: it loads ahead what pages need."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("pages", nargs="*", default=PAGES)
    parser.add_argument("--times", type=int, default=4)
    parser.add_argument("--width", type=int, default=1280)
    options = parser.parse_args()
    print("| page | " + " | ".join(f"opening {n + 1}" for n in range(options.times)) + " |")
    for page in options.pages:
        cells = []
        with Visit(options.width) as visit:
            for _ in range(options.times):
                clock, processor = visit.opened(page)
                cells.append(f"{clock:.2f} s, {processor:.2f} of processor")
        print(f"| {page} | {' | '.join(cells)} |", flush=True)


class Visit:
    """A fresh server, and a browser that was never there."""

    def __init__(self, width: int = 1280) -> None:
        """Nothing starts yet. Args: width: of the window, in pixels."""
        self._width = width
        self._open = ExitStack()

    def __enter__(self) -> Self:
        data = Path(self._open.enter_context(TemporaryDirectory()))
        folder = Path(self._open.enter_context(TemporaryDirectory()))
        profile = self._open.enter_context(TemporaryDirectory())
        self._server = Dashboard(folder, data)
        self._server.start()
        self._open.callback(self._server.stop)
        time.sleep(IDLE_SECONDS)
        assert self._server.process is not None
        self._process = psutil.Process(self._server.process.pid)
        playwright = self._open.enter_context(sync_playwright())
        self._browser = playwright.chromium.launch_persistent_context(
            profile,
            executable_path=FOR_TESTS,
            args=FLAGS,
            viewport={"width": self._width, "height": 800},
            reduced_motion="reduce",
        )
        self._open.callback(self._browser.close)
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def opened(self, page: str) -> tuple[float, float]:
        """Open a page in a tab of its own: seconds by the clock, and of the server's processor."""
        before = self._processor_seconds()
        tab = self._stands(page)
        clock = tab.evaluate("window.changed / 1000")
        tab.close()
        return clock, self._processor_seconds() - before

    def first_fold(self) -> tuple[float, float]:
        """Press Start on the page Run: the same seconds until its first fold is kept."""
        tab = self._stands("run")
        store = open_store(self._server.database_url)
        before = self._processor_seconds()
        begin = time.perf_counter()
        tab.get_by_role("button", name="Start", exact=True).click()
        while not any(run.folds for run in store.runs()):
            tab.wait_for_timeout(20)
        clock = time.perf_counter() - begin
        tab.close()
        return clock, self._processor_seconds() - before

    def _stands(self, page: str) -> Page:
        """A tab in which everything on a page stands."""
        tab = self._browser.new_page()
        tab.add_init_script(WATCH)
        address = "" if page == "home" else page
        tab.goto(f"{self._server.url}/{address}")
        tab.wait_for_function(STANDS, timeout=120_000)
        return tab

    def _processor_seconds(self) -> float:
        times = self._process.cpu_times()
        return times.user + times.system


if __name__ == "__main__":
    main()
