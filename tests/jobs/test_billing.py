"""What a fold is billed: its own work, never what the database or another program makes it wait."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing

import pytest

from ecv_core.energy.meter import NoMeter
from ecv_core.fold.spec import make_spec
from ecv_core.jobs.driver import drive
from ecv_core.jobs.executors import Here, Results, compute
from ecv_core.jobs.plan_runs import PlanRuns
from ecv_core.jobs.plans.run import RunPlan
from ecv_core.records.run import Energy, Progress
from ecv_core.records.spec import RunSpec
from ecv_core.store.ownership import this_process
from ecv_core.store.store import open_store

BUSY_SECONDS = 10.0
"""Less than a program waits for a locked database, and a hundred times what the fold takes."""


class Clock(NoMeter):
    """A meter of seconds; something else happens as it starts."""

    seconds = 0.0
    at_start: Callable[[], object] = staticmethod(lambda: None)
    stopped = threading.Event()

    def start(self) -> None:
        Clock.at_start()
        self.begin = time.monotonic()

    def stop(self) -> Energy:
        Clock.seconds = time.monotonic() - self.begin
        Clock.stopped.set()
        return Energy.none()


@pytest.mark.parametrize("measured", [False, True], ids=["before the fold", "in the fold"])
def test_a_locked_database_is_waited_for_after_the_fold_and_not_billed(
    tmp_path, monkeypatch: pytest.MonkeyPatch, measured: bool
) -> None:
    """The database is locked until the fold has been measured; what it reports waits for that."""
    spec = make_spec(
        dataset="synthetic", algorithm="item-knn", k=5, rule="never", only_folds=(0, 1)
    )
    store = open_store()
    (run_id,) = store.create([spec], owner=this_process())
    monkeypatch.setattr("ecv_core.energy.real_meters.meter_for", lambda _: Clock())
    locked, unlocking = threading.Event(), threading.Event()

    def lock() -> None:
        path = tmp_path / "runs.sqlite"
        with closing(sqlite3.connect(path, isolation_level=None, timeout=30)) as database:
            database.execute("begin immediate")
            locked.set()
            Clock.stopped.wait(60)
            unlocking.set()
            database.execute("rollback")

    other = threading.Thread(target=lock)

    def lock_first() -> None:
        other.start()
        assert locked.wait(60)

    def with_lock(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
        if index == 1:  # fold 0 has imported everything
            Clock.stopped.clear()
            if measured:
                monkeypatch.setattr(Clock, "at_start", staticmethod(lock_first))
            else:
                lock_first()
        yield from compute(specs, index, progress)

    drive(RunPlan(spec), PlanRuns(store, runs=[store.run(run_id)]), Here(with_lock))
    assert unlocking.is_set()
    other.join()
    _, result = store.run(run_id).folds
    assert result.total_seconds < BUSY_SECONDS
    assert Clock.seconds < BUSY_SECONDS
