"""A lecture with phones: how soon they show a step, and what they cost the lecturer's page.

python -m benchmarks.classroom [--phones 30] [--steps 8]

A browser presents a replay, first without phones and then with sockets that do what a phone's page
does. Asked: the lecturer's page is there within a second.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import threading
import time
from pathlib import Path

import psutil
from playwright.sync_api import Page, sync_playwright
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.browser.dashboard import CHROMIUM, FLAGS, Dashboard

ASKED_SECONDS = 1.0
DATA = Path(__file__).parents[1] / "data"
_BETWEEN_STEPS = 1.5
"""Seconds: a lecturer speaks meanwhile, and every phone has what came before."""


class Phone(threading.Thread):
    """What a phone's page does: it joins, and notes when something came."""

    def __init__(self, url: str, name: str) -> None:
        super().__init__(daemon=True)
        self.url = url
        self.name_of_phone = name
        self.joined = threading.Event()
        self.arrivals: list[float] = []
        """Moments at which words came."""
        self.characters = 0

    def run(self) -> None:
        """Listen until the lecture ends."""
        with connect(self.url, max_size=None) as socket:
            socket.send(self.name_of_phone)
            self.joined.set()
            try:
                for text in socket:
                    self.characters += len(text)
                    if "lines" in json.loads(text):
                        self.arrivals.append(time.monotonic())
            except ConnectionClosed:
                return


def seconds_of_step(page: Page) -> float:
    """Press for the next fold; the time until the browser has painted it."""
    return page.evaluate(
        """() => new Promise((done) => {
          const begin = performance.now();
          const figure = document.querySelector(".ecv-figure");
          figure.once("plotly_afterplot", () => requestAnimationFrame(
            () => done((performance.now() - begin) / 1000)));
          window.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
        })"""
    )


def step_through(page: Page, steps: int) -> tuple[list[float], list[float]]:
    """The moments at which a step was pressed for, and the seconds until it was painted."""
    pressed = []
    painted = []
    for _ in range(steps):
        pressed.append(time.monotonic())
        painted.append(seconds_of_step(page))
        page.wait_for_timeout(_BETWEEN_STEPS * 1000)
    return pressed, painted


def processor_seconds(dashboard: Dashboard) -> float:
    """Of the server so far."""
    assert dashboard.process is not None
    times = psutil.Process(dashboard.process.pid).cpu_times()
    return times.user + times.system


def show(words: str, seconds: list[float]) -> None:
    """One line of the answer."""
    print(f"{words}: median {statistics.median(seconds):.2f} s, longest {max(seconds):.2f} s")


def measure(dashboard: Dashboard, page: Page, phones: int, steps: int) -> None:
    """Without phones, and then with them."""
    replay = f"{dashboard.url}/replay?present=1&fold=0"
    page.goto(replay)
    page.locator(".ecv-figure[data-drawn]").first.wait_for()
    page.wait_for_timeout(3000)
    _, painted = step_through(page, steps)
    show("next fold on the lecturer's page, no phones", painted)
    page.goto(replay)
    page.get_by_role("button", name="Let phones follow").click()
    address = page.locator(".ecv-phones-code p").inner_text()
    page.locator(".ecv-figure[data-drawn]").first.wait_for()
    crowd = []
    for number in range(phones):
        phone = Phone(f"{address.replace('http', 'ws', 1)}/phone", f"phone {number}")
        phone.start()
        crowd.append(phone)
    for phone in crowd:
        assert phone.joined.wait(20), "a phone could not join"
    page.get_by_text(f"{phones} phones").wait_for()
    page.wait_for_timeout(3000)
    before = processor_seconds(dashboard)
    pressed, painted = step_through(page, steps)
    used = processor_seconds(dashboard) - before
    show(f"next fold on the lecturer's page, {phones} phones", painted)
    delays = []
    for moment in pressed:
        for phone in crowd:
            later = [arrival for arrival in phone.arrivals if arrival > moment]
            delays.append(later[0] - moment)
    show("the same on the phones", delays)
    characters = statistics.mean(phone.characters for phone in crowd) / (steps + 1)
    print(f"server: {1000 * used / steps:.0f} ms of a processor a step with {phones} phones")
    print(f"sent to a phone: about {characters / 1000:.0f} kB a step, before compression")
    if max(painted) > ASKED_SECONDS:
        raise SystemExit(f"the lecturer's page took longer than {ASKED_SECONDS:.0f} s")


def main() -> None:
    """Start a dashboard and a browser, and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--phones", type=int, default=30)
    parser.add_argument("--steps", type=int, default=8)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        dashboard = Dashboard(Path(folder), DATA)
        dashboard.start()
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            measure(dashboard, page, arguments.phones, arguments.steps)
        finally:
            browser.close()
            dashboard.stop()


if __name__ == "__main__":
    main()
