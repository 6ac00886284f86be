"""How many may watch a run: what they cost the server, and how soon each sees what happens.

python -m benchmarks.load [--viewers 0,1,5,25,50] [--seconds 30] [--history 0] [--no-browser]

Opens so many pages of a running run as real sessions, Streamlit's messages over a websocket, and
one more in Chromium, whose clock is watched. The run is played: this process reports progress four
times a second and a fold every four seconds, as a worker would, but computes nothing, so that the
processor seconds of the server are those of watching. What viewers cost a real fold is
`benchmarks.watching`. Prints markdown, measured on this machine in this run.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from pathlib import Path

import psutil
from playwright.async_api import Page, async_playwright

import ecv_core.datasets as datasets
from benchmarks.pages import VIEW, fill
from benchmarks.sessions import Session, used
from ecv_core.records import RunState
from ecv_core.runner import this_process
from ecv_core.runner.drive import save_fold
from ecv_core.spec import make_spec
from ecv_core.store import Store, open_store
from tests.browser.dashboard import CHROMIUM, FLAGS, Dashboard
from tests.jobs import fold_result

SECONDS_PER_FOLD, STEPS = 4.0, 16
CLOCK = """() => {
  window.ecvTicks = [performance.now()];
  const text = () => document.querySelector(".st-key-running-progress")?.textContent ?? "";
  let last = text();
  const look = () => {
    const now = text();
    if (now !== last) { last = now; window.ecvTicks.push(performance.now()); }
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""
"""Notes every frame that shows another text in the bar of what runs."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--viewers", default="0,1,5,25,50")
    parser.add_argument("--seconds", type=float, default=30.0, help="for each number of viewers")
    parser.add_argument("--history", type=int, default=0, help="finished runs in the database")
    parser.add_argument("--no-browser", action="store_true")
    asked = parser.parse_args()
    counts = [int(one) for one in asked.viewers.split(",")]
    asyncio.run(_measure(counts, asked.seconds, asked.history, browser=not asked.no_browser))


async def _measure(counts: Sequence[int], seconds: float, history: int, *, browser: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        dashboard = Dashboard(Path(folder), datasets.data_dir().absolute())
        store = open_store(dashboard.database_url)
        if history:
            fill(dashboard.database_url, history)
        dashboard.start()
        try:
            await _warm_up(dashboard, store)
            print(f"{history:,} finished runs in the database, {seconds:g} s each\n")
            print(
                "| viewers | server, % of a core | above nobody's | a viewer, ms/s "
                "| an opening, ms of the server | ready, 95 % s "
                "| a fold drawn, median s | 95 % s | a step on the bar, 95 % s | kB/s a viewer "
                "| clock of a browser: longest s |"
            )
            print("|---|---|---|---|---|---|---|---|---|---|---|")
            nobody = float("nan")
            for count in counts:
                seen = await _watched(dashboard, store, count, seconds, browser=browser)
                nobody = seen.share if count == 0 else nobody
                print(seen.line(nobody), flush=True)
        finally:
            dashboard.stop()
        complaints = dashboard.complaints()
        print("\nthe server's log has no complaint" if not complaints else "\n".join(complaints))


async def _warm_up(dashboard: Dashboard, store: Store) -> None:
    """A first page, which loads what all need; and its run, which is cancelled."""
    played = _Played(store)
    playing = asyncio.create_task(played.play(60))
    first = Session(dashboard.url, query=f"run={played.run_id}")
    staying = asyncio.create_task(first.stay(60))
    await asyncio.wait_for(first.ready.wait(), 60)
    await asyncio.sleep(5.0)  # a fold is drawn
    playing.cancel()
    staying.cancel()
    await asyncio.gather(playing, staying, return_exceptions=True)
    store.finish(played.run_id, RunState.CANCELLED)


@dataclass
class _Seen:
    """What one number of viewers gave."""

    viewers: int
    share: float
    """Of one core that the server used, in percent."""
    opening: float
    """Processor seconds of the server from the arrival of all to the last one's being ready."""
    ready: list[float]
    folds: list[float]
    """Seconds from each fold's commit to its drawing, of every viewer."""
    steps: list[float]
    kilobytes: float
    """A second and viewer."""
    clock: float
    errors: set[str]

    def line(self, nobody: float) -> str:
        """As a row of the table."""
        above = self.share - nobody
        cells = [
            f"{self.viewers}",
            f"{self.share:.1f}",
            f"{above:.1f}",
            f"{10 * above / max(self.viewers, 1):.1f}",
            f"{1000 * self.opening / max(self.viewers, 1):.1f}",
            f"{_late(self.ready):.2f}",
            f"{statistics.median(self.folds or [float('nan')]):.2f}",
            f"{_late(self.folds):.2f}",
            f"{_late(self.steps):.2f}",
            f"{self.kilobytes:.1f}",
            f"{self.clock:.2f}",
        ]
        return f"| {' | '.join(cells)} |" + "".join(f"\n\n{one}\n" for one in self.errors)


def _late(values: Sequence[float]) -> float:
    """The 95th percentile."""
    found = sorted(values)
    return found[int(0.95 * (len(found) - 1))] if found else float("nan")


async def _watched(
    dashboard: Dashboard, store: Store, count: int, seconds: float, *, browser: bool
) -> _Seen:
    played = _Played(store)
    playing = asyncio.create_task(played.play(seconds + 60))
    sessions = [Session(dashboard.url, query=f"run={played.run_id}") for _ in range(count)]
    assert dashboard.process is not None
    server = psutil.Process(dashboard.process.pid)
    arrived = used(server)
    staying = [asyncio.create_task(one.stay(seconds + 60)) for one in sessions]
    await asyncio.gather(*(asyncio.wait_for(one.ready.wait(), 60) for one in sessions))
    opening = used(server) - arrived
    await asyncio.sleep(1.0)
    sent = sum(one.bytes for one in sessions)
    before, begin = used(server), time.perf_counter()
    await asyncio.sleep(seconds)
    length = time.perf_counter() - begin
    share = 100 * (used(server) - before) / length
    kilobytes = (sum(one.bytes for one in sessions) - sent) / length / max(count, 1) / 1000
    clock = await _clock(dashboard, played.run_id, 15.0) if browser and count else float("nan")
    playing.cancel()
    for one in staying:
        one.cancel()
    await asyncio.gather(playing, *staying, return_exceptions=True)
    store.finish(played.run_id, RunState.CANCELLED)
    return _Seen(
        viewers=count,
        share=share,
        opening=opening,
        ready=[one.ready_seconds for one in sessions],
        folds=[
            min((at for at, text in one.figures if _folds(text) > where), default=inf) - fold
            for one in sessions
            for where, fold in enumerate(played.folds)
            if begin < fold < begin + length - 2
        ],
        steps=[
            at - played.steps[where]
            for one in sessions
            for at, text in one.texts
            if at > begin and (where := _step(text)) in played.steps
        ],
        kilobytes=kilobytes,
        clock=clock,
        errors={error for one in sessions for error in one.errors},
    )


def _folds(text: str) -> int:
    """How many folds a figure is of, from its sentence: 'after 3 of 10 folds the mean ...'."""
    found = re.search(r"after (\d+) of", text)
    return int(found[1]) if found else 0


def _step(text: str) -> str:
    """'fold 3 of 10 · fit 5 of 16', from the words of the bar."""
    return " · ".join(text.split(" · ")[:2])


async def _clock(dashboard: Dashboard, run_id: str, seconds: float) -> float:
    """The longest that the clock stood still in a browser that watches too."""
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page: Page = await chromium.new_page(viewport=VIEW)
        await page.goto(f"{dashboard.url}/?run={run_id}")
        await page.locator(".st-key-running-progress").wait_for(timeout=60_000)
        await page.wait_for_timeout(3000)
        await page.evaluate(CLOCK)
        await page.wait_for_timeout(1000 * seconds)
        ticks = await page.evaluate("() => [...window.ecvTicks, performance.now()]")
        await chromium.close()
    return max(float(after - before) for before, after in pairwise(ticks)) / 1000


@dataclass
class _Played:
    """A run that this process reports as a worker would, without computing anything."""

    store: Store
    folds: list[float] = field(default_factory=list)
    """When each was committed; perf_counter()."""
    steps: dict[str, float] = field(default_factory=dict)
    """When each was first reported, by the words of the bar."""

    def __post_init__(self) -> None:
        spec = make_spec(dataset="ml-100k", algorithm="implicit-mf", rule="never", k=100)
        (self.run_id,) = self.store.create([spec], owner=this_process())
        self.store.start(self.run_id, owner=this_process())
        self._spec = spec

    async def play(self, seconds: float) -> None:
        """Go on for so long."""
        end = time.perf_counter() + seconds
        fold = 0
        while time.perf_counter() < end:
            for step in range(STEPS):
                await asyncio.to_thread(
                    self.store.set_progress, self.run_id, fold, "fit", step + 1, STEPS
                )
                self.steps[f"fold {fold + 1} of {self._spec.k} · fit {step + 1} of {STEPS}"] = (
                    time.perf_counter()
                )
                await asyncio.sleep(SECONDS_PER_FOLD / STEPS)
            done = fold_result(fold, 0.3 + 0.01 * (fold % 3))
            await asyncio.to_thread(
                save_fold, self.store, self.run_id, done, None, lambda sentence: None
            )
            self.folds.append(time.perf_counter())
            fold += 1


if __name__ == "__main__":
    main()
