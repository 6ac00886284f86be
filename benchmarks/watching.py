"""What viewers cost a fold: joules and seconds of real folds, with nobody and with many watching.

python -m benchmarks.watching [--viewers 0,1,5,25] [--rounds 3] [--dataset ml-100k]
       [--algorithm multi-vae]

Every run has ten folds and never stops; its first fold is left out. The numbers of viewers take
turns, so that what else the machine does falls on all of them. Viewers are sessions over a
websocket, of this process: the seconds of its own are given as well, and are part of the joules
where those come from the load of the machine. Joules say something on an idle machine only.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.sessions import Session, used
from ecv_core import dataset as datasets
from ecv_core.fold.spec import make_spec
from ecv_core.records.run import RunRecord
from ecv_core.store.ownership import beat, this_process
from ecv_core.store.store import Store, open_store
from tests.browser.dashboard import Dashboard


@dataclass(frozen=True, kw_only=True)
class _Fold:
    """The mean fold of one run."""

    joules: float
    seconds: float
    worker: float
    """Processor seconds, as of the others."""
    server: float
    viewers: float


_NAMES = ("joules", "seconds", "worker", "server", "viewers")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--viewers", default="0,1,5,25")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dataset", default="ml-100k")
    parser.add_argument("--algorithm", default="multi-vae")
    asked = parser.parse_args()
    counts = [int(one) for one in asked.viewers.split(",")]
    asyncio.run(_measure(counts, asked.rounds, asked.dataset, asked.algorithm))


async def _measure(counts: Sequence[int], rounds: int, dataset: str, algorithm: str) -> None:
    found: defaultdict[int, list[_Fold]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        dashboard = Dashboard(Path(folder), datasets.data_dir().absolute())
        store = open_store(dashboard.database_url)
        # A dashboard that is gone has queued them: the one that starts now takes them over.
        gone = f"{this_process().rsplit(':', 2)[0]}:4194300:0"
        order = [count for _ in range(rounds) for count in counts]
        specs = [  # each with a seed of its own, or the folds of the first would be used again
            make_spec(dataset=dataset, algorithm=algorithm, rule="never", seed=seed)
            for seed in range(len(order))
        ]
        run_ids = store.create(specs, owner=gone)
        beat(store, gone, serves=True)
        dashboard.start()
        try:
            await Session(dashboard.url, "run", f"run={run_ids[0]}").stay(3.0)
            for run_id, count in zip(run_ids, order, strict=True):
                found[count].append(await _one(dashboard, store, run_id, count))
        finally:
            dashboard.stop()
    print(f"{algorithm} on {dataset}, {rounds} runs each, mean of a fold\n")
    print(
        "| viewers | joules | more | s | worker, processor s | server | both, more | viewers' own |"
    )
    print("|---|---|---|---|---|---|---|---|")
    nobody = _mean(found[0]) if found[0] else None
    for count, folds in found.items():
        print(f"| {count} | {_line(_mean(folds), nobody)} |")


def _mean(folds: Sequence[_Fold]) -> _Fold:
    return _Fold(**{name: statistics.fmean(getattr(one, name) for one in folds) for name in _NAMES})


def _line(fold: _Fold, nobody: _Fold | None) -> str:
    joules = work = float("nan")
    if nobody is not None:
        joules = 100 * (fold.joules / nobody.joules - 1)
        work = 100 * ((fold.worker + fold.server) / (nobody.worker + nobody.server) - 1)
    return (
        f"{fold.joules:.1f} | {joules:+.1f} % | {fold.seconds:.2f} | {fold.worker:.2f} "
        f"| {fold.server:.3f} | {work:+.1f} % | {fold.viewers:.3f}"
    )


async def _one(dashboard: Dashboard, store: Store, run_id: str, count: int) -> _Fold:
    sessions = [Session(dashboard.url, "run", f"run={run_id}") for _ in range(count)]
    staying = [asyncio.create_task(one.stay(3600.0)) for one in sessions]
    first = await _until(store, run_id, 1)
    assert dashboard.process is not None
    server, me = psutil.Process(dashboard.process.pid), psutil.Process()
    worker = max(dashboard.workers(), key=used)
    before, begin = [used(one) for one in (worker, server, me)], time.perf_counter()
    run = await _until(store, run_id, first.k)
    taken = [used(one) - was for one, was in zip((worker, server, me), before, strict=True)]
    folds = run.folds[len(first.folds) :]
    seconds = time.perf_counter() - begin
    for one in staying:
        one.cancel()
    await asyncio.gather(*staying, return_exceptions=True)
    return _Fold(
        joules=statistics.fmean(fold.energy.joules for fold in folds),
        seconds=seconds / len(folds),
        worker=taken[0] / len(folds),
        server=taken[1] / len(folds),
        viewers=taken[2] / len(folds),
    )


async def _until(store: Store, run_id: str, folds: int) -> RunRecord:
    while len((run := store.run(run_id)).folds) < folds:
        await asyncio.sleep(0.1)
    return run


if __name__ == "__main__":
    main()
