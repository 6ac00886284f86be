"""Signs of life: who has runs gives them, and the runs of who is gone are interrupted."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic, sleep

from ecv_core.records.errors import StoreError
from ecv_core.store.activity import current_activity
from ecv_core.store.ownership import (
    active_owners,
    beat,
    interrupt,
    is_alive,
    is_elsewhere,
    owner_of,
    take_over,
    this_process,
)
from ecv_core.store.store import Store

log = logging.getLogger(__name__)

BEAT_SECONDS = 3.0
"""How often a process says in the database that it is there."""
LOOK_SECONDS = 0.5
"""How often `interrupt_run_if_abandoned` looks for a sign of life that it waits for."""
ENDED = "ended"
"""Stands for the sign of life of an owner that has no active run any more."""


class OwnerWatch:
    """Tells again and again which owners are gone, by its own clock: no two clocks are compared."""

    def __init__(self, store: Store) -> None:
        """Nobody was looked at yet."""
        self._store = store
        self._newest_signs: dict[str, _Sign] = {}
        """By owner."""
        self._looked_at = monotonic()

    def find_gone_owners(self) -> set[str]:
        """The owners of active runs that have ended.

        One of another machine has ended when its sign of life stays the same for `GONE_SECONDS`.
        After a gap between two looks this begins anew: the database may have been away from all.

        Raises:
            StoreError.
        """
        beat_of_owner = active_owners(self._store)
        now = monotonic()
        # After a gap, nothing is known of signs of life that were given meanwhile, and the owners
        # may not have been able to give any. Their silence is counted from now on.
        if now - self._looked_at > 2 * BEAT_SECONDS:
            self._newest_signs = {}
        self._looked_at = now
        newest_signs = {}
        gone_owners = set()
        for owner, beat_at in beat_of_owner.items():
            sign = self._newest_signs.get(owner)
            if sign is None or sign.beat_at != beat_at:  # This sign of life is new.
                sign = _Sign(beat_at=beat_at, first_seen=now)
            newest_signs[owner] = sign
            if not is_alive(owner, silent_seconds=now - sign.first_seen):
                gone_owners.add(owner)
        self._newest_signs = newest_signs
        return gone_owners


@dataclass(frozen=True, kw_only=True)
class _Sign:
    """A sign of life of an owner."""

    beat_at: str | None
    """What the database has of it; None where none was ever given."""
    first_seen: float
    """When it was first seen here, on the clock of `time.monotonic`."""


def interrupt_abandoned_runs(store: Store, *, takes_over_queues: bool = False) -> None:
    """Mark runs as interrupted whose programs on this machine are gone, so that they can go on.

    Args:
        store: The store of the runs.
        takes_over_queues: Whether what waits in the queues of dashboards among them goes on in this
            process.

    Raises:
        StoreError.
    """
    _interrupt_runs(
        store, OwnerWatch(store).find_gone_owners(), takes_over_queues=takes_over_queues
    )


def abandoned_runs(store: Store) -> set[str]:
    """Ids of the active runs whose programs on this machine are gone; nothing is changed.

    Raises:
        StoreError.
    """
    gone_owners = OwnerWatch(store).find_gone_owners()
    return {run.run_id for run in current_activity(store).runs if run.owner in gone_owners}


def interrupt_run_if_abandoned(store: Store, run_id: str) -> None:
    """Interrupt abandoned runs, and this one too if its program elsewhere gives no sign of life.

    That takes as long as a sign of life may take, so it is done only for a run that is to go on.

    Raises:
        StoreError.
    """
    interrupt_abandoned_runs(store)
    owner = owner_of(store, run_id)
    beat_of_owner = active_owners(store)
    if owner not in beat_of_owner or not is_elsewhere(owner):
        return
    log.info("waits for a sign of life of the program that has run %s", run_id)
    watch = OwnerWatch(store)
    while owner not in watch.find_gone_owners():
        if active_owners(store).get(owner, ENDED) != beat_of_owner[owner]:
            # The owner has given a new sign of life, or has no active run any more.
            return
        sleep(LOOK_SECONDS)
    _interrupt_runs(store, {owner})


def _interrupt_runs(
    store: Store, gone_owners: Collection[str], *, takes_over_queues: bool = False
) -> int:
    """Interrupt the runs of owners that are gone.

    Args:
        store: The store of the runs.
        gone_owners: Their names.
        takes_over_queues: Whether what waits in the queues of dashboards among them goes on in this
            process.

    Returns:
        How many runs this process has taken over.

    Raises:
        StoreError.
    """
    taken_over_count = 0
    if gone_owners:
        if takes_over_queues:
            taken_over_count = take_over(store, gone_owners, owner=this_process())
        interrupt(store, gone_owners)
    return taken_over_count


_heartbeat_counts: Counter[str] = Counter()
"""How many threads of this process give signs of life, by the URL of the database."""


class Heartbeat:
    """A thread that gives this process's signs of life, and looks for processes that are gone."""

    def __init__(
        self,
        store: Store,
        *,
        is_dashboard: bool = False,
        on_takeover: Callable[[], None] = lambda: None,
    ) -> None:
        """Start it.

        Args:
            is_dashboard: Whether this is a dashboard, whose queue the next one takes over.
            on_takeover: Called when runs came into this process's queue from one that is gone.
        """
        self._store = store
        self._is_dashboard = is_dashboard
        self._on_takeover = on_takeover
        # While this is above 0, `signs_of_life` starts no second thread.
        _heartbeat_counts[store.url] += 1
        self._stop = threading.Event()
        self._wake = threading.Event()
        """Set for a sign of life at once, before its time."""
        self._thread = threading.Thread(target=self._beat, name="ecv-heart", daemon=True)
        self._thread.start()

    def beat_now(self) -> None:
        """Give a sign at once: something was put into this process's queue."""
        self._wake.set()

    def stop(self) -> None:
        """No more signs of life."""
        if not self._stop.is_set():
            _heartbeat_counts[self._store.url] -= 1
        self._stop.set()
        self._wake.set()

    def _beat(self) -> None:
        """In the thread: give signs of life, and release the runs of who is gone, until `stop`."""
        owner = this_process()
        watch = OwnerWatch(self._store)
        is_away = False
        while not self._stop.is_set():
            self._wake.clear()
            try:
                if owner in active_owners(self._store):
                    # Only owners of active runs are looked for, so that other processes need no
                    # sign of life.
                    beat(self._store, owner, is_dashboard=self._is_dashboard)
                taken_over_count = _interrupt_runs(
                    self._store, watch.find_gone_owners(), takes_over_queues=self._is_dashboard
                )
                if taken_over_count:
                    self._on_takeover()
                is_away = False
            except StoreError as error:
                # The thread outlives a database that is away for a while. After `stop` nobody needs
                # a sign of life, and the database of a run that is not kept is deleted.
                if not is_away and not self._stop.is_set():
                    log.warning("no sign of life could be given: %s", error)
                is_away = True
            self._wake.wait(BEAT_SECONDS)


@contextmanager
def signs_of_life(store: Store) -> Iterator[None]:
    """Give signs of life while the block runs; in a dashboard its manager does so already."""
    if _heartbeat_counts[store.url]:
        yield
        return
    heartbeat = Heartbeat(store)
    try:
        yield
    finally:
        heartbeat.stop()
