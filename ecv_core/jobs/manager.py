"""The dashboard's manager: a queue in the database, one thread, one worker process or a cluster."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from itertools import islice

from ecv_core.jobs.book import RETRY_SECONDS, Book, Says
from ecv_core.jobs.cluster.choose import HERE, executor_on, place_asked
from ecv_core.jobs.computing import Compute, compute, failure
from ecv_core.jobs.driver import drive
from ecv_core.jobs.executors import Executor, Worker
from ecv_core.jobs.owner import Heart, recover
from ecv_core.jobs.plans.behind import plan_of
from ecv_core.jobs.queue import Queue
from ecv_core.records.errors import DamagedRun, EcvError, StoreError
from ecv_core.records.run import RunState
from ecv_core.store.store import Store

log = logging.getLogger(__name__)
RUN: ContextVar[str] = ContextVar("run", default="")
"""The id of the run that this thread computes: every line of a log may have it."""

CLOSE_SECONDS = 3.0
"""How long the end of the program may wait for the state of the run to be written."""


class RunManager(Queue):
    """Computes what is queued, in the background: one fold at a time, or on as many nodes as there
    are where a cluster was chosen, or ECV_CLUSTER says one. One per process."""

    def __init__(
        self, store: Store, *, compute: Compute = compute, seconds: float | None = None
    ) -> None:
        """Start the thread.

        Args:
            compute: what the worker process does with a task.
            seconds: that a run may take, as of `drive`.
        """
        super().__init__(store)
        self._seconds = seconds
        self._calls = compute
        self._worker = Worker(compute)
        self._executors: dict[str, Executor] = {}
        self._wake = threading.Event()
        self._closing = False
        self.trouble: str | None = None
        """A sentence to show while something finished cannot be saved; None when all is well."""
        recover(store, serves=True)
        self._heart = Heart(store, serves=True, on_taken=self._wake.set)
        self._thread = threading.Thread(target=self._loop, name="ecv-runner", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Look into the queue again: something was put there under `owner`."""
        self._heart.now()
        self._wake.set()

    def warm_up(self) -> None:
        """Start the worker process, so that the first fold does not wait for it."""
        if place_asked() == HERE:
            self._worker.warm_up()

    @property
    def alive(self) -> bool:
        """Whether what is queued is computed."""
        return self._thread.is_alive()

    def close(self) -> None:
        """End the thread and the worker; the run that is going is interrupted, the queue waits."""
        if self._closing:
            return
        self._closing = True
        self._wake.set()
        self._worker.close()
        self._thread.join(CLOSE_SECONDS)
        for executor in self._executors.values():
            executor.close()
        self._heart.stop()

    def _loop(self) -> None:
        while not self._closing:
            try:
                run_id = self._store.next_queued(self.owner)
                if run_id is not None:
                    with self._logged(run_id):
                        self._compute(run_id)
                    continue
                self._wake.wait()
                self._wake.clear()
            except StoreError as error:  # the thread outlives a database that comes and goes
                log.error("%s", error)
                self._tell(str(error))
                time.sleep(RETRY_SECONDS)

    @contextmanager
    def _logged(self, run_id: str) -> Iterator[None]:
        """Say that a run begins and how it ended, and its id in every line meanwhile."""
        token, begin = RUN.set(run_id), time.monotonic()
        try:
            log.info("computing begins")
            yield
            with suppress(EcvError):  # it may be deleted by now
                run = self._store.run(run_id)
                took = time.monotonic() - begin
                log.info("%s, with %d folds, after %.1f s", run.state, len(run.folds), took)
        finally:
            RUN.reset(token)

    def _compute(self, run_id: str) -> None:
        """Compute a run, or a fold of the selection that has queued it; queue what comes next.

        Raises: StoreError where the database is away: the run waits until it is there again.
        """
        queued: list[str] = []
        book: Book | None = None
        refusal: str | None = None
        try:
            says = Says(trouble=self._tell)
            run = self._store.run(run_id)
            executor = self._executor_on(self._store.place_of(run.group) or place_asked())
            plan, book = plan_of(self._store, run, says, together=executor.places > 1)
            drive(
                plan,
                book,
                executor,
                closing=lambda: self._closing,
                seconds=self._seconds,
                gives_way=True,
            )
            if book.all_finished and not self._closing:
                for task in islice(plan.next(book, ()), 1):
                    queued += book.queue(task)
        except EcvError as error:  # what cannot go on says so itself, on its page
            if isinstance(error, StoreError) and not isinstance(error, DamagedRun):
                raise
            log.info("%s", error)
            refusal = str(error)
        except Exception as error:  # whatever it is, the queue goes on
            log.exception("run %s could not be computed", run_id)
            refusal = failure(error)
        had = run_id in queued or (book is not None and book.had(run_id))
        if not (self._closing or had):  # nobody needs its fold any more
            state = RunState.FAILED if refusal else RunState.FINISHED
            self._store.leave_queue(run_id, state, error=refusal, owner=self.owner)

    def _executor_on(self, place: str) -> Executor:
        """Made once. Raises: InputError for a cluster that does not answer; it is asked again."""
        if place not in self._executors:
            self._executors[place] = executor_on(
                place, otherwise=lambda: self._worker, compute=self._calls
            )
        return self._executors[place]

    def _tell(self, sentence: str | None) -> None:
        self.trouble = sentence
