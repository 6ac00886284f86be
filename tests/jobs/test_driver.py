"""A run goes fold by fold to its stop or its end, and whatever happens says so."""

import re
from collections.abc import Callable

import pytest

from ecv_core.errors import Cancelled, RunError, StoreError
from ecv_core.jobs import Book, Here, RunPlan, Says, book, drive, this_process
from ecv_core.jobs.computing import Compute
from ecv_core.records import FoldResult, Run, RunSpec, RunState
from ecv_core.store import Store, open_store
from tests.fake_folds import SCORES, computing, fold_result, quick, unpicklable_error

# SCORES = 0.30 0.34 0.31 ...: after folds 2 and 3 the means are 0.32 and 0.31667, the standard
# deviations sqrt(0.0008) and sqrt(0.000433), Student's t at 95 % is 12.706 and 4.303, so the widths
# are 2*12.706*0.0282843/sqrt(2) = 0.50825 and 2*4.303*0.0208167/sqrt(3) = 0.10343, and
# c_3 * |c_2 - c_3| = 0.10343 * 0.40482 = 0.04187.
STOPS_AFTER_3 = 0.0419
GOES_ON_AFTER_3 = 0.0418


def spec(**changes: object) -> RunSpec:
    given = {"dataset": "synthetic", "algorithm": "popular", "k": 5, "alpha": STOPS_AFTER_3}
    given |= changes
    params = (("alpha", given.pop("alpha")),)
    return RunSpec(**given, rule_params=params)


def run(
    store: Store,
    spec: RunSpec,
    compute: Compute = quick,
    *,
    fold: Callable[[Run], object] = lambda run: None,
    trouble: Callable[[str | None], object] = lambda sentence: None,
    **more: object,
) -> Run:
    (run_id,) = store.create([spec], owner=this_process())
    says = Says(fold=fold, trouble=trouble)
    drive(RunPlan(spec), Book(store, runs=[store.run(run_id)], says=says), Here(compute), **more)
    return store.run(run_id)


def test_stops_after_the_fold_that_the_rule_says(store: Store) -> None:
    done = run(store, spec())
    assert done.state is RunState.FINISHED
    assert done.stopped_at == 3
    assert [result.fold for result in done.folds] == [0, 1, 2]


def test_goes_on_while_the_rule_says_so(store: Store) -> None:
    done = run(store, spec(alpha=GOES_ON_AFTER_3))
    assert done.stopped_at != 3
    assert len(done.folds) > 3


def test_full_runs_all_folds_and_keeps_the_stop(store: Store) -> None:
    done = run(store, spec(full=True))
    assert done.stopped_at == 3
    assert [result.score for result in done.folds] == list(SCORES)


def test_never_runs_all_folds_and_the_stop_is_k(store: Store) -> None:
    done = run(store, spec(rule="never"))
    assert (done.stopped_at, len(done.folds)) == (5, 5)


def test_runs_only_the_folds_asked_for_in_that_order(store: Store) -> None:
    done = run(store, spec(only_folds=(4, 1)))
    assert [result.fold for result in done.folds] == [4, 1]
    assert done.state is RunState.FINISHED


def test_resumes_at_the_next_missing_fold(store: Store) -> None:
    asked: list[int] = []

    def fails_once(spec: RunSpec, index: int) -> FoldResult:
        asked.append(index)
        if asked.count(2) == 1 and index == 2:
            raise RunError("the bus left")
        return fold_result(index, SCORES[index])

    failed = run(store, spec(rule="never"), computing(fails_once))
    assert (failed.state, failed.error, len(failed.folds)) == (RunState.FAILED, "the bus left", 2)
    drive(RunPlan(failed.spec), Book(store, runs=[failed]), Here(computing(fails_once)))
    done = store.run(failed.run_id)
    assert (done.state, done.error) == (RunState.FINISHED, None)
    assert [result.score for result in done.folds] == list(SCORES)
    assert asked == [0, 1, 2, 2, 3, 4]


def test_every_fold_is_on_disk_before_the_next_starts(store: Store) -> None:
    on_disk: list[int] = []

    def counts(spec: RunSpec, index: int) -> FoldResult:
        on_disk.append(len(open_store().runs()[0].folds))
        return fold_result(index, SCORES[index])

    run(store, spec(rule="never"), computing(counts))
    assert on_disk == [0, 1, 2, 3, 4]


def test_a_cancelled_run_keeps_its_folds(store: Store) -> None:
    def cancels(spec: RunSpec, index: int) -> FoldResult:
        if index == 2:
            raise Cancelled
        return fold_result(index, SCORES[index])

    cancelled = run(store, spec(rule="never"), computing(cancels))
    assert (cancelled.state, len(cancelled.folds)) == (RunState.CANCELLED, 2)


def test_a_cancel_between_folds_takes_effect(store: Store) -> None:
    cancelled = run(store, spec(rule="never"), fold=lambda run: store.request_cancel(run.run_id))
    assert (cancelled.state, len(cancelled.folds)) == (RunState.CANCELLED, 1)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (MemoryError(), "memory ran out"),
        (RuntimeError("DefaultCPUAllocator: not enough memory: you tried"), "memory ran out"),
        (ZeroDivisionError("by zero"), "an error nobody expected.*ZeroDivisionError: by zero"),
    ],
)
def test_a_failure_is_one_sentence(store: Store, error: Exception, sentence: str) -> None:
    def fails(spec: RunSpec, index: int) -> FoldResult:
        raise error

    failed = run(store, spec(), computing(fails))
    assert failed.state is RunState.FAILED
    assert failed.error is not None
    assert re.search(sentence, failed.error)


def test_an_error_that_cannot_travel_still_ends_the_run(store: Store) -> None:
    assert run(store, spec(), unpicklable_error).state is RunState.FAILED


def test_a_fold_that_cannot_be_saved_waits_and_is_not_lost(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(book, "RETRY_SECONDS", 0.01)
    save, refusals = store.add_fold, iter([True, True, False])

    def full_disk(*args: object, **kwargs: object) -> bool:
        if next(refusals, False):
            raise StoreError("the disk is full; free some disk space")
        return save(*args, **kwargs)

    monkeypatch.setattr(store, "add_fold", full_disk)
    told: list[str | None] = []
    done = run(store, spec(), trouble=told.append)
    assert [result.score for result in done.folds] == list(SCORES[:3])
    assert told[0] is not None
    assert "free some disk space" in told[0]
    assert told[-1] is None


def test_a_run_ends_when_its_time_is_over_and_keeps_its_folds(store: Store) -> None:
    done = run(store, spec(rule="never"), seconds=1.5)  # folds of 0.8 s each
    assert done.state is RunState.CANCELLED
    assert done.error == "a run has 1.5 s here, and this one has had them"
    assert [result.fold for result in done.folds] == [0, 1]
    assert run(store, spec(rule="never", seed=7), seconds=5).state is RunState.FINISHED
