"""The background manager: cancels mid-fold, outlives its worker, and finds what was interrupted."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from ecv_core.jobs.executors import Results, compute
from ecv_core.jobs.manager import Queue, RunManager
from ecv_core.records.run import Progress, RunRecord, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.store.ownership import this_process
from ecv_core.store.people import lost_seconds
from ecv_core.store.schema import runs
from ecv_core.store.store import Store, open_store
from tests.fake_folds import ASLEEP, SCORES, fold_result, quick, sleepy, suicidal

SPEC = RunSpec(dataset="synthetic", algorithm="popular", k=5, rule="never")


def slow(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    """As `sleepy`, but fold 0 has taken an hour but for a moment."""
    for spec_index, result in sleepy(specs, index, progress):
        yield spec_index, replace(result, total_seconds=3599.9)


@pytest.fixture
def store() -> Store:
    return open_store()


@pytest.fixture
def manage(store: Store) -> Iterator[Callable[..., RunManager]]:
    made: list[RunManager] = []

    def make(**more: object) -> RunManager:
        made.append(RunManager(store, **more))
        return made[-1]

    yield make
    for manager in made:
        manager.close()


PATIENCE_SECONDS = 120
"""A state comes when it comes: other programs may have the machine."""


def wait_until(done: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not done():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


def wait_for(store: Store, run_id: str, done: Callable[[RunRecord], bool]) -> RunRecord:
    wait_until(lambda: done(store.run(run_id)))
    return store.run(run_id)


def ended(run: RunRecord) -> bool:
    return not run.state.active


def asleep(run: RunRecord) -> bool:
    """Whether it is in a fold that takes an hour."""
    return run.progress is not None and run.progress.phase == ASLEEP


def really(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    """As it is, in a worker that need not load beforehand what `popular` does without."""
    return compute(specs, index, progress)


def meeting(specs: Sequence[RunSpec], index: int, progress: Progress) -> Results:
    """A fold of one run ends only once the other run has begun, too."""
    folder = Path(os.environ["MEETING"])
    (folder / str(specs[0].seed)).touch()
    while len(list(folder.iterdir())) < 2:
        time.sleep(0.01)
    yield 0, fold_result(index, SCORES[index])


def test_runs_without_energy_are_computed_at_once(
    store: Store, manage: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEETING", str(tmp_path))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    free = replace(SPEC, no_energy=True)
    group = manage(compute=meeting).start(
        [replace(free, seed=1, only_folds=(0,)), replace(free, seed=2, only_folds=(0,))]
    )
    for run in store.group(group):
        assert wait_for(store, run.run_id, ended).state is RunState.FINISHED


@pytest.mark.usefixtures("each_database")
def test_several_runs_queue_and_all_finish(store: Store, manage: Callable) -> None:
    group = manage(compute=quick).start([SPEC, SPEC])
    for run in store.group(group):
        done = wait_for(store, run.run_id, ended)
        assert done.state is RunState.FINISHED
        assert [result.score for result in done.folds] == list(SCORES)


def test_cancel_takes_effect_in_the_middle_of_a_fold(store: Store, manage: Callable) -> None:
    manager = manage(compute=sleepy)
    group = manager.start([SPEC, SPEC])
    first, second = store.group(group)
    wait_for(store, first.run_id, lambda run: len(run.folds) == 1)
    wait_for(store, first.run_id, asleep)  # in fold 1
    manager.cancel(first.run_id)
    cancelled = wait_for(store, first.run_id, ended)
    assert (cancelled.state, len(cancelled.folds)) == (RunState.CANCELLED, 1)
    wait_for(store, second.run_id, lambda run: len(run.folds) == 1)  # the queue goes on
    manager.cancel(second.run_id)
    wait_for(store, second.run_id, ended)


def test_a_run_whose_time_is_over_ends_in_the_middle_of_a_fold(
    store: Store, manage: Callable
) -> None:
    manager = manage(compute=slow, seconds=3600)
    run = wait_for(store, manager.start([SPEC]), ended)
    assert (run.state, len(run.folds)) == (RunState.CANCELLED, 1)
    assert "3600 s" in run.error


@pytest.mark.parametrize(
    ("deaths", "state", "folds"),
    [
        (1, RunState.FINISHED, 5),
        pytest.param(2, RunState.FINISHED, 5, marks=pytest.mark.slow),
        pytest.param(3, RunState.INTERRUPTED, 1, marks=pytest.mark.slow),
    ],
)
def test_a_fold_whose_worker_is_killed_is_tried_again_twice_before_its_run_is_interrupted(
    store: Store, manage: Callable, monkeypatch: pytest.MonkeyPatch, deaths, state, folds
) -> None:
    monkeypatch.setenv("ECV_TEST_DEATHS", str(deaths))
    manager = manage(compute=suicidal)
    first, second = store.group(manager.start([SPEC, replace(SPEC, seed=8)]))
    run = wait_for(store, first.run_id, ended)
    assert (run.state, len(run.folds)) == (state, folds)
    if state is RunState.INTERRUPTED:
        assert run.error is not None
        assert run.error.startswith("3 times in a row the worker process was killed (SIGKILL)")
        manager.resume(run.run_id)
        run = wait_for(store, run.run_id, ended)
    assert [result.score for result in run.folds] == list(SCORES)
    assert wait_for(store, second.run_id, ended).state is RunState.FINISHED  # the queue goes on


@pytest.mark.slow
def test_a_fold_that_was_cut_off_counts_towards_the_time_of_its_run(
    store: Store, manage: Callable
) -> None:
    manager = manage(compute=sleepy, seconds=2.8)  # fold 0 says that it took 0.8 s
    run = wait_for(store, manager.start([SPEC]), ended)
    assert (run.state, len(run.folds)) == (RunState.CANCELLED, 1)
    lost = lost_seconds(store, [run.run_id])[run.run_id]
    assert lost >= 1.99
    manager.resume(run.run_id)
    again = wait_for(store, run.run_id, ended)
    assert "2.8 s" in again.error
    assert lost_seconds(store, [run.run_id])[run.run_id] == lost  # nothing was computed again


def test_a_damaged_run_in_the_queue_fails_and_the_queue_goes_on(
    store: Store, manage: Callable
) -> None:
    """It was looked at again and again, and nothing behind it ever came."""
    bad, good = store.create([SPEC, replace(SPEC, seed=8)], owner=this_process())
    with store.transaction("written") as connection:
        connection.execute(runs.update().where(runs.c.run_id == bad).values(spec="{}"))
    manage(compute=quick)
    assert wait_for(store, good, ended).state is RunState.FINISHED
    with store.transaction("read") as connection:
        row = connection.execute(runs.select().where(runs.c.run_id == bad)).one()
    assert row.state == RunState.FAILED
    assert "is damaged" in row.error
    store.delete(bad)


@pytest.mark.slow
def test_a_worker_that_died_while_idle_is_replaced(store: Store, manage: Callable) -> None:
    manager = manage(compute=quick)
    wait_for(store, manager.start([SPEC]), ended)
    workers = [
        child
        for child in psutil.Process().children(recursive=True)
        if child.status() != psutil.STATUS_ZOMBIE  # of an earlier test, ended but not yet taken in
        and any("ecv_core.jobs.executors" in word for word in child.cmdline())
    ]
    assert workers
    for worker in workers:
        worker.kill()
    wait_until(lambda: not any(worker.is_running() for worker in workers))  # its end was noticed
    assert wait_for(store, manager.start([SPEC]), ended).state is RunState.FINISHED


def test_runs_of_a_program_that_is_gone_are_found_interrupted_and_resume(
    store: Store, manage: Callable
) -> None:
    gone = this_process().rsplit(":", 2)[0] + ":4194304:1"  # beyond the largest process id
    run_id = store.create([SPEC], owner=gone)[0]
    store.start(run_id, owner=gone)
    manager = manage(compute=quick)
    assert store.run(run_id).state is RunState.INTERRUPTED
    manager.resume(run_id)
    assert wait_for(store, run_id, ended).state is RunState.FINISHED


def test_a_run_that_has_ended_meanwhile_is_not_taken(store: Store, manage: Callable) -> None:
    manager = manage(compute=quick)
    run_id = manager.start([SPEC])
    run = wait_for(store, run_id, ended)
    assert (run.state, run.complete) == (RunState.FINISHED, True)
    assert not Queue(store).resume(run_id)
    assert store.run(run_id).state is RunState.FINISHED


@pytest.mark.slow
def test_a_resumed_run_has_the_scores_it_would_have_had(store: Store, manage: Callable) -> None:
    """With real folds: interrupted after some, resumed by another manager."""
    spec = RunSpec(dataset="synthetic", algorithm="popular", k=5, rule="never", no_energy=True)
    manager = manage(compute=really)
    whole = wait_for(store, manager.start([spec]), ended)
    broken = manager.start([spec], anew=True)
    wait_for(store, broken, lambda run: len(run.folds) >= 2)
    manager.cancel(broken)
    wait_for(store, broken, ended)
    manager.close()
    second = manage(compute=really)
    second.resume(broken)
    resumed = wait_for(store, broken, lambda run: len(run.folds) == 5)
    assert [result.metrics for result in resumed.folds] == [r.metrics for r in whole.folds]


def test_after_a_stop_the_remaining_folds_can_be_run_to_check(
    store: Store, manage: Callable
) -> None:
    manager = manage(compute=quick)
    run_id = manager.start(
        [RunSpec(dataset="synthetic", algorithm="popular", k=5, rule_params=(("alpha", 1.0),))]
    )
    assert len(wait_for(store, run_id, ended).folds) == 3
    manager.resume(run_id, full=True)
    done = wait_for(store, run_id, lambda run: ended(run) and len(run.folds) == 5)
    assert done.stopped_at == 3
