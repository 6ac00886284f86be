"""What a fold is billed: its own work, never what the database or another program makes it wait."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing

import pytest

from ecv_core.energy import NoMeter
from ecv_core.records import Energy
from ecv_core.runner import work
from ecv_core.spec import make_spec
from ecv_core.store import open_store

LOCKED_SECONDS = 2.0


class Clock(NoMeter):
    """A meter of seconds; something else happens as it starts."""

    seconds = 0.0
    at_start: Callable[[], object] = staticmethod(lambda: None)

    def start(self) -> None:
        Clock.at_start()
        self.begin = time.monotonic()

    def stop(self) -> Energy:
        Clock.seconds = time.monotonic() - self.begin
        return Energy.none()


@pytest.mark.parametrize("measured", [False, True], ids=["before the fold", "in the fold"])
def test_a_locked_database_is_waited_for_after_the_fold_and_not_billed(
    tmp_path, monkeypatch: pytest.MonkeyPatch, measured: bool
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
        with closing(sqlite3.connect(path, isolation_level=None, timeout=30)) as database:
            database.execute("begin immediate")
            locked.set()
            time.sleep(LOCKED_SECONDS)
            database.execute("rollback")

    other = threading.Thread(target=lock)

    def lock_first() -> None:
        other.start()
        assert locked.wait(60)

    if measured:
        monkeypatch.setattr(Clock, "at_start", staticmethod(lock_first))
    else:
        lock_first()
    begin = time.monotonic()
    result = work(store.url, run_id, spec, 1)
    waited = time.monotonic() - begin
    other.join()
    assert measured or waited > LOCKED_SECONDS / 2  # what it reported first was waited for
    assert result.total_seconds < LOCKED_SECONDS / 2
    assert Clock.seconds < LOCKED_SECONDS / 2
