"""A dashboard that is left running: memory, open files and answers over many runs.

python -m benchmarks.soak [--runs 500] [--every 50] [--viewers 3]

Queues so many short runs on the embedded data for the dashboard to compute one after the other,
while some pages follow the queue and one more is opened after every 50 runs. Prints a line of
markdown then: resident memory and open files of the server and its worker, seconds per run, and
seconds until a new page is ready. They should be as flat as they are.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

import psutil

import ecv_core.datasets as datasets
from benchmarks.sessions import Session, used
from ecv_core.runner import this_process
from ecv_core.spec import make_spec
from ecv_core.store import Store, beat, open_store
from tests.browser.dashboard import Dashboard

ALGORITHMS = ("popular", "item-knn", "user-knn", "ease")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--every", type=int, default=50)
    parser.add_argument("--viewers", type=int, default=3)
    asked = parser.parse_args()
    asyncio.run(_soak(asked.runs, asked.every, asked.viewers))


async def _soak(many: int, every: int, viewers: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        dashboard = Dashboard(Path(folder), datasets.data_dir().absolute())
        store = open_store(dashboard.database_url)
        gone = f"{this_process().rsplit(':', 2)[0]}:4194300:0"
        specs = [
            make_spec(dataset="synthetic", algorithm=ALGORITHMS[at % 4], k=3, rule="never", seed=at)
            for at in range(many)
        ]
        run_ids = [store.create([spec], owner=gone)[0] for spec in specs]  # each a run of its own
        beat(store, gone, serves=True)
        dashboard.start()
        pages = [Session(dashboard.url, page="runs"), Session(dashboard.url, page="learn")]
        pages += [Session(dashboard.url, query=f"run={run_ids[0]}") for _ in range(viewers)]
        staying = [asyncio.create_task(one.stay(1e6)) for one in pages]
        print(
            "| runs | s a run | server MB | files | processor s a run | worker MB | files "
            "| a new page, s |"
        )
        print("|---|---|---|---|---|---|---|---|")
        try:
            await _followed(dashboard, store, many, every)
        finally:
            for one in staying:
                one.cancel()
            await asyncio.gather(*staying, return_exceptions=True)
            dashboard.stop()
        said = [error for one in pages for error in one.errors] + dashboard.complaints()
        print("\n".join(["", *said]) if said else "\nno page shows an error, nor does the log")


async def _followed(dashboard: Dashboard, store: Store, many: int, every: int) -> None:
    assert dashboard.process is not None
    server = psutil.Process(dashboard.process.pid)
    while len(store.active()) == many:  # what starts with the first run is no run's
        await asyncio.sleep(0.2)
    done, begin, before = 1, time.perf_counter(), used(server)
    while done < many:
        wanted = min(done + every - done % every, many)
        while (now := many - len(store.active())) < wanted:
            await asyncio.sleep(0.5)
        seconds, taken = time.perf_counter() - begin, used(server) - before
        page = Session(dashboard.url, page="runs")
        visit = asyncio.create_task(page.stay(60.0))
        await asyncio.wait_for(page.ready.wait(), 60)
        visit.cancel()
        worker = max(dashboard.workers(), key=used)
        print(
            f"| {now} | {seconds / (now - done):.2f} | {_megabytes(server):.0f} "
            f"| {server.num_fds()} | {taken / (now - done):.2f} | {_megabytes(worker):.0f} "
            f"| {worker.num_fds()} | {page.ready_seconds:.2f} |",
            flush=True,
        )
        done, begin, before = now, time.perf_counter(), used(server)


def _megabytes(process: psutil.Process) -> float:
    return process.memory_info().rss / 1e6


if __name__ == "__main__":
    main()
