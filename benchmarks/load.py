"""How many may watch a run: what they cost the server, and how soon each sees what happens.

python -m benchmarks.load [--viewers 0,1,5,25,50] [--seconds 30]

Opens so many pages of a running run as real sessions, Streamlit's messages over a websocket. The
run is played: this process reports progress four times a second and a fold every four seconds, as a
worker would, but computes nothing, so that the processor seconds of the server are those of
watching. What viewers cost a real fold is `benchmarks.watching`. Prints markdown, measured on this
machine in this run.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from math import inf, nan
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from benchmarks.sessions import Session, used
from ecv_core import dataset as datasets
from ecv_core.fold.spec import make_spec
from ecv_core.jobs.book import Book
from ecv_core.jobs.plan import FoldTask
from ecv_core.records.run import RunState
from ecv_core.store.ownership import this_process
from ecv_core.store.store import Store, open_store
from tests.browser.dashboard import Dashboard
from tests.fake_folds import fold_result

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SECONDS_PER_FOLD, STEPS = 4.0, 16
PATIENCE = 60
HEADS = (
    *("viewers", "server, % of a core", "a viewer, ms/s", "an opening, ms of the server"),
    *("ready, 95 % s", "a fold drawn, median s", "95 % s", "a step on the bar, 95 % s"),
    "kB/s a viewer",
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--viewers", default="0,1,5,25,50")
    parser.add_argument("--seconds", type=float, default=30.0, help="for each number of viewers")
    asked = parser.parse_args()
    counts = [int(count) for count in asked.viewers.split(",")]
    asyncio.run(_measure(counts, asked.seconds))


async def _measure(counts: Sequence[int], seconds: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        dashboard = Dashboard(Path(folder), datasets.data_dir().absolute())
        store = open_store(dashboard.database_url)
        dashboard.start()
        try:
            async with _watched(dashboard, store, 1):  # a first page loads what all need
                await asyncio.sleep(SECONDS_PER_FOLD + 1)
            print(f"| {' | '.join(HEADS)} |\n{'|---' * len(HEADS)}|")
            nobody = nan
            for count in counts:
                share, cells, errors = await _row(dashboard, store, count, seconds)
                nobody = share if count == 0 else nobody
                viewer = f"{10 * (share - nobody) / count:.1f}" if count else ""
                print(f"| {count} | {share:.1f} | {viewer} | {' | '.join(cells)} |", flush=True)
                print(*sorted(errors), sep="\n", end="\n" if errors else "")
        finally:
            dashboard.stop()
        print("\n".join(dashboard.complaints()) or "\nthe server's log has no complaint")


@dataclass
class _Played:
    """A run that this process reports as a worker would, without computing anything."""

    store: Store
    folds: list[float] = field(default_factory=list)
    """When each was committed; perf_counter()."""
    steps: dict[str, float] = field(default_factory=dict)
    """When each was first reported, by the words of the bar."""

    def __post_init__(self) -> None:
        self.spec = make_spec(dataset="ml-100k", algorithm="implicit-mf", rule="never", k=100)
        (self.run_id,) = self.store.create([self.spec], owner=this_process())
        self.store.start(self.run_id, owner=this_process())

    async def play(self) -> None:
        """Go on until it is cancelled."""
        for fold in range(self.spec.k):
            for step in range(1, STEPS + 1):
                progress = self.run_id, fold, "fit", step, STEPS
                await asyncio.to_thread(self.store.set_progress, *progress)
                words = f"fold {fold + 1} of {self.spec.k} · fit {step} of {STEPS}"
                self.steps[words] = time.perf_counter()
                await asyncio.sleep(SECONDS_PER_FOLD / STEPS)
            book = Book(self.store, runs=[self.store.run(self.run_id)])
            task = FoldTask(specs=(self.spec,), fold=fold)
            result = fold_result(fold, 0.3 + 0.01 * (fold % 3))
            await asyncio.to_thread(book.commit, task, 0, result)
            self.folds.append(time.perf_counter())


@asynccontextmanager
async def _watched(
    dashboard: Dashboard, store: Store, count: int
) -> AsyncIterator[tuple[_Played, list[Session]]]:
    """A run that is played, and so many sessions that are ready."""
    played = _Played(store)
    sessions = [Session(dashboard.url, "run", f"run={played.run_id}") for _ in range(count)]
    tasks = [asyncio.create_task(played.play())]
    tasks += [asyncio.create_task(session.stay(inf)) for session in sessions]
    try:
        await asyncio.wait_for(asyncio.gather(*(one.ready.wait() for one in sessions)), PATIENCE)
        yield played, sessions
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        store.finish(played.run_id, RunState.CANCELLED)


async def _row(
    dashboard: Dashboard, store: Store, count: int, seconds: float
) -> tuple[float, list[str], set[str]]:
    """Percent of a core that the server used, the cells after `a viewer`, and errors."""
    assert dashboard.process is not None
    server = psutil.Process(dashboard.process.pid)
    arrived = used(server)
    async with _watched(dashboard, store, count) as (played, sessions):
        opening = used(server) - arrived
        await asyncio.sleep(1.0)
        sent, before = sum(one.bytes for one in sessions), used(server)
        begin = time.perf_counter()
        await asyncio.sleep(seconds)
        length = time.perf_counter() - begin
        share = 100 * (used(server) - before) / length
        kilobytes = (sum(one.bytes for one in sessions) - sent) / length / 1000
    folds = [
        min((at for at, text in one.figures if _folds(text) > fold), default=inf) - committed
        for one in sessions
        for fold, committed in enumerate(played.folds)
        if begin < committed < begin + length - 2
    ]
    steps = [
        at - played.steps[step]
        for one in sessions
        for at, step in one.texts
        if at > begin and step in played.steps
    ]
    cells = [
        f"{1000 * opening / max(count, 1):.1f}",
        f"{_late([one.ready_seconds for one in sessions]):.2f}",
        f"{statistics.median(folds or [nan]):.2f}",
        f"{_late(folds):.2f}",
        f"{_late(steps):.2f}",
        f"{kilobytes / max(count, 1):.1f}",
    ]
    return share, cells, {error for one in sessions for error in one.errors}


def _late(values: Sequence[float]) -> float:
    """The 95th percentile."""
    return sorted(values)[int(0.95 * (len(values) - 1))] if values else nan


def _folds(text: str) -> int:
    """How many folds a figure is of, from its sentence: 'after 3 of 10 folds the mean ...'."""
    found = re.search(r"after (\d+) of", text)
    return int(found[1]) if found else 0


if __name__ == "__main__":
    main()
