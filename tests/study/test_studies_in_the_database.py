"""A study in the database: what is reused, what is queued, what goes on where it was cut off."""

from dataclasses import replace

import pytest

from ecv_core.errors import InputError
from ecv_core.records import RunState
from ecv_core.runner import Queue
from ecv_core.spec import make_spec
from ecv_core.store import Cell, open_store
from ecv_core.study import engine
from ecv_core.study.cells import reusable
from ecv_core.study.engine import cancel, go_on, look
from tests.jobs import fold_result


class Noting(Queue):
    """Notes what it was asked to resume."""

    def __init__(self, store):
        super().__init__(store)
        self.resumed = []

    def resume(self, run_id, *, full=False):
        self.resumed.append((run_id, full))
        super().resume(run_id, full=full)


def begin(store, queue, specs, **more):
    return engine.begin(store, queue, [Cell(spec=spec) for spec in specs], **more)


@pytest.fixture
def store():
    return open_store()


@pytest.fixture
def queue(store):
    return Noting(store)


def spec(algorithm="popular", **more):
    settings = {"dataset": "synthetic", "algorithm": algorithm, "k": 5, "full": True} | more
    return make_spec(**settings)


def put(store, wanted, folds=5, state=RunState.FINISHED):
    run_id = store.create([wanted], owner="test")[0]
    store.start(run_id, owner="test")
    for fold in range(folds):
        store.add_fold(run_id, fold_result(fold, 0.3 + fold / 100), stopped_at=None)
    if not state.active:
        store.finish(run_id, state)
    return store.run(run_id)


def test_all_cells_are_queued_as_one_group(store, queue):
    study_id = begin(store, queue, [spec(), spec("ease")])
    cells = look(store, study_id)
    assert [cell.spec.algorithm for cell in cells] == ["popular", "ease"]
    assert len({cell.run.group for cell in cells}) == 1
    assert not any(cell.borrowed or cell.to_do for cell in cells)


@pytest.mark.parametrize(
    "other",
    [
        {},
        {"alpha": 1e-2},
        {"rule": "never"},
        {"country": "FRA"},
        {"full": False},
        {"confidence": 0.9},
    ],
)
def test_a_run_with_all_folds_answers_for_every_rule(store, queue, other):
    known = put(store, spec(**other))
    (cell,) = look(store, begin(store, queue, [spec()]))
    assert (cell.run.run_id, cell.borrowed) == (known.run_id, True)
    assert len(store.runs()) == 1


@pytest.mark.parametrize(
    "other", [{"seed": 7}, {"k": 6}, {"metric": "recall"}, {"n": 5}, {"algorithm": "ease"}]
)
def test_a_run_with_other_scores_does_not(store, queue, other):
    wanted = spec(**other)
    put(store, wanted, folds=wanted.k)
    (cell,) = look(store, begin(store, queue, [spec()]))
    assert not cell.borrowed
    assert cell.run.state is RunState.QUEUED


def test_a_recorded_run_fills_a_cell_without_being_copied(store, queue):
    run = put(store, spec())
    store.delete(run.run_id)
    study_id = begin(store, queue, [spec()], recorded=[run])
    assert store.runs() == []
    (cell,) = look(store, study_id, [run])
    assert (cell.run, cell.borrowed) == (run, True)


def test_a_run_that_was_recorded_again_under_another_id_still_fills_its_cell(store, queue):
    run = put(store, spec())
    store.delete(run.run_id)
    study_id = begin(store, queue, [spec()], recorded=[run])
    again = replace(run, run_id="another")
    (cell,) = look(store, study_id, [again])
    assert (cell.run, cell.to_do) == (again, False)


def test_anew_runs_everything_again(store, queue):
    known = put(store, spec())
    (cell,) = look(store, begin(store, queue, [spec()], anew=True))
    assert cell.run.run_id != known.run_id
    assert cell.run.state is RunState.QUEUED


def test_a_run_that_stopped_early_is_enough_only_where_that_was_asked_for(store):
    early = put(store, spec(full=False), folds=3)
    assert reusable(spec(full=False), [early]) is early
    assert reusable(spec(full=True), [early]) is None
    assert reusable(spec(full=False, alpha=1e-2), [early]) is None


def test_a_run_of_chosen_folds_answers_once_it_has_them_all(store):
    some = put(store, spec(only_folds=(3, 1)), folds=2)
    assert reusable(spec(), [some]) is None
    every = put(store, spec(only_folds=(4, 3, 2, 1, 0)))
    assert reusable(spec(), [some, every]) is every


def test_a_cell_that_was_begun_earlier_goes_on_instead_of_starting_again(store, queue):
    begun = put(store, spec(), folds=2, state=RunState.INTERRUPTED)
    (cell,) = look(store, begin(store, queue, [spec()]))
    assert cell.run.run_id == begun.run_id
    assert queue.resumed == [(begun.run_id, True)]
    assert len(cell.run.folds) == 2


def test_cancel_leaves_no_cell_waiting_and_going_on_queues_them_again(store, queue):
    study_id = begin(store, queue, [spec(), spec("ease")])
    cancel(queue, look(store, study_id))
    assert {run.state for run in store.runs()} == {RunState.CANCELLED}
    assert all(cell.to_do for cell in look(store, study_id))
    go_on(store, queue, study_id)
    assert {run.state for run in store.runs()} == {RunState.QUEUED}


def test_a_deleted_run_is_computed_again(store, queue):
    kept = put(store, spec("ease"))
    study_id = begin(store, queue, [spec(), spec("ease")])
    first = look(store, study_id)[0]
    store.request_cancel(first.run.run_id)
    store.delete(first.run.run_id)
    assert look(store, study_id)[0].run is None
    go_on(store, queue, study_id)
    again, borrowed = look(store, study_id)
    assert again.run.state is RunState.QUEUED
    assert (borrowed.run.run_id, borrowed.borrowed) == (kept.run_id, True)


def test_cells_that_stopped_early_go_on_to_their_last_fold_when_asked(store, queue):
    early = put(store, spec(full=False), folds=3)
    study_id = begin(store, queue, [spec(full=False)])
    (cell,) = look(store, study_id)
    assert cell.early
    assert not cell.to_do
    go_on(store, queue, study_id)
    assert queue.resumed == []
    go_on(store, queue, study_id, full=True)
    assert queue.resumed == [(early.run_id, True)]


def test_a_study_of_nothing_is_refused(store, queue):
    with pytest.raises(InputError, match="at least one dataset and one algorithm"):
        begin(store, queue, [])
