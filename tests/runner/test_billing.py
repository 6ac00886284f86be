"""What a fold is billed: its own work, never what the database or another program makes it wait."""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import closing

import pytest

from ecv_core.energy import NoMeter
from ecv_core.records import Energy
from ecv_core.runner import work
from ecv_core.spec import make_spec
from ecv_core.store import open_store

LOCKED_SECONDS = 2.0


class Clock(NoMeter):
    """A meter of seconds."""

    seconds = 0.0

    def start(self) -> None:
        self.begin = time.monotonic()

    def stop(self) -> Energy:
        Clock.seconds = time.monotonic() - self.begin
        return Energy.none()


def test_a_locked_database_is_waited_for_after_the_fold_and_not_billed(
    tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fold takes some hundredths of a second; all that it reports waits for the lock."""
    spec = make_spec(dataset="synthetic", algorithm="item-knn", k=5, rule="never")
    store = open_store()
    run_id = store.create([spec], owner="me")[0]
    monkeypatch.setattr("ecv_core.energy.meter_for", lambda _: Clock())
    work("", run_id, spec, 0)  # imports
    locked = threading.Event()

    def lock() -> None:
        path = tmp_path / "runs.sqlite"
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            database.execute("begin immediate")
            locked.set()
            time.sleep(LOCKED_SECONDS)
            database.execute("rollback")

    other = threading.Thread(target=lock)
    other.start()
    locked.wait()
    begin = time.monotonic()
    result = work(store.url, run_id, spec, 1)
    waited = time.monotonic() - begin
    other.join()
    assert waited > LOCKED_SECONDS / 2  # its last report was waited for
    assert result.total_seconds < LOCKED_SECONDS / 2
    assert Clock.seconds < LOCKED_SECONDS / 2
