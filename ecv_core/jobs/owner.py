"""Who runs a run: processes with names that stay theirs, and the sign of life they give."""

from __future__ import annotations

import hashlib
import logging
import os
import re
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

import psutil

from ecv_core.errors import StoreError
from ecv_core.store import Store, active_owners, beat, interrupt, take_over

log = logging.getLogger(__name__)

BEAT_SECONDS = 3.0
"""How often a process says in the database that it is there."""
GONE_SECONDS = 10.0
"""After this long without a sign of life a process on another machine is gone."""


def this_process() -> str:
    """Names this process for good: machine, process id and start, for a process id comes back."""
    process = psutil.Process()
    return f"{_machine()}:{process.pid}:{process.create_time():.0f}"


@lru_cache(maxsize=1)
def _machine() -> str:
    """Where process ids mean the same: this host since it was started, or this container."""
    space = "".join(map(_text, ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid")))
    return f"{socket.gethostname()}/{hashlib.sha256(space.encode()).hexdigest()[:8]}"


def _text(path: str) -> str:
    try:
        return os.readlink(path) if Path(path).is_symlink() else Path(path).read_text()
    except OSError:
        return ""


def is_alive(owner: str, last: datetime | None) -> bool:
    """Whether the process that `this_process` named is still there; of another name who knows.

    Args:
        owner: its name.
        last: its last sign of life, by its own clock; None if it never gave one.
    """
    named = re.fullmatch(r"(.+):(\d+):(\d+)", owner)
    if named is None:
        return True
    machine, pid, started = named.groups()
    if machine not in (_machine(), socket.gethostname()):  # the latter: as versions before named it
        return last is not None and (datetime.now(UTC) - last).total_seconds() < GONE_SECONDS
    try:
        process = psutil.Process(int(pid))
        same = abs(process.create_time() - float(started)) < 2
        return same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def recover(store: Store, *, serves: bool = False) -> bool:
    """Mark runs whose program is gone as interrupted, so that they can be resumed.

    Args:
        store: whose runs.
        serves: whether this process takes over what waits in the queues of dashboards that are
            gone.
    Returns: whether it took something over.
    Raises: StoreError.
    """
    beats = active_owners(store)
    gone = {owner for owner, last in beats.items() if not is_alive(owner, last)}
    if not gone:
        return False
    taken = serves and take_over(store, gone, owner=this_process())
    interrupt(store, gone)
    return bool(taken)


_hearts: Counter[str] = Counter()
"""How many of this process's hearts beat in each database."""


class Heart:
    """A thread that gives this process's signs of life, and looks for processes that are gone."""

    def __init__(
        self, store: Store, *, serves: bool = False, on_taken: Callable[[], None] = lambda: None
    ) -> None:
        """Start it.

        Args:
            store: where.
            serves: whether this is a dashboard, whose queue the next one takes over.
            on_taken: called when something came into this process's queue that way.
        """
        self._store, self._serves, self._on_taken = store, serves, on_taken
        _hearts[store.url] += 1
        self._stop, self._now = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._beat, name="ecv-heart", daemon=True)
        self._thread.start()

    def now(self) -> None:
        """Give a sign at once: something was put into this process's queue."""
        self._now.set()

    def stop(self) -> None:
        """No more signs of life."""
        if not self._stop.is_set():
            _hearts[self._store.url] -= 1
        self._stop.set()
        self._now.set()

    def _beat(self) -> None:
        owner = this_process()
        while not self._stop.is_set():
            self._now.clear()
            try:
                if owner in active_owners(self._store):  # an idle one writes nothing
                    beat(self._store, owner, serves=self._serves)
                if recover(self._store, serves=self._serves):
                    self._on_taken()
            except StoreError as error:  # a database comes and goes
                log.warning("no sign of life could be given: %s", error)
            self._now.wait(BEAT_SECONDS)


@contextmanager
def beating(store: Store) -> Iterator[None]:
    """Give signs of life while the block runs; in a dashboard its manager does so already."""
    heart = None if _hearts[store.url] else Heart(store)
    try:
        yield
    finally:
        if heart is not None:
            heart.stop()
