"""Programs of machines whose clocks differ, in processes of their own; see test_clocks_apart."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from datetime import datetime, timedelta, tzinfo

from ecv_core.cli import main
from ecv_core.jobs import machine as machine_of_folds
from ecv_core.jobs.executors import Results
from ecv_core.jobs.manager import RunManager
from ecv_core.records.run import Progress
from ecv_core.records.spec import RunSpec
from ecv_core.store import ownership, schema
from ecv_core.store.store import open_store
from tests.fake_folds import SCORES, fold_result

FOLD_SECONDS = 2.5
"""So that a run takes longer than the time after which a silent program is gone."""
LONGEST = 300.0


def slow(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    time.sleep(FOLD_SECONDS)
    yield 0, fold_result(index, SCORES[index])


def be_on(machine: str, seconds: float) -> None:
    """Be a program of this machine, whose clock is so many seconds ahead."""
    ahead = timedelta(seconds=seconds)
    real_time = time.time

    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return datetime.now(tz) + ahead

    def shifted_time() -> float:
        return real_time() + seconds

    def this_machine() -> str:
        return machine

    time.time = shifted_time
    for module in (schema, ownership, machine_of_folds):  # where the clock is looked at
        module.datetime = Clock  # type: ignore[attr-defined]
    ownership._machine = this_machine


def dashboard(machine: str, seconds: float) -> None:
    """Compute a run as a dashboard does; print its id, and end once it has."""
    be_on(machine, seconds)
    store = open_store()
    manager = RunManager(store, compute=slow)
    spec = RunSpec(dataset="synthetic", algorithm="popular", k=5, rule="never")
    (run,) = store.group(manager.start([spec]))
    print(run.run_id, flush=True)
    deadline = time.monotonic() + LONGEST
    while store.run(run.run_id).state.active:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    manager.close()


def command(machine: str, seconds: float, *words: str) -> None:
    """Carry out a command."""
    be_on(machine, seconds)
    sys.exit(main(words))
