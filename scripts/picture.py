"""Remake the pictures of the README from the real dashboard: `python -m scripts.picture`."""

from __future__ import annotations

import io
import re
import tempfile
import time
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, ViewportSize, expect, sync_playwright

from ecv_core import dataset as datasets
from tests.browser.dashboard import CHROMIUM, FLAGS, ROOT, Dashboard

IMAGES = ROOT / "docs" / "images"
WIDE: ViewportSize = {"width": 1180, "height": 800}
FILM_WIDTH = 940
"""Of the animated picture, in pixels; the page is drawn wider, so that its text stays sharp."""
SHOWN = {"form": 2600, "fold": 1100, "stop": 6000}
"""Milliseconds that each kind of frame stays."""
PATIENCE = 120_000
"""Milliseconds to wait for anything, on a busy machine."""
LONGEST = 900
"""Seconds that the run of the film may take to its stop."""

STILLS = {
    "explore": ("folds?alpha=0.0001", "How many folds", 90),
    "study": ("studies?alpha=0.0001", "Does it hold everywhere", 90),
    "learn": ("learn?chapter=rule", "When is it enough", 90),
}
"""Name of a picture: the address, the beginning of a heading, and how far down that shall be."""
TALL: ViewportSize = {"width": 1180, "height": 980}


def main() -> None:
    """Start a dashboard of its own, photograph it, and write docs/images/."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        dashboard = Dashboard(Path(folder), datasets.data_dir())
        dashboard.start()
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            for name in STILLS:
                still(browser, dashboard, name)
            film(browser, dashboard)
        finally:
            browser.close()
            dashboard.stop()


def film(browser: Browser, dashboard: Dashboard) -> None:
    """A run from the form to its stop, with a picture whenever a fold came."""
    dataset = "ml-100k" if datasets.available(datasets.entry("ml-100k")) else "synthetic"
    page = browser.new_page(viewport=WIDE)
    page.set_default_timeout(PATIENCE)
    page.goto(f"{dashboard.url}/run?dataset={dataset}&algorithm=multi-vae")
    start = page.get_by_role("button", name="Start")
    expect(start).to_be_enabled(timeout=PATIENCE)
    start.scroll_into_view_if_needed()
    start.hover()
    page.wait_for_timeout(1500)
    frames, durations = [photo(page)], [SHOWN["form"]]
    start.click()
    page.mouse.move(5, 5)
    page.wait_for_url(re.compile(r"run=[0-9a-f]+"))
    figure = page.locator(".ecv-figure").first
    said = ""
    end = time.monotonic() + LONGEST
    while "stopped here" not in said:
        if time.monotonic() > end:
            raise TimeoutError(f"no stop within {LONGEST} s; the figure says: {said}")
        now = figure.get_attribute("aria-label") or ""
        if now != said:
            said = now
            page.wait_for_timeout(400)
            frames.append(photo(page))
            durations.append(SHOWN["fold"])
        page.wait_for_timeout(100)
    page.wait_for_timeout(2500)  # the facts beside the figure settle after its last tick
    frames[-1], durations[-1] = photo(page), SHOWN["stop"]
    page.close()
    frames[0].save(
        IMAGES / "run.webp",
        save_all=True,
        append_images=frames[1:],
        duration=durations,
        loop=0,
        quality=78,
        method=6,
    )


def still(browser: Browser, dashboard: Dashboard, name: str) -> None:
    """One page as it looks on a notebook."""
    address, words, top = STILLS[name]
    page = browser.new_page(viewport=TALL)
    page.set_default_timeout(PATIENCE)
    page.goto(f"{dashboard.url}/{address}")
    expect(page.locator(".ecv-figure[aria-label]").first).to_be_visible(timeout=PATIENCE)
    page.wait_for_timeout(2000)
    expect(page.get_by_test_id("stStatusWidget")).to_have_count(0, timeout=PATIENCE)
    page.get_by_role("heading", name=words).last.evaluate(
        """(it, top) => {
            const main = document.querySelector("[data-testid=stMain]");
            main.scrollBy(0, it.getBoundingClientRect().top - top);
        }""",
        top,
    )
    page.wait_for_timeout(3000)
    expect(page.get_by_test_id("stStatusWidget")).to_have_count(0, timeout=PATIENCE)
    photo(page, width=TALL["width"]).save(IMAGES / f"{name}.webp", quality=82, method=6)
    page.close()


def photo(page: Page, *, width: int = FILM_WIDTH) -> Image.Image:
    """What the tab shows now, this many pixels wide."""
    image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    return image.resize(
        (width, round(image.height * width / image.width)), Image.Resampling.LANCZOS
    )


if __name__ == "__main__":
    main()
