"""A second of folds is computed in the very process; what takes longer, by the workers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import pytest

from ecv_core.jobs.executors import Computed, Ended, Finished, Here, Results
from ecv_core.jobs.here_first import HereFirst
from ecv_core.jobs.plan import FoldTask
from ecv_core.records.run import Progress
from ecv_core.records.spec import RunSpec
from tests.fake_folds import fold_result

SPEC = RunSpec(dataset="synthetic", algorithm="popular", k=5, rule="never")


class FakeFolds:
    """Folds of two steps, each of so many seconds of a clock of its own, after slow imports."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
        self.seconds = seconds
        self.now = 0.0
        monkeypatch.setattr(time, "monotonic", lambda: self.now)

    def compute(self, specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
        progress("waits for process 7", 0, 0)
        self.now += 60
        progress("load", 0, 0)
        self.now += 60
        for step in range(3):
            progress("fit", step, 2)
            self.now += self.seconds / 2
        for spec_index in range(len(specs)):
            yield spec_index, replace(fold_result(index, 0.5), total_seconds=self.seconds)


class FakeWorkers(Here):
    """Three, that know what they were given."""

    capacity = 3

    def __init__(self) -> None:
        super().__init__(of_a_worker)
        self.folds: list[int] = []

    def submit(self, task: FoldTask, progress: Progress) -> None:
        self.folds.append(task.fold)
        super().submit(task, progress)


def of_a_worker(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    progress("fit", 2, 2)
    for place in range(len(specs)):
        yield place, fold_result(index, 0.7)


def results(messages: Finished) -> list[tuple[int, int, float]]:
    """Fold, place and score of what was computed; every task has ended well."""
    found = []
    for message in messages:
        if isinstance(message, Computed):
            found.append((message.task.fold, message.spec_index, message.result.score))
        else:
            assert message == Ended(task=message.task)
    return found


def compute(executor: HereFirst, fold: int, runs: int = 1) -> list[tuple[int, int, float]]:
    executor.submit(FoldTask(specs=(SPEC,) * runs, fold=fold), lambda *_: None)
    return results(executor.finished(0))


def test_folds_are_computed_here_until_they_have_taken_a_second(monkeypatch):
    workers = FakeWorkers()
    executor = HereFirst(FakeFolds(monkeypatch, seconds=0.4).compute, workers)
    for fold in range(3):  # 0.4 + 0.4 + 0.4 s
        assert executor.capacity == 1
        assert compute(executor, fold) == [(fold, 0, 0.5)]
    assert workers.folds == []
    assert executor.capacity == 3
    assert compute(executor, 3) == [(3, 0, 0.7)]
    assert workers.folds == [3]


def test_a_fold_that_takes_long_is_begun_anew_by_a_worker(monkeypatch):
    workers = FakeWorkers()
    executor = HereFirst(FakeFolds(monkeypatch, seconds=2.0).compute, workers)
    steps = []
    executor.submit(FoldTask(specs=(SPEC,), fold=4), lambda *step: steps.append(step))
    assert results(executor.finished(0)) == [(4, 0, 0.7)]
    assert workers.folds == [4]
    # That of one second here, and then the worker's, to the same progress.
    assert steps[-2:] == [("fit", 1, 2), ("fit", 2, 2)]
    assert executor.capacity == 3


def test_a_fold_that_takes_long_and_that_nobody_needs_is_begun_by_nobody(monkeypatch):
    workers = FakeWorkers()
    folds = FakeFolds(monkeypatch, seconds=2.0)
    executor = HereFirst(folds.compute, workers)
    task = FoldTask(specs=(SPEC,), fold=4)

    def cancel(phase: str, step: int, steps: int) -> None:
        executor.cancel(task)

    executor.submit(task, cancel)
    assert results(executor.finished(0)) == []
    assert workers.folds == []


def test_a_task_of_several_runs_goes_to_a_worker_at_once(monkeypatch):
    workers = FakeWorkers()
    executor = HereFirst(FakeFolds(monkeypatch, seconds=0.1).compute, workers)
    assert compute(executor, 0, runs=2) == [(0, 0, 0.7), (0, 1, 0.7)]
    assert workers.folds == [0]
