"""Signs of life: who has runs gives them, and the runs of who is gone are interrupted."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ecv_core.records.errors import StoreError
from ecv_core.store.ownership import (
    active_owners,
    beat,
    interrupt,
    is_alive,
    take_over,
    this_process,
)
from ecv_core.store.store import Store

log = logging.getLogger(__name__)

BEAT_SECONDS = 3.0
"""How often a process says in the database that it is there."""


def recover(store: Store, *, serves: bool = False) -> bool:
    """Mark runs whose program is gone as interrupted, so that they can be resumed.

    Args:
        store: the database.
        serves: whether this process takes over what waits in the queues of dashboards that are
            gone.
    Returns: whether it took something over.
    Raises: StoreError.
    """
    gone = set()
    for owner, last_beat in active_owners(store).items():
        if not is_alive(owner, last_beat):
            gone.add(owner)
    if not gone:
        return False
    taken_over = 0
    if serves:
        taken_over = take_over(store, gone, owner=this_process())
    interrupt(store, gone)
    return taken_over > 0


_heartbeats: Counter[str] = Counter()
"""How many threads of this process give signs of life in each database."""


class Heartbeat:
    """A thread that gives this process's signs of life, and looks for processes that are gone."""

    def __init__(
        self, store: Store, *, serves: bool = False, on_taken: Callable[[], None] = lambda: None
    ) -> None:
        """Start it.

        Args:
            serves: whether this is a dashboard, whose queue the next one takes over.
            on_taken: called when something came into this process's queue that way.
        """
        self._store = store
        self._serves = serves
        self._on_taken = on_taken
        _heartbeats[store.url] += 1
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="ecv-heart", daemon=True)
        self._thread.start()

    def beat_now(self) -> None:
        """Give a sign at once: something was put into this process's queue."""
        self._wake.set()

    def stop(self) -> None:
        """No more signs of life."""
        if not self._stop.is_set():
            _heartbeats[self._store.url] -= 1
        self._stop.set()
        self._wake.set()

    def _beat(self) -> None:
        owner = this_process()
        while not self._stop.is_set():
            self._wake.clear()
            try:
                if owner in active_owners(self._store):  # an idle one writes nothing
                    beat(self._store, owner, serves=self._serves)
                if recover(self._store, serves=self._serves):
                    self._on_taken()
            except StoreError as error:  # a database comes and goes
                log.warning("no sign of life could be given: %s", error)
            self._wake.wait(BEAT_SECONDS)


@contextmanager
def signs_of_life(store: Store) -> Iterator[None]:
    """Give signs of life while the block runs; in a dashboard its manager does so already."""
    if _heartbeats[store.url]:
        yield
        return
    heartbeat = Heartbeat(store)
    try:
        yield
    finally:
        heartbeat.stop()
