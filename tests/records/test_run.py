"""What a run knows of itself, at every stage of its life."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from ecv_core.records.run import Decision, Moment, RunRecord, RunState
from ecv_core.records.spec import RunSpec
from tests.fake_folds import fold_result

SCORES = {2: 0.3, 0: 0.5, 1: 0.1, 3: 0.5}
"""Fold -> score, in the order in which they finished: means 0.3, 0.4, 0.3, 0.35."""
MEANS = (0.3, 0.4, 0.3, 0.35)


def a_run(done, *, k=4, only=(), stopped_at=None, state=RunState.RUNNING, full=False):
    folds = [fold_result(fold, score) for fold, score in list(SCORES.items())[:done]]
    moments = [
        Moment(
            n=n,
            fold=fold.fold,
            score=fold.score,
            mean=MEANS[n - 1],
            interval=None,
            decision=Decision(stop=n == stopped_at, reason=""),
        )
        for n, fold in enumerate(folds, start=1)
    ]
    return RunRecord(
        run_id="x",
        spec=RunSpec(dataset="d", algorithm="a", k=k, only_folds=only, full=full),
        state=state,
        folds=tuple(folds),
        moments=moments,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        stopped_at=stopped_at,
    )


@pytest.mark.parametrize(
    ("run", "used", "mean", "k_fold_mean", "early", "checked"),
    [
        (a_run(0), 0, None, None, False, False),
        (a_run(1), 1, 0.3, None, False, False),
        (a_run(3), 3, 0.3, None, False, False),  # no stop yet: the newest fold
        (a_run(2, stopped_at=2), 2, 0.4, None, True, False),
        (a_run(3, stopped_at=2), 2, 0.4, None, True, False),  # it was under way at the stop
        (a_run(3, stopped_at=2, full=True), 2, 0.4, None, True, True),
        (a_run(4, stopped_at=2), 2, 0.4, 0.35, True, True),
        (a_run(4, stopped_at=4), 4, 0.35, 0.35, False, False),  # the rule never stopped it early
        (a_run(2, stopped_at=2, only=(2, 0)), 2, 0.4, 0.4, False, False),
    ],
)
def test_the_mean_is_that_at_the_stop_or_of_all_folds_so_far(
    run, used, mean, k_fold_mean, early, checked
):
    assert run.folds_used == used
    assert (run.at_stop.mean if run.at_stop else None) == mean
    assert run.k_fold_mean == k_fold_mean
    assert (run.stopped_early, run.checked) == (early, checked)


@pytest.mark.parametrize(
    ("run", "k", "complete", "whole"),
    [
        (a_run(3), 4, False, False),
        (a_run(4), 4, True, True),
        (a_run(2, only=(2, 0)), 2, True, False),  # all that were asked for, not all of the split
        (a_run(4, only=(2, 0, 1, 3)), 4, True, True),  # all of the split, in another order
        (a_run(1, k=1), 1, True, True),
    ],
)
def test_complete_is_every_planned_fold_and_whole_every_fold_of_the_split(run, k, complete, whole):
    assert (run.k, run.spec.max_folds) == (k, k)
    assert (run.complete, run.whole) == (complete, whole)


@pytest.mark.parametrize(
    ("state", "resumable"),
    [
        ("queued", False),
        ("running", False),
        ("finished", False),
        ("cancelled", True),
        ("failed", True),
        ("interrupted", True),
    ],
)
def test_what_was_cut_off_can_be_resumed(state, resumable):
    assert a_run(2, state=RunState(state)).resumable == resumable


def test_a_stop_can_be_checked_while_folds_are_left():
    stopped = a_run(2, stopped_at=2, state=RunState.FINISHED)
    assert stopped.can_be_checked
    assert stopped.can_go_on(full=True)
    assert not stopped.can_go_on(full=False)
    assert not replace(stopped, state=RunState.RUNNING).can_be_checked
    assert not a_run(4, stopped_at=2, state=RunState.FINISHED).can_be_checked


def test_folds_in_order_and_what_they_cost():
    run = a_run(4)
    assert [fold.fold for fold in run.folds_in_order] == [0, 1, 2, 3]
    assert run.joules == 40
    assert run.seconds == pytest.approx(3.2)
