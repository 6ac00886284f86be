"""An executor with several places: threads, and any task of those under way ends next."""

from __future__ import annotations

import queue
import threading
import time
from contextlib import suppress

from ecv_core.jobs.executors import Compute, Computed, Ended, Finished
from ecv_core.jobs.plan import FoldTask
from ecv_core.records.run import Progress


class Threads:
    """Each task in a thread of its own."""

    def __init__(self, compute: Compute, places: int = 3) -> None:
        self.capacity = places
        self.most = 0
        """How many were under way at once."""
        self._compute = compute
        self._said: queue.SimpleQueue[Computed | Ended] = queue.SimpleQueue()
        self._submitted_tasks: set[FoldTask] = set()

    def submit(self, task: FoldTask, progress: Progress) -> None:
        assert task not in self._submitted_tasks, "a task was given twice"
        assert len(self._submitted_tasks) < self.capacity, "more tasks than places"
        self._submitted_tasks.add(task)
        self.most = max(self.most, len(self._submitted_tasks))
        threading.Thread(target=self._run, args=(task, progress), daemon=True).start()

    def finished(self, seconds: float) -> Finished:
        end = time.monotonic() + seconds
        with suppress(queue.Empty):
            while True:
                said = self._said.get(timeout=max(0.0, end - time.monotonic()))
                if said.task not in self._submitted_tasks:
                    continue  # cancelled
                if isinstance(said, Ended):
                    self._submitted_tasks.remove(said.task)
                yield said
                end = time.monotonic()  # only for the first

    def cancel(self, task: FoldTask) -> None:
        self._submitted_tasks.discard(task)

    def close(self) -> None:
        self._submitted_tasks.clear()

    def _run(self, task: FoldTask, progress: Progress) -> None:
        error: Exception | None = None
        try:
            for spec_index, result in self._compute(task.specs, task.fold, progress):
                self._said.put(Computed(task=task, spec_index=spec_index, result=result))
        except Exception as raised:  # noqa: BLE001  the driver says what it means
            error = raised
        self._said.put(Ended(task=task, error=error))
