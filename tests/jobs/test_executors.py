"""Here and the worker process: what they tell of a task, and how they end."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import psutil
import pytest
import torch

from ecv_core.jobs import executors
from ecv_core.jobs.executors import (
    Compute,
    Computed,
    Ended,
    Here,
    Results,
    Workers,
    WrongAnswer,
    compute,
)
from ecv_core.jobs.plan import FoldTask
from ecv_core.records.errors import InputError, RunError, UnknownName
from ecv_core.records.run import Progress, no_progress
from ecv_core.records.spec import RunSpec
from tests.fake_folds import fold_result, quick, shared, unpicklable_error

SPEC = RunSpec(dataset="synthetic", algorithm="popular", k=5, rule="never")
TASK = FoldTask(specs=(SPEC,), fold=1)


def talkative(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    """What a library prints must not be taken for an answer."""
    print("this is no answer")
    os.write(1, b"nor is this\n")
    subprocess.run(["echo", "nor", "this"], check=True)
    progress("fit", 3, 7)
    yield 0, fold_result(index, 0.5)


def unknown(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    raise UnknownName("algorithm", "esae", ["ease"])
    yield


class StrangeError(RunError):
    """Cannot be made from what it keeps."""

    def __init__(self, one: int, other: int) -> None:
        super().__init__("a strange end")


def strange(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    raise StrangeError(1, 2)
    yield


def unreadable(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    yield 0, StrangeError(1, 2)


class Exits:
    """Ends whoever reads it."""

    def __reduce__(self) -> tuple[object, ...]:
        return sys.exit, ("no more",)


def exits(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    yield 0, Exits()


def with_a_child(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
    progress("child", child.pid, 0)
    time.sleep(3600)
    yield


@pytest.fixture
def work() -> Iterator[Callable[[Compute], Workers]]:
    made: list[Workers] = []

    def make(compute: Compute) -> Workers:
        made.append(Workers(compute))
        return made[-1]

    yield make
    for worker in made:
        worker.close()


def said_of(executor: Here | Workers, task: FoldTask = TASK) -> list[Computed | Ended]:
    """All that is told of a task, until it has ended."""
    said: list[Computed | Ended] = []
    end = time.monotonic() + 120
    while not (said and isinstance(said[-1], Ended)):
        assert time.monotonic() < end, "waited in vain"
        said += executor.finished(0.2)
    return said


@pytest.mark.parametrize("kind", [Here, Workers])
def test_every_result_of_a_task_is_told_and_then_its_end(kind: type[Here | Workers]) -> None:
    executor = kind(shared)
    task = FoldTask(specs=(SPEC, SPEC, SPEC), fold=1)
    executor.submit(task, no_progress)
    *results, end = said_of(executor, task)
    assert [one.spec_index for one in results] == [2, 1, 0]
    assert [one.result.score for one in results] == [3.0] * 3
    assert end == Ended(task=task)
    executor.close()


@pytest.mark.parametrize("error", [SystemExit(3), BaseException("no more")], ids=repr)
def test_whatever_a_model_raises_ends_its_run_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def raises(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("ecv_core.jobs.executors.run_fold", raises)
    with pytest.raises(RunError, match=type(error).__name__):
        list(compute([SPEC], 0, no_progress))


def test_who_presses_ctrl_c_while_a_fold_is_computed_is_heard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ecv_core.jobs.executors.run_fold", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(compute([SPEC], 0, no_progress))


def test_here_a_result_is_taken_before_the_next_is_computed() -> None:
    computed: list[int] = []

    def compute(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
        for place in range(2):
            computed.append(place)
            yield place, fold_result(index, 0.5)

    here = Here(compute)
    here.submit(FoldTask(specs=(SPEC, SPEC), fold=0), no_progress)
    finished = here.finished(0)
    next(finished)
    assert computed == [0]
    finished.close()  # as when the plan is cancelled
    assert computed == [0]


NICE = """
import psutil
from ecv_core.jobs.executors import Workers, unmetered_workers
from ecv_core.jobs.plan import FoldTask
from ecv_core.records.run import no_progress
from ecv_core.records.spec import RunSpec
from tests.fake_folds import niceness

print(psutil.Process().nice())
spec = RunSpec(dataset="synthetic", algorithm="popular", k=5, rule="never")
for workers in (Workers(niceness), unmetered_workers(niceness)):
    workers.submit(FoldTask(specs=(spec,), fold=1), no_progress)
    print(next(workers.finished(60)).result.score)
    workers.close()
"""
"""Its own niceness, a dashboard's worker's, and that of one that may be as quick as it can."""


@pytest.mark.slow
def test_a_worker_takes_no_more_of_the_processor_than_its_program_was_given() -> None:
    words = ["nice", "-n", "12", sys.executable, "-c", NICE]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    program, *of_workers = map(float, done.stdout.split())
    assert program >= 12
    assert of_workers == [program, program]


def test_on_windows_a_worker_is_below_the_normal_priority(monkeypatch) -> None:
    below_normal = 0x4000  # of the Windows API
    classes: list[int] = []
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.delattr(os, "nice")
    monkeypatch.setattr(psutil, "BELOW_NORMAL_PRIORITY_CLASS", below_normal, raising=False)
    monkeypatch.setattr(psutil.Process, "nice", lambda _process, value: classes.append(value))
    executors._lower_priority(0)
    assert classes == []
    executors._lower_priority(executors.NICENESS)
    assert classes == [below_normal]


def test_a_worker_warms_up_where_no_model_that_needs_pytorch_can_run(monkeypatch) -> None:
    started = []

    class Meter:
        def __init__(self, country: str) -> None:
            started.append(country)

        def start(self) -> None: ...
        def stop(self) -> None: ...

    monkeypatch.setitem(sys.modules, "torch", None)  # as where it is not installed
    monkeypatch.setattr("ecv_core.energy.meter.CodeCarbonMeter", Meter)
    executors.warm_up()
    assert started == ["DEU"]


def curious(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    """A library may look whether somebody types something."""
    yield 0, fold_result(index, float(len(sys.stdin.read())))


@pytest.mark.slow
def test_what_reads_standard_input_in_a_worker_finds_its_end_and_no_task(work) -> None:
    worker = work(curious)
    worker.submit(TASK, no_progress)
    computed, end = said_of(worker)
    assert (computed.result.score, end.error) == (0.0, None)


@pytest.mark.slow
def test_what_is_printed_in_a_worker_is_no_answer_and_its_steps_are_told(work) -> None:
    worker = work(talkative)
    told: list[tuple[object, ...]] = []
    worker.submit(TASK, lambda *said: told.append(said))
    computed, end = said_of(worker)
    assert (computed.result.score, end.error) == (0.5, None)
    assert told == [("fit", 3, 7)]


def test_an_error_in_a_worker_arrives_as_its_sentence(work) -> None:
    before = set(psutil.Process().children())
    worker = work(unknown)
    worker.submit(TASK, no_progress)
    (end,) = said_of(worker)
    assert isinstance(end.error, InputError)
    assert str(end.error).startswith("no algorithm is called 'esae'; did you mean 'ease'?")
    (process,) = set(psutil.Process().children()) - before
    worker = work(unpicklable_error)
    worker.submit(TASK, no_progress)
    (end,) = said_of(worker)
    assert "an unexpected error ended this run (KeyError: <function" in str(end.error)
    assert process.is_running()  # an error does not end the process


@pytest.mark.slow
def test_an_error_of_a_class_that_cannot_be_read_elsewhere_arrives_as_its_sentence(work) -> None:
    worker = work(strange)
    worker.submit(TASK, no_progress)
    (end,) = said_of(worker)
    assert str(end.error) == "a strange end"


@pytest.mark.slow
@pytest.mark.parametrize(("compute", "why"), [(unreadable, "TypeError"), (exits, "SystemExit")])
def test_a_result_that_nobody_can_read_is_a_wrong_answer(work, compute: Compute, why: str) -> None:
    worker = work(compute)
    worker.submit(TASK, no_progress)
    (end,) = said_of(worker)
    assert isinstance(end.error, WrongAnswer)
    assert why in str(end.error)


@pytest.mark.slow
def test_a_worker_that_cannot_read_its_task_ends_it(work, monkeypatch) -> None:
    monkeypatch.setattr(sys.modules[__name__], "here_only", quick, raising=False)
    monkeypatch.setattr(quick, "__qualname__", "here_only")
    monkeypatch.setattr(quick, "__module__", __name__)
    worker = work(quick)
    worker.submit(TASK, no_progress)
    (end,) = said_of(worker)
    assert "exit code 1" in str(end.error)


def test_cancelled_a_worker_is_gone_with_all_that_it_started(work) -> None:
    before = psutil.Process().children(recursive=True)
    worker = work(with_a_child)
    children: list[int] = []
    worker.submit(TASK, lambda phase, step, steps: children.append(step))
    while not children:
        assert list(worker.finished(0.1)) == []
    family = [one for one in psutil.Process().children(recursive=True) if one not in before]
    assert children[0] in [process.pid for process in family]
    worker.cancel(TASK)
    _, left = psutil.wait_procs(family, timeout=60)
    assert left == []
    assert list(worker.finished(0)) == []


def waits_for_the_other(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    """Each fold ends only once the other has begun."""
    folder = Path(os.environ["MEETING"])
    (folder / str(index)).touch()
    while len(list(folder.iterdir())) < 2:
        time.sleep(0.01)
    yield 0, fold_result(index, float(os.getpid()))


def dies(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    psutil.Process().kill()
    yield


@pytest.mark.slow
def test_several_workers_compute_at_once_and_share_the_cores(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("MEETING", str(tmp_path))
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    workers = Workers(waits_for_the_other, max_processes=2)
    tasks = [FoldTask(specs=(SPEC,), fold=fold) for fold in range(2)]
    workers.submit(tasks[0], no_progress)
    monkeypatch.setattr(executors, "START_SECONDS", 3600.0)
    assert workers.capacity == 1  # what is soon done starts no second one
    monkeypatch.setattr(executors, "START_SECONDS", 0.0)
    assert workers.capacity == 2
    workers.submit(tasks[1], no_progress)
    said: list[Computed | Ended] = []
    while sum(isinstance(one, Ended) for one in said) < 2:
        said += said_of(workers)
    assert {one.task.fold for one in said if isinstance(one, Ended)} == {0, 1}
    results = [one.result.score for one in said if isinstance(one, Computed)]
    assert len(set(results)) == 2
    assert workers.environment["OMP_NUM_THREADS"] == str(max(1, (os.cpu_count() or 1) // 2))
    again = FoldTask(specs=(SPEC,), fold=2)
    workers.submit(again, no_progress)
    computed, _ = said_of(workers, again)
    assert computed.result.score in results  # a process stays for the next task
    workers.close()


@pytest.mark.slow
def test_of_several_workers_fewer_compute_at_once_where_memory_is_short(monkeypatch) -> None:
    monkeypatch.setattr(executors, "START_SECONDS", 0.0)
    workers = Workers(with_a_child, max_processes=2)
    workers.submit(TASK, no_progress)
    assert workers.capacity == 2
    memory = psutil.virtual_memory()
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory._replace(available=0))
    assert workers.capacity == 1
    workers.close()
    workers = Workers(dies, max_processes=2)
    workers.submit(TASK, no_progress)
    (end,) = said_of(workers)
    assert "was killed (SIGKILL)" in str(end.error)
    assert workers.capacity == 1
    workers.close()


def test_the_gpus_memory_that_runs_out_names_the_way_to_the_processor():
    said = executors.failure_sentence(
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
    )
    assert said.startswith("the GPU's memory ran out in this fold; finished folds are kept")
    assert "CUDA_VISIBLE_DEVICES=" in said
