"""The dashboard's manager: a queue in the database, one thread, one worker process."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

from ecv_core.errors import EcvError, StoreError
from ecv_core.records import RunSpec
from ecv_core.runner.drive import RETRY_SECONDS, Job, execute
from ecv_core.runner.owner import Heart, recover
from ecv_core.runner.queue import Queue
from ecv_core.runner.together import SharedJob, execute_shared
from ecv_core.runner.worker import Worker, warm_up, work, work_shared
from ecv_core.store import START, Quota, Store, give_back, pack_some

log = logging.getLogger(__name__)

QUIET_SECONDS = 5.0
"""After so long without work the manager looks for what it can do besides."""
CLOSE_SECONDS = 3.0
"""How long the end of the program may wait for the state of the run to be written."""


class RunManager(Queue):
    """Runs what is queued, one fold at a time, in the background. One per process."""

    def __init__(
        self,
        store: Store,
        *,
        job: Job = work,
        shared: SharedJob = work_shared,
        after: Callable[[str], object] | None = None,
        together: Callable[[str], Sequence[str]] = lambda run_id: [run_id],
        seconds: float | None = None,
    ) -> None:
        """Start the thread.

        Args:
            store: that has the queue.
            job: computes a fold.
            shared: computes a fold of several runs that share work.
            after: called in the thread with the id of a run that has just ended, however it did;
                what it queues under `owner` comes next.
            together: says which queued runs share work with the one that comes next, that one
                first.
            seconds: that a run may take, as of `execute`.
        """
        super().__init__(store)
        self._job = job
        self._shared = shared
        self._after = after
        self._together = together
        self._seconds = seconds
        self._worker = Worker()
        self._wake = threading.Event()
        self._closing = False
        self._packed = False
        self.trouble: str | None = None
        """A sentence to show while something finished cannot be saved; None when all is well."""
        recover(store, serves=True)
        self._heart = Heart(store, serves=True, on_taken=self._wake.set)
        self._thread = threading.Thread(target=self._loop, name="ecv-runner", daemon=True)
        self._thread.start()

    def start(
        self, specs: Sequence[RunSpec], *, started_by: str = "", quota: Quota | None = None
    ) -> str:
        """As `Queue.start`; the first one starts as soon as the runs before it are done."""
        group_id = super().start(specs, started_by=started_by, quota=quota)
        self.wake()
        return group_id

    def wake(self) -> None:
        """Look into the queue again: something was put there under `owner`."""
        self._heart.now()
        self._wake.set()

    def resume(self, run_id: str, *, full: bool = False) -> bool:
        """As `Queue.resume`; it starts as soon as the runs before it are done."""
        resumed = super().resume(run_id, full=full)
        if resumed:
            self.wake()
        return resumed

    def warm_up(self) -> None:
        """Start the worker process in the background, so that the first fold does not wait."""
        self._worker.submit(warm_up)

    def close(self) -> None:
        """End the thread and the worker; the run that is going is interrupted, the queue waits."""
        if self._closing:
            return
        self._closing = True
        self._wake.set()
        self._worker.kill()
        self._thread.join(CLOSE_SECONDS)
        self._heart.stop()

    def _loop(self) -> None:
        while not self._closing:
            try:
                run_id = self._store.next_queued(self.owner)
                if run_id is None:
                    if not self._wake.wait(QUIET_SECONDS):
                        self._pack()
                    self._wake.wait()
                    self._wake.clear()
                    continue
                run_ids = list(self._together(run_id))
                if len(run_ids) > 1:
                    execute_shared(
                        *(self._store, run_ids),
                        job=self._shared,
                        worker=self._worker,
                        on_trouble=self._set_trouble,
                        closing=lambda: self._closing,
                        seconds=self._seconds,
                    )
                else:
                    execute(
                        *(self._store, run_id, self._worker),
                        job=self._job,
                        on_trouble=self._set_trouble,
                        closing=lambda: self._closing,
                        seconds=self._seconds,
                    )
                if not self._closing:
                    for one in run_ids:
                        self._follow_up(one)
            except StoreError as error:  # the thread outlives a database that comes and goes
                log.error("%s", error)
                self._set_trouble(str(error))
                time.sleep(RETRY_SECONDS)

    def _pack(self) -> None:
        """What an earlier version left large is packed while nothing runs, here or elsewhere."""
        place, began = START, False
        try:
            while not (self._packed or self._wake.is_set() or self._store.active()):
                after = pack_some(self._store, place)
                self._packed, began, place = after is None, began or bool(after), after or place
            if began and self._packed:
                give_back(self._store)
        except StoreError as error:  # nobody waits for it
            log.warning("%s", error)

    def _follow_up(self, run_id: str) -> None:
        if self._after is None:
            return
        try:
            self._after(run_id)
        except StoreError:
            raise
        except EcvError as error:  # what cannot go on says so itself, on its page
            log.error("%s", error)

    def _set_trouble(self, sentence: str | None) -> None:
        self.trouble = sentence
