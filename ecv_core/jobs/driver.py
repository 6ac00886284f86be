"""The one loop that has folds computed: of a run, a study, a selection, a tuning, on any executor.

Every fold is committed before the executor goes on where it can wait, and however it ends the state
of each run says so.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing as closed_after
from contextlib import contextmanager

from ecv_core.errors import Cancelled, EcvError, InputError, Terminated
from ecv_core.jobs.book import Book, ProgressWriter, writing_progress
from ecv_core.jobs.computing import failure
from ecv_core.jobs.executors import Computed, Ended, Executor, Here
from ecv_core.jobs.owner import beating
from ecv_core.jobs.plan import Plan, Task
from ecv_core.records import RunState
from ecv_core.store import GONE

log = logging.getLogger(__name__)

CANCEL_POLL_SECONDS = 0.2


def drive(
    plan: Plan,
    book: Book,
    executor: Executor | None = None,
    *,
    closing: Callable[[], bool] = lambda: False,
    seconds: float | None = None,
    gives_way: bool = False,
) -> None:
    """Have a plan's folds computed until it is done, is cancelled, or a fold fails.

    Args:
        plan: says which folds come next.
        book: keeps them; its runs say how they ended, and `book.check_finished` raises what failed.
        executor: computes them; by default this very process, here and now.
        closing: whether this program is about to end; what goes is interrupted then.
        seconds: by the clock, that all folds of a run may take together; then it is cancelled.
        gives_way: return as soon as none of the plan's runs is claimed, though it is not done, so
            that others who wait come first.
    Raises: KeyboardInterrupt, and Terminated while this program is not about to end anyway;
        InputError where the plan cannot go on, as where only other code can compute a fold.
    """
    executor = executor or Here()
    refusal: InputError | None = None
    with beating(book.store), _ending(book, closing), writing_progress(book.store) as writer:
        book.start()
        drive = _Drive(plan, book, executor, writer, closing, seconds)
        try:
            refusal = drive.to_its_end(gives_way=gives_way)
        finally:
            drive.cancel_rest()
        book.end(RunState.INTERRUPTED, str(refusal) if refusal else None)
    if refusal is not None:
        raise refusal


class _Drive:
    """What is under way of one plan."""

    def __init__(
        self,
        plan: Plan,
        book: Book,
        executor: Executor,
        writer: ProgressWriter,
        closing: Callable[[], bool],
        seconds: float | None,
    ) -> None:
        self._plan, self._book, self._executor, self._writer = plan, book, executor, writer
        self._closing, self._seconds = closing, seconds
        self._begun: dict[Task, float] = {}
        """Tasks under way, and when each began, by `time.monotonic`."""
        self._failed = False

    def to_its_end(self, *, gives_way: bool) -> InputError | None:
        """Until nothing is left to do; gives why the plan cannot go on, where it says so."""
        while not self._failed:
            self._check_may_go_on()
            try:
                tasks = self._plan.next(self._book, tuple(self._begun))
            except InputError as error:
                return error
            if not self._begin(tasks) and not self._begun:
                break
            if self._begun:
                self._take_what_is_finished()
            if gives_way and not self._book.running:
                break
        return None

    def cancel_rest(self) -> None:
        """End what is still under way."""
        for task in self._begun:
            self._executor.cancel(task)
        self._begun.clear()

    def _begin(self, tasks: Sequence[Task]) -> bool:
        """Submit as many as there are places; whether something has moved."""
        moved = False
        for task in tasks:
            if len(self._begun) >= self._executor.places:
                break
            if not self._book.claim(task):
                return True  # another program has the run: the plan sees that it has ended here
            if self._book.reuse(task):
                self._book.settle(task.specs)
                return True
            self._book.insist_on_time(task, self._seconds)
            self._executor.submit(task, self._book.progress_of(task, self._writer))
            self._begun[task] = time.monotonic()
            moved = True
        return moved

    def _take_what_is_finished(self) -> None:
        with closed_after(self._executor.finished(CANCEL_POLL_SECONDS)) as finished:
            for said in finished:
                if isinstance(said, Computed):
                    self._writer.forget()
                    self._book.commit(said.task, said.place, said.result)
                    self._check_may_go_on()
                elif self._begun.pop(said.task, None) is not None:
                    self._take_end(said)
        for task, begun in list(self._begun.items()):
            try:
                if self._plan.independent and self._book.cancelled(task.specs):
                    raise Cancelled
                self._book.insist_on_time(task, self._seconds, time.monotonic() - begun)
            except Cancelled as cancelled:
                self._executor.cancel(task)
                del self._begun[task]
                self._cancel(task, cancelled)

    def _take_end(self, ended: Ended) -> None:
        task, error = ended.task, ended.error
        if error is None:
            self._book.settle(task.specs)
        elif self._closing():  # the worker has ended with this program
            raise Terminated
        elif isinstance(error, Cancelled):
            self._cancel(task, error)
        else:
            if not isinstance(error, EcvError):
                log.error("fold %d failed", task.fold, exc_info=error)
            self._book.end(RunState.FAILED, failure(error), task.specs)
            if not self._plan.independent:
                waited = f"'{task.specs[0].algorithm}', which it is adjusted by, failed: "
                self._book.end(RunState.FAILED, waited + failure(error))
                self._failed = True

    def _cancel(self, task: Task, cancelled: Cancelled) -> None:
        if not self._plan.independent:
            raise cancelled
        self._book.end(RunState.CANCELLED, str(cancelled) or None, task.specs)

    def _check_may_go_on(self) -> None:
        if self._closing():
            raise Terminated
        if not self._plan.independent and self._book.cancelled():
            raise Cancelled


@contextmanager
def _ending(book: Book, closing: Callable[[], bool]) -> Iterator[None]:
    """However the block ends, whoever looks at the runs is told; its caller hears of signals only.

    Raises: KeyboardInterrupt, and Terminated while this program is not about to end anyway.
    """
    try:
        yield
    except Cancelled as error:
        book.end(RunState.CANCELLED, str(error) or None)
    except KeyboardInterrupt:
        book.end(RunState.CANCELLED)
        raise
    except Terminated:
        book.end(RunState.INTERRUPTED, GONE)
        if not closing():
            raise
    except Exception as error:
        if closing():
            book.end(RunState.INTERRUPTED, GONE)
            return
        if not isinstance(error, EcvError):
            log.exception("a plan failed")
        book.end(RunState.FAILED, failure(error))
