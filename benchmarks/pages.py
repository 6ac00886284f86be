"""How long pages take to open, and charts to follow the slider, in a real browser.

python -m benchmarks.pages [--moves 40] [--visits 5] [--runs 2000] [--only table]

Prints markdown, measured on this machine in this run. A page is usable when its first chart is
painted, or where it has none, its first control is there. It is reached from Runs in a new tab,
as by a person who goes from page to page, and opened by its address, where Streamlit's own start in
the browser counts too: `runs` has little else. A move runs from the key press inside the browser
to the frame after the chart in sight has been redrawn. The table of Runs is filled with finished
runs of ten folds, and is there once its rows are announced and drawn; other pages are opened beside
so many runs after it.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, sync_playwright

from ecv_core.models import ALGORITHMS
from ecv_core.records import RunState
from ecv_core.spec import make_spec
from ecv_core.store import open_store
from ecv_core.store.schema import folds, runs
from tests.browser.dashboard import CHROMIUM, FLAGS, Dashboard
from tests.fake_folds import fold_result

VIEW: ViewportSize = {"width": 1280, "height": 900}
DRAWN = '.ecv-figure[data-drawn="true"]'
OPENED = {
    "": "button:has-text('Start')",
    "learn": DRAWN,
    "folds": DRAWN,
    "splits": DRAWN,
    "runs": "[data-testid=stMain] h1",
    "studies": DRAWN,
    "replay": DRAWN,
}
"""Page -> what is there when it can be used."""
NAMES = {"folds": "How many folds?"}

MOVED = {
    "How many folds?, one system (promise: 150 ms)": (
        "folds?datasets=ml-100k&algorithms=item-knn",
        ".st-key-tradeoff",
    ),
    "How many folds?, all runs (promise: 300 ms)": ("folds", ".st-key-tradeoff"),
    "Studies, figures 2 and 3": ("studies", ".st-key-study-figures"),
    "Studies, figure 4": ("studies", ".st-key-study-ranks-figure"),
}
"""What moves -> its address and the element that holds the chart."""

MEASURE = """(chart) => {
  const node = document.querySelector(`${chart} .ecv-figure`) ?? document.querySelector(chart);
  window.ecvTime = undefined;
  document.addEventListener("keydown", () => {
    const begin = performance.now();
    const painted = () => { window.ecvTime = performance.now() - begin; };
    const figure = node.classList.contains("ecv-figure") ? node : node.querySelector(".ecv-figure");
    // Two frames after Plotly says that it is done, the picture is on the screen.
    figure.once("plotly_afterplot", () => requestAnimationFrame(() =>
      requestAnimationFrame(painted)));
  }, {once: true, capture: true});
}"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moves", type=int, default=40)
    parser.add_argument("--visits", type=int, default=5)
    parser.add_argument("--runs", type=int, default=2000, help="rows of the table of Runs")
    parser.add_argument("--only", choices=["table"], help="pages beside so many runs alone")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        dashboard = Dashboard(Path(folder), Path(folder))
        try:
            dashboard.start()
            if wanted.only is None:
                _pages(browser, dashboard.url, wanted.visits)
                _sliders(browser, dashboard.url, wanted.moves)
            _table(browser, dashboard, wanted.runs, wanted.visits)
        finally:
            dashboard.stop()
            browser.close()


def _pages(browser: Browser, url: str, visits: int) -> None:
    print("| page | server's first, s | from Runs, s | by its address, s |")
    print("|---|---|---|---|")
    context = browser.new_context(viewport=VIEW)  # keeps what it has loaded once
    for name, there in OPENED.items():
        first = _open(context, f"{url}/{name}", there)
        opened = [_open(context, f"{url}/{name}", there) for _ in range(visits)]
        reached = [_reach(context, url, name) for _ in range(visits)]
        print(
            f"| {name or 'run'} | {first:.2f} | {statistics.median(reached):.2f} "
            f"| {statistics.median(opened):.2f} |"
        )


def _sliders(browser: Browser, url: str, moves: int) -> None:
    print("\n| slider | median ms | 95th percentile ms |\n|---|---|---|")
    for name, (address, chart) in MOVED.items():
        moved = _moves(browser, f"{url}/{address}", chart, moves)
        p95 = moved[int(0.95 * (len(moved) - 1))]
        print(f"| {name} | {statistics.median(moved):.0f} | {p95:.0f} |")


def _table(browser: Browser, dashboard: Dashboard, many: int, visits: int) -> None:
    """The table of Runs with so many rows: opened, and searched."""
    context = browser.new_context(viewport=VIEW)
    url = f"{dashboard.url}/runs"
    empty = [_open(context, url, "text=No runs yet") for _ in range(visits + 1)][1:]
    fill(dashboard.database_url, many)
    there = f"text=/{many:,} runs, newest first/"
    first = _open(context, url, there)
    opened = [_open(context, url, there) for _ in range(visits)]
    found = [_find(context, url, there) for _ in range(visits)]
    print(f"\n| Runs with {many:,} runs | s |\n|---|---|")
    print(f"| by its address, the server's first time | {first:.2f} |")
    print(f"| by its address | {statistics.median(opened):.2f} |")
    print(f"| by its address, before there were any | {statistics.median(empty):.2f} |")
    print(f"| Enter in Find to the rows found | {statistics.median(found):.2f} |")
    for name, page in (
        ("How many folds?", "folds"),
        ("How many folds?, My runs", "folds?source=My%20runs"),
        ("Run, the form", ""),
    ):
        there = OPENED[page.partition("?")[0]]
        beside = [_open(context, f"{dashboard.url}/{page}", there) for _ in range(visits + 1)][1:]
        print(f"| {name}, beside them | {statistics.median(beside):.2f} |")


def fill(database_url: str, many: int) -> None:
    """Put so many finished runs of ten folds into a database: copies of one of every algorithm."""
    store = open_store(database_url)
    specs = [
        make_spec(dataset=dataset, algorithm=algorithm)
        for dataset in ("synthetic", "ml-100k")
        for algorithm in ALGORITHMS
    ]
    for run_id in store.create(specs, owner="benchmark"):
        store.start(run_id, owner="benchmark")
        for at in range(10):
            store.add_fold(run_id, fold_result(at, 0.3 + at / 1000), stopped_at=None)
        store.finish(run_id, RunState.FINISHED)
    with store.transaction("written") as connection:
        rows = [dict(row) for row in connection.execute(runs.select()).mappings()]
        done = [dict(row) for row in connection.execute(folds.select()).mappings()]
        names = [(rows[at % len(rows)]["run_id"], f"{at:012x}") for at in range(many - len(rows))]
        for table, kept in ((runs, rows), (folds, done)):
            of_run: dict[str, list[dict[str, object]]] = defaultdict(list)
            for row in kept:
                del row["sequence"]
                of_run[row["run_id"]].append(row)
            copies = [row | {"run_id": new} for old, new in names for row in of_run[old]]
            connection.execute(table.insert(), copies)
        for at in range(0, len(names), len(rows)):  # each copy of all is a batch of its own
            batch = [new for _, new in names[at : at + len(rows)]]
            mine = runs.c.run_id.in_(batch)
            connection.execute(runs.update().where(mine).values(group_id=batch[0]))


def _find(context: BrowserContext, url: str, there: str) -> float:
    """Seconds from Enter in the field Find to the rows of ease."""
    page = _tab(context)
    page.goto(url)
    page.locator(there).first.wait_for()
    page.wait_for_timeout(1500)
    page.get_by_label("Find").fill("ease")
    begin = time.perf_counter()
    page.keyboard.press("Enter")
    page.locator("text=/[0-9,]+ of [0-9,]+ runs, newest first/").first.wait_for()
    seconds = time.perf_counter() - begin
    page.close()
    return seconds


def _open(context: BrowserContext, url: str, there: str) -> float:
    """Seconds until a new tab can be used."""
    page = _tab(context)
    begin = time.perf_counter()
    page.goto(url, wait_until="commit")
    page.locator(there).first.wait_for()
    seconds = time.perf_counter() - begin
    page.close()
    return seconds


def _reach(context: BrowserContext, url: str, name: str) -> float:
    """Seconds from the click on the page's link to the page."""
    page = _tab(context)
    page.goto(f"{url}/{'learn' if name == 'runs' else 'runs'}")
    page.locator("h1").first.wait_for()
    page.wait_for_timeout(3000)  # as a person would look before moving on
    begin = time.perf_counter()
    page.get_by_role(
        "link", name=NAMES.get(name, (name or "run").capitalize()), exact=True
    ).first.click()
    page.locator(OPENED[name]).first.wait_for()
    seconds = time.perf_counter() - begin
    page.close()
    return seconds


def _moves(browser: Browser, url: str, chart: str, moves: int) -> list[float]:
    """Milliseconds of each move, ascending."""
    page = _tab(browser.new_context(viewport=VIEW))
    page.goto(url)
    page.locator(DRAWN).first.wait_for()
    page.wait_for_timeout(8000)  # what comes below the first chart
    page.locator(chart).first.scroll_into_view_if_needed()
    page.wait_for_timeout(1000)
    keys = ["ArrowRight", "ArrowRight", "ArrowLeft", "ArrowLeft"]
    times = sorted(_move(page, keys[number % 4], chart) for number in range(moves))
    page.close()
    return times


def _move(page: Page, key: str, chart: str) -> float:
    page.get_by_role("slider").first.focus()
    page.evaluate(MEASURE, chart)
    page.keyboard.press(key)
    page.wait_for_function("() => window.ecvTime !== undefined")
    page.wait_for_timeout(400)  # as a person would look before moving on
    return float(page.evaluate("() => window.ecvTime"))


def _tab(context: BrowserContext) -> Page:
    page = context.new_page()
    page.set_default_timeout(90_000)
    return page


if __name__ == "__main__":
    main()
