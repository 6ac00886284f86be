"""Seconds until everything on a page stands, and what they cost: a fresh server for each page.

python -m benchmarks.opening [home folds studies empty ...] [--times 4] [--width 1280]

Each page is opened in a browser that was never here, and again: once a browser has loaded a program
twice it keeps it compiled. A page stands when its script has run, figures are drawn, and nothing
has changed for a second; the time told is that of the last change. Wall-clock times say something
on an idle machine only; seconds of processor are the server's and the browser's. The page `empty`
is a Streamlit page with one chart, of a server of its own: nothing of ours.
"""

from __future__ import annotations

import argparse
import time
from contextlib import ExitStack, suppress
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
    "empty",
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
        with Visit(page, options.width) as visit:
            for _ in range(options.times):
                clock, processor = visit.opened()
                cells.append(f"{clock:.2f} s, {processor:.2f} of processor")
        print(f"| {page} | {' | '.join(cells)} |", flush=True)


class EmptyPage(Dashboard):
    """A server of `benchmarks/empty_page.py`."""

    script = "benchmarks/empty_page.py"


class Visit:
    """A page of a fresh server, and a browser that was never there."""

    def __init__(self, page: str, width: int = 1280) -> None:
        """Nothing starts yet.

        Args:
            page: as in `PAGES`.
            width: of the window, in pixels.
        """
        self._page = page
        self._width = width
        self._open = ExitStack()

    def __enter__(self) -> Self:
        data = Path(self._open.enter_context(TemporaryDirectory()))
        folder = Path(self._open.enter_context(TemporaryDirectory()))
        profile = self._open.enter_context(TemporaryDirectory())
        server = Dashboard
        if self._page == "empty":
            server = EmptyPage
        self._server = server(folder, data)
        self._server.start()
        self._open.callback(self._server.stop)
        time.sleep(IDLE_SECONDS)
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

    def opened(self) -> tuple[float, float]:
        """Open the page in a tab of its own: seconds by the clock, and of the processor."""
        before = _processor_seconds()
        tab = self._stands()
        clock = tab.evaluate("window.changed / 1000")
        processor = _used_since(before)  # a tab's own process ends with it
        tab.close()
        return clock, processor

    def first_fold(self) -> tuple[float, float]:
        """Press Start on the page Run: the same seconds until its first fold is kept."""
        tab = self._stands()
        store = open_store(self._server.database_url)
        before = _processor_seconds()
        begin = time.perf_counter()
        tab.get_by_role("button", name="Start", exact=True).click()
        while not any(run.folds for run in store.runs()):
            tab.wait_for_timeout(20)
        clock = time.perf_counter() - begin
        processor = _used_since(before)
        tab.close()
        return clock, processor

    def _stands(self) -> Page:
        """A tab in which everything on the page stands."""
        tab = self._browser.new_page()
        tab.add_init_script(WATCH)
        address = self._page
        if address in ("home", "empty"):
            address = ""
        tab.goto(f"{self._server.url}/{address}")
        tab.wait_for_function(STANDS, timeout=120_000)
        return tab


def _processor_seconds() -> dict[int, float]:
    """What each process of the server and the browser has used so far.

    They are children of this process, by whose numbers they are told apart.
    """
    seconds = {}
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it may end by itself meanwhile
            times = process.cpu_times()
            seconds[process.pid] = times.user + times.system
    return seconds


def _used_since(before: dict[int, float]) -> float:
    """Seconds of the processor that these processes, and those begun since, have used."""
    used = 0.0
    for pid, seconds in _processor_seconds().items():
        used += seconds - before.get(pid, 0.0)
    return used


if __name__ == "__main__":
    main()
