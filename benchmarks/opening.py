"""Seconds until everything on a page stands, and what they cost: a fresh server for each page.

python -m benchmarks.opening [home folds studies ...] [--times 4] [--width 1280]

Each page is opened in a browser that was never here, and again: once a browser has loaded a program
twice it keeps it compiled. A page stands when its script has run, figures are drawn, and nothing
has changed for a second; the time told is that of the last change. Wall-clock times say something
on an idle machine only; seconds of processor are the server's.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import psutil
from playwright.sync_api import sync_playwright

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
    data = Path(tempfile.mkdtemp())
    print("| page | " + " | ".join(f"opening {n + 1}" for n in range(options.times)) + " |")
    for page in options.pages:
        server = Dashboard(Path(tempfile.mkdtemp()), data)
        server.start()
        time.sleep(IDLE_SECONDS)
        try:
            print(f"| {page} | {' | '.join(_openings(server, page, options))} |", flush=True)
        finally:
            server.stop()


def _openings(server: Dashboard, page: str, options: argparse.Namespace) -> list[str]:
    assert server.process is not None
    process, found = psutil.Process(server.process.pid), []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch_persistent_context(
            tempfile.mkdtemp(),
            executable_path=FOR_TESTS,
            args=FLAGS,
            viewport={"width": options.width, "height": 800},
            reduced_motion="reduce",
        )
        for _ in range(options.times):
            before = sum(process.cpu_times()[:2])
            tab = browser.new_page()
            tab.add_init_script(WATCH)
            tab.goto(f"{server.url}/{'' if page == 'home' else page}")
            tab.wait_for_function(STANDS, timeout=120_000)
            seconds = tab.evaluate("window.changed / 1000")
            tab.close()
            processor = sum(process.cpu_times()[:2]) - before
            found.append(f"{seconds:.2f} s, {processor:.2f} of processor")
        browser.close()
    return found


if __name__ == "__main__":
    main()
