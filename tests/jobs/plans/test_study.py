"""A study: its cells are recorded once, whole, and go on where they were cut off."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from ecv_core.fold.spec import make_spec
from ecv_core.jobs.executors import Here
from ecv_core.jobs.manager import Queue
from ecv_core.jobs.plan_runs import Callbacks, SaveAttempts
from ecv_core.jobs.plans import study
from ecv_core.jobs.plans.study import Cell, planned_cells
from ecv_core.records.errors import InputError, RunError, StoreError
from ecv_core.records.run import FoldResult, RunRecord, RunState
from ecv_core.records.spec import RunSpec
from ecv_core.store.ownership import interrupt
from ecv_core.store.recorded import (
    record,
    recorded_document,
    recorded_path,
    recorded_run,
    recorded_runs,
    recorded_stopped_runs,
    recorded_user_scores,
)
from ecv_core.store.store import Store, open_store
from tests.fake_folds import computing, fold_result, users_result

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def store() -> Store:
    return open_store()


def fold(spec: RunSpec, index: int) -> FoldResult:
    return fold_result(index, 0.3 + index / 100)


def compute(
    store: Store, cells: Iterable[Cell], fold: Callable[..., FoldResult] = fold, **more: object
) -> list[Cell]:
    return study.compute_study(store, cells, executor=Here(computing(fold)), **more)


def two_cells(folder: Path) -> list[Cell]:
    return planned_cells(["synthetic"], ["popular", "item-knn"], folder=folder, seed=42, full=True)


def runs_of(computed: Iterable[Cell]) -> list[RunRecord]:
    return [cell.run for cell in computed if cell.run is not None]


def test_each_cell_is_a_whole_run_in_a_file_of_its_own(store: Store, tmp_path: Path) -> None:
    done = compute(store, two_cells(tmp_path))
    assert [cell.run and cell.run.state for cell in done] == [RunState.FINISHED] * 2
    document = json.loads(recorded_document("synthetic--popular", tmp_path) or "")
    assert [fold["score"] for fold in document["folds"]] == pytest.approx(
        [0.30, 0.31, 0.32, 0.33, 0.34, 0.35, 0.36, 0.37, 0.38, 0.39]
    )
    assert document["k_fold_mean"] == pytest.approx(0.345)
    assert document["spec"]["algorithm"] == "popular"
    assert document["made_with"]["packages"]["torch"].startswith("2.13.0")


def test_the_per_user_scores_are_kept_beside_the_run(store: Store, tmp_path: Path) -> None:
    def with_users(spec: RunSpec, index: int) -> FoldResult:
        result = users_result(index, np.array([[0.5], [index / 16]]))
        users = replace(result.user_scores, users=np.array([1, 5], dtype=np.int32))
        return replace(result, user_scores=users)

    (run,) = runs_of(compute(store, two_cells(tmp_path)[:1], with_users))
    found = recorded_user_scores(run, tmp_path)
    assert list(found) == list(range(10))
    assert found[3].users.tolist() == [1, 5]
    assert found[3].of("ndcg@10").tolist() == [0.5, 0.1875]
    assert recorded_user_scores(replace(run, run_id="another"), tmp_path) == {}


def test_a_second_start_runs_nothing(store: Store, tmp_path: Path) -> None:
    compute(store, two_cells(tmp_path))
    assert compute(store, two_cells(tmp_path)) == []
    assert len(store.runs()) == 2


def test_a_cell_that_was_cut_off_goes_on_at_its_next_fold(store: Store, tmp_path: Path) -> None:
    asked: list[int] = []

    def cut(spec: RunSpec, index: int) -> FoldResult:
        asked.append(index)
        if asked == list(range(5)):
            raise RunError("the power went")
        return fold(spec, index)

    cell = two_cells(tmp_path)[:1]
    (failed,) = runs_of(compute(store, cell, cut))
    assert failed.state is RunState.FAILED
    assert not cell[0].recorded
    (whole,) = runs_of(compute(store, cell, cut))
    assert whole.run_id == failed.run_id
    assert asked == [0, 1, 2, 3, 4, 4, 5, 6, 7, 8, 9]
    assert cell[0].recorded


def test_a_run_with_missing_folds_is_not_recorded(store: Store, tmp_path: Path) -> None:
    (run,) = runs_of(compute(store, two_cells(tmp_path)[:1]))
    with pytest.raises(InputError, match="only 9 folds"):
        record(replace(run, folds=run.folds[:9]), tmp_path / "x.json")


def test_a_file_that_cannot_be_written_leaves_nothing_half(store: Store, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="cannot be written"):
        compute(store, two_cells(tmp_path / "file"))


def test_an_unknown_name_is_refused_before_anything_runs(store: Store) -> None:
    with pytest.raises(InputError, match="no algorithm is called 'nope'"):
        planned_cells(["synthetic"], ["popular", "nope"])
    assert store.runs() == []


KILLED = """
import os, signal, sys
from pathlib import Path
from ecv_core.store.store import open_store
from tests.jobs.plans.test_study import compute, fold, two_cells

def killed_in_its_fourth_fold(spec, index):
    if index == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return fold(spec, index)

compute(open_store(), two_cells(Path(sys.argv[1])), killed_in_its_fourth_fold)
"""


def test_after_a_kill_it_goes_on_at_the_next_missing_fold(store: Store, tmp_path: Path) -> None:
    # Not a fork, which may wait for ever for what a thread of another test held at that moment.
    program = subprocess.run([sys.executable, "-c", KILLED, tmp_path], cwd=ROOT, check=False)
    assert program.returncode == -signal.SIGKILL
    (cut_off,) = store.runs()
    assert (cut_off.state, len(cut_off.folds)) == (RunState.RUNNING, 3)

    asked: list[int] = []

    def noting(spec: RunSpec, index: int) -> FoldResult:
        asked.append(index)
        return fold(spec, index)

    (whole,) = runs_of(compute(store, two_cells(tmp_path)[:1], noting))
    assert whole.run_id == cut_off.run_id
    assert asked == [3, 4, 5, 6, 7, 8, 9]
    assert whole.state is RunState.FINISHED


def test_a_kill_after_the_last_fold_costs_no_fold(store: Store, tmp_path: Path) -> None:
    (cell, _) = two_cells(tmp_path)
    run_id = store.create([cell.spec], owner="gone:1:1")[0]
    for fold in range(10):
        store.add_fold(run_id, fold_result(fold, 0.3), stopped_at=None)
    interrupt(store, ["gone:1:1"])

    def never(spec: RunSpec, index: int) -> FoldResult:
        raise AssertionError("every fold is there")

    (whole,) = runs_of(compute(store, [cell], never))
    assert (whole.run_id, whole.state) == (run_id, RunState.FINISHED)
    (recorded,) = recorded_runs(tmp_path)
    assert recorded.state is RunState.FINISHED


def test_a_run_that_is_finished_already_is_recorded_and_computes_nothing(
    store: Store, tmp_path: Path
) -> None:
    (first, second) = two_cells(tmp_path / "once")
    (run,) = runs_of(compute(store, [first]))
    again = replace(first, path=tmp_path / "again" / "synthetic--popular")
    asked: list[str] = []

    def noting(spec: RunSpec, index: int) -> FoldResult:
        asked.append(spec.algorithm)
        return fold(spec, index)

    told: list[Cell] = []
    done = compute(store, [again, second], noting, on_end=told.append)
    assert [cell.run and cell.run.spec.algorithm for cell in done] == ["popular", "item-knn"]
    assert done == told
    assert set(asked) == {"item-knn"}
    assert [recorded.run_id for recorded in recorded_runs(tmp_path / "again")] == [run.run_id]


def test_a_run_that_ended_at_its_stop_goes_on_where_the_study_is_of_all_folds(
    store: Store, tmp_path: Path
) -> None:
    (stops,) = planned_cells(["synthetic"], ["popular"], rule="e-fold", rule_params={"alpha": 1.0})
    (early,) = runs_of(compute(store, [stops]))
    assert (early.stopped_at, len(early.folds)) == (3, 3)
    (whole,) = planned_cells(
        ["synthetic"], ["popular"], folder=tmp_path, rule_params={"alpha": 1.0}, full=True
    )
    (run,) = runs_of(compute(store, [whole]))
    assert (run.run_id, run.stopped_at, len(run.folds)) == (early.run_id, 3, 10)
    assert whole.recorded


def test_a_run_with_another_rule_is_not_recorded_in_its_place(store: Store, tmp_path: Path) -> None:
    (cell, _) = two_cells(tmp_path)
    other = store.create([replace(cell.spec, rule_params=(("alpha", 1e-2),))], owner="me")[0]
    for fold in range(10):
        store.add_fold(other, fold_result(fold, 0.3), stopped_at=None)
    store.finish(other, RunState.FINISHED)
    (run,) = runs_of(compute(store, [cell]))
    assert run.run_id != other
    (recorded,) = recorded_runs(tmp_path)
    assert dict(recorded.spec.rule_params)["alpha"] == 1e-4


def full_disk(store: Store) -> None:
    """From now on the database must not grow: SQLite's own way to have a disk this small."""
    with store._engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()

    def full(connection: sa.Connection) -> None:  # signs of life have a connection of their own
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")

    sa.event.listen(store._engine, "begin", full)


@pytest.mark.slow
@pytest.mark.parametrize("nothing_at_all", [False, True])
def test_on_a_full_disk_it_says_so_and_stops(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nothing_at_all: bool
) -> None:
    monkeypatch.setattr("ecv_core.jobs.plan_runs.AGAIN_SECONDS", 0.01)
    monkeypatch.setattr("ecv_core.jobs.plan_runs.SAVE_SECONDS", 0.05)
    asked: list[tuple[str, int]] = []

    def large(spec: RunSpec, index: int) -> FoldResult:
        asked.append((spec.algorithm, index))
        values = np.random.default_rng(index).random((99_999, 1), np.float32)  # not to be packed
        if index == 2:
            full_disk(store)
            if nothing_at_all:  # not even the state of the run
                monkeypatch.setattr(store, "finish", unwritable)
        return users_result(index, values)

    def unwritable(*args: object, **kwargs: object) -> None:
        raise StoreError("the database cannot be written: it is full; free some disk space")

    said: list[str] = []
    with pytest.raises(RunError, match=r"gave up after \d+ s.*free some disk space"):
        compute(
            store,
            two_cells(tmp_path),
            large,
            callbacks=Callbacks(trouble=SaveAttempts(said.append)),
        )
    assert asked == [("popular", 0), ("popular", 1), ("popular", 2)]  # nothing of the second cell
    assert len(said) == 1
    assert "free some disk space. A result is waiting in memory" in said[0]
    (run,) = store.runs()
    assert len(run.folds) == 2
    assert run.state is (RunState.RUNNING if nothing_at_all else RunState.FAILED)


def test_a_run_that_its_rule_ends_is_recorded_apart(store: Store, tmp_path: Path) -> None:
    # The widths of the first two intervals are 0.127 and 0.025: below alpha after the third fold.
    (cell,) = planned_cells(["synthetic"], ["popular"], folder=tmp_path, rule="e-fold", alpha=1.0)
    assert cell.path == tmp_path / "stopped" / "synthetic--popular"
    (run,) = runs_of(compute(store, [cell]))
    assert (run.stopped_at, len(run.folds)) == (3, 3)
    assert recorded_runs(tmp_path) == []
    (found,) = recorded_stopped_runs(tmp_path)
    assert [fold.score for fold in found.folds] == pytest.approx([0.30, 0.31, 0.32])
    assert recorded_run(run.run_id, tmp_path) is not None  # its address opens it
    assert compute(store, [c for c in [cell] if not c.recorded]) == []


def test_a_run_that_is_recorded_whole_is_not_recorded_apart_too(
    store: Store, tmp_path: Path
) -> None:
    compute(store, two_cells(tmp_path)[:1])
    (cell,) = planned_cells(["synthetic"], ["popular"], folder=tmp_path, rule="e-fold", alpha=1.0)
    assert cell.recorded
    (other,) = planned_cells(["synthetic"], ["ease"], folder=tmp_path, rule="never")
    assert other.path == tmp_path / "synthetic--ease"  # nothing ends it early


# -- in the database, for pages -----------------------------------------------------------------


class Noting(Queue):
    """Notes what it was asked to resume."""

    def __init__(self, store):
        super().__init__(store)
        self.resumed = []

    def resume(self, run_id, *, full=False, **whose):
        self.resumed.append((run_id, full))
        super().resume(run_id, full=full, **whose)


def begin(store, queue, specs, **more):
    return study.begin(store, queue, [Cell(spec=spec) for spec in specs], **more)


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
    cells = study.cells_of_study(store, study_id)
    assert [cell.spec.algorithm for cell in cells] == ["popular", "ease"]
    assert len({cell.run.group for cell in cells}) == 1
    assert not any(cell.is_reused or cell.is_unfinished for cell in cells)


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
    (cell,) = study.cells_of_study(store, begin(store, queue, [spec()]))
    assert (cell.run.run_id, cell.is_reused) == (known.run_id, True)
    assert len(store.runs()) == 1


@pytest.mark.parametrize(
    "other", [{"seed": 7}, {"k": 6}, {"metric": "recall"}, {"n": 5}, {"algorithm": "ease"}]
)
def test_a_run_with_other_scores_does_not(store, queue, other):
    wanted = spec(**other)
    put(store, wanted, folds=wanted.k)
    (cell,) = study.cells_of_study(store, begin(store, queue, [spec()]))
    assert not cell.is_reused
    assert cell.run.state is RunState.QUEUED


def test_a_recorded_run_fills_a_cell_without_being_copied(store, queue, tmp_path, monkeypatch):
    monkeypatch.setattr("ecv_core.store.recorded.FOLDER", tmp_path)
    run = put(store, spec())
    path = recorded_path(tmp_path, "synthetic", "popular")
    record(run, path)
    store.delete(run.run_id)
    study_id = begin(store, queue, [spec()])
    assert store.runs() == []
    (cell,) = study.cells_of_study(store, study_id)
    assert (cell.run.run_id, cell.run.folds, cell.is_reused) == (run.run_id, run.folds, True)
    record(replace(run, run_id="another"), path)  # recorded again, it fills the cell still
    (cell,) = study.cells_of_study(store, study_id)
    assert (cell.run.run_id, cell.is_unfinished) == ("another", False)


def test_a_run_that_stopped_early_is_enough_only_where_that_was_asked_for(store):
    early = put(store, spec(full=False), folds=3)
    assert study.first_run_that_answers(spec(full=False), [early]) is early
    assert study.first_run_that_answers(spec(full=True), [early]) is None
    assert study.first_run_that_answers(spec(full=False, alpha=1e-2), [early]) is None


def test_a_run_of_chosen_folds_answers_once_it_has_them_all(store):
    some = put(store, spec(only_folds=(3, 1)), folds=2)
    assert study.first_run_that_answers(spec(), [some]) is None
    every = put(store, spec(only_folds=(4, 3, 2, 1, 0)))
    assert study.first_run_that_answers(spec(), [some, every]) is every


def test_a_cell_that_was_begun_earlier_goes_on_instead_of_starting_again(store, queue):
    begun = put(store, spec(), folds=2, state=RunState.INTERRUPTED)
    (cell,) = study.cells_of_study(store, begin(store, queue, [spec()]))
    assert cell.run.run_id == begun.run_id
    assert queue.resumed == [(begun.run_id, True)]
    assert len(cell.run.folds) == 2


def test_cancel_leaves_no_cell_waiting_and_going_on_queues_them_again(store, queue):
    study_id = begin(store, queue, [spec(), spec("ease")])
    study.cancel(queue, study.cells_of_study(store, study_id))
    assert {run.state for run in store.runs()} == {RunState.CANCELLED}
    assert all(cell.is_unfinished for cell in study.cells_of_study(store, study_id))
    study.go_on(store, queue, study_id)
    assert {run.state for run in store.runs()} == {RunState.QUEUED}


def test_a_deleted_run_is_computed_again(store, queue):
    kept = put(store, spec("ease"))
    study_id = begin(store, queue, [spec(), spec("ease")])
    first = study.cells_of_study(store, study_id)[0]
    store.request_cancel(first.run.run_id)
    store.delete(first.run.run_id)
    assert study.cells_of_study(store, study_id)[0].run is None
    study.go_on(store, queue, study_id)
    again, borrowed = study.cells_of_study(store, study_id)
    assert again.run.state is RunState.QUEUED
    assert (borrowed.run.run_id, borrowed.is_reused) == (kept.run_id, True)


def test_cells_that_stopped_early_go_on_to_their_last_fold_when_asked(store, queue):
    early = put(store, spec(full=False), folds=3)
    study_id = begin(store, queue, [spec(full=False)])
    (cell,) = study.cells_of_study(store, study_id)
    assert cell.ended_early
    assert not cell.is_unfinished
    study.go_on(store, queue, study_id)
    assert queue.resumed == []
    study.go_on(store, queue, study_id, full=True)
    assert queue.resumed == [(early.run_id, True)]


def test_a_study_of_nothing_is_refused(store, queue):
    with pytest.raises(InputError, match="at least one dataset and one algorithm"):
        begin(store, queue, [])


def test_an_obstacle_is_that_of_the_split_with_its_parameters() -> None:
    splits = ["temporal-global"]
    possible = planned_cells(["synthetic"], ["popular"], splits)
    impossible = planned_cells(
        ["synthetic"], ["popular"], splits, split_params={"time_point": "1900-01-01"}
    )
    obstacles = [obstacle for _, obstacle in study.with_obstacles([*possible, *impossible])]
    assert obstacles[0] is None
    assert str(obstacles[1]).startswith("the time point 1900-01-01 is outside synthetic")
