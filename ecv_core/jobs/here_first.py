"""A second of work is done in this very process, and only longer work in worker processes."""

from __future__ import annotations

import time
from contextlib import closing

from ecv_core.jobs.executors import (
    Compute,
    Computed,
    Ended,
    Executor,
    Finished,
    Here,
    compute,
    unmetered_workers,
)
from ecv_core.jobs.plan import FoldTask
from ecv_core.records.errors import Cancelled
from ecv_core.records.run import Progress

HERE_SECONDS = 1.0
"""About what the start of another interpreter takes, with the imports of a fold."""


class _TakesLong(Cancelled):
    """A fold that is computed here takes longer than a second."""


class _ProgressWithLimit:
    """Ends a fold that takes long; what comes before the fold itself does not count."""

    def __init__(self, progress: Progress) -> None:
        """The fold has not begun. Args: progress: told every step of it."""
        self._progress = progress
        self._began_at: float | None = None
        """When its first step came, by `time.monotonic`."""

    def report(self, phase: str, step: int, steps: int, /) -> None:
        """Pass a step on. Raises: _TakesLong; what the progress raises."""
        self._progress(phase, step, steps)
        if phase == "load" or phase.startswith("wait"):
            return
        now = time.monotonic()
        if self._began_at is None:
            self._began_at = now
        elif now - self._began_at >= HERE_SECONDS:
            # The code that computes the fold calls this method, so that the error ends the fold.
            raise _TakesLong("it goes on in a worker process")


class HereFirst:
    """Computes folds that no meter looks at: here for a second in all, then on all cores.

    A fold that takes longer is begun anew by a worker process, unless it ends before it next says
    how far it is.
    """

    def __init__(self, compute: Compute = compute, workers: Executor | None = None) -> None:
        """Nothing starts yet.

        Args:
            compute: A function of a module, done with each task.
            workers: For what takes longer; by default a process for each core.
        """
        self._here = Here(compute)
        # No meter looks at these folds, so that several may be computed at once.
        self._workers = workers or unmetered_workers(compute)
        self._progress: dict[FoldTask, Progress] = {}
        """Of the tasks that were given to this process: a worker goes on telling it where one takes
        long."""
        self._seconds_left = HERE_SECONDS
        """That folds may still be computed here, all together."""

    @property
    def capacity(self) -> int:
        if self._seconds_left > 0:
            return self._here.capacity
        return self._workers.capacity

    def submit(self, task: FoldTask, progress: Progress) -> None:
        """As of `Executor`; a task of several runs takes as long as all of them."""
        if self._seconds_left <= 0 or len(task.specs) > 1:
            self._workers.submit(task, progress)
            return
        self._progress[task] = progress
        self._here.submit(task, _ProgressWithLimit(progress).report)

    def finished(self, seconds: float) -> Finished:
        with closing(self._here.finished(seconds)) as messages:
            for message in messages:
                if isinstance(message, Computed):
                    self._seconds_left -= message.result.total_seconds
                if isinstance(message, Ended) and isinstance(message.error, _TakesLong):
                    self._begin_anew(message.task)
                else:
                    yield message
        yield from self._workers.finished(seconds)

    def _begin_anew(self, task: FoldTask) -> None:
        """Have a worker process compute what takes long, unless nobody needs it any more."""
        self._seconds_left = 0.0
        if task in self._progress:
            self._workers.submit(task, self._progress.pop(task))

    def cancel(self, task: FoldTask) -> None:
        self._progress.pop(task, None)
        self._here.cancel(task)
        self._workers.cancel(task)

    def close(self) -> None:
        self._here.close()
        self._workers.close()
