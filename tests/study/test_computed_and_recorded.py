"""A study records each cell once, whole, and goes on where it was cut off."""

import json
import multiprocessing
import os
import signal
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from ecv_core.errors import InputError, RunError, StoreError
from ecv_core.records import FoldResult, Run, RunSpec, RunState, UserScores
from ecv_core.runs.recorded import (
    record,
    recorded_run,
    recorded_runs,
    recorded_stopped,
    recorded_user_scores,
)
from ecv_core.store import Cell, Store, interrupt, open_store
from ecv_core.study.cells import planned
from ecv_core.study.engine import compute
from tests.jobs import fold_result


@pytest.fixture
def store() -> Store:
    return open_store()


def job(url: str, run_id: str, spec: RunSpec, index: int) -> FoldResult:
    return fold_result(index, 0.3 + index / 100)


def two_cells(folder: Path) -> list[Cell]:
    return planned(["synthetic"], ["popular", "item-knn"], folder=folder, seed=42, full=True)


def runs_of(computed: Iterable[Cell]) -> list[Run]:
    return [cell.run for cell in computed if cell.run is not None]


def test_each_cell_is_a_whole_run_in_a_file_of_its_own(store: Store, tmp_path: Path) -> None:
    done = list(compute(store, two_cells(tmp_path), job=job))
    assert [cell.run and cell.run.state for cell in done] == [RunState.FINISHED] * 2
    document = json.loads((tmp_path / "synthetic--popular.json").read_text())
    assert [fold["score"] for fold in document["folds"]] == pytest.approx(
        [0.30, 0.31, 0.32, 0.33, 0.34, 0.35, 0.36, 0.37, 0.38, 0.39]
    )
    assert document["k_fold_mean"] == pytest.approx(0.345)
    assert document["spec"]["algorithm"] == "popular"
    assert document["made_with"]["packages"]["torch"].startswith("2.13.0")


def test_the_per_user_scores_are_kept_beside_the_run(store: Store, tmp_path: Path) -> None:
    def with_users(url: str, run_id: str, spec: RunSpec, index: int) -> FoldResult:
        users = UserScores(
            users=np.array([1, 5], dtype=np.int32),
            metrics=("ndcg@10",),
            values=np.array([[0.5], [index / 16]], dtype=np.float32),
        )
        return replace(job(url, run_id, spec, index), user_scores=users)

    (run,) = runs_of(compute(store, two_cells(tmp_path)[:1], job=with_users))
    found = recorded_user_scores(run, tmp_path)
    assert list(found) == list(range(10))
    assert found[3].users.tolist() == [1, 5]
    assert found[3].of("ndcg@10").tolist() == [0.5, 0.1875]
    assert recorded_user_scores(replace(run, run_id="another"), tmp_path) == {}


def test_a_second_start_runs_nothing(store: Store, tmp_path: Path) -> None:
    list(compute(store, two_cells(tmp_path), job=job))
    assert list(compute(store, two_cells(tmp_path), job=job)) == []
    assert len(store.runs()) == 2


def test_a_cell_that_was_cut_off_goes_on_at_its_next_fold(store: Store, tmp_path: Path) -> None:
    asked: list[int] = []

    def cut(url: str, run_id: str, spec: RunSpec, index: int) -> FoldResult:
        asked.append(index)
        if asked == list(range(5)):
            raise RunError("the power went")
        return job(url, run_id, spec, index)

    cell = two_cells(tmp_path)[:1]
    (failed,) = runs_of(compute(store, cell, job=cut))
    assert failed.state is RunState.FAILED
    assert not cell[0].recorded
    (whole,) = runs_of(compute(store, cell, job=cut))
    assert whole.run_id == failed.run_id
    assert asked == [0, 1, 2, 3, 4, 4, 5, 6, 7, 8, 9]
    assert cell[0].recorded


def test_a_run_with_missing_folds_is_not_recorded(store: Store, tmp_path: Path) -> None:
    (run,) = runs_of(compute(store, two_cells(tmp_path)[:1], job=job))
    with pytest.raises(InputError, match="only 9 folds"):
        record(replace(run, folds=run.folds[:9]), tmp_path / "x.json")


def test_a_file_that_cannot_be_written_leaves_nothing_half(store: Store, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="cannot be written"):
        list(compute(store, two_cells(tmp_path / "file"), job=job))


def test_an_unknown_name_is_refused_before_anything_runs(store: Store) -> None:
    with pytest.raises(InputError, match="no algorithm is called 'nope'"):
        planned(["synthetic"], ["popular", "nope"])
    assert store.runs() == []


def killed_in_its_fourth_fold(url: str, folder: Path) -> None:
    def job(url: str, run_id: str, spec: RunSpec, index: int) -> FoldResult:
        if index == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return fold_result(index, 0.3 + index / 100)

    list(compute(open_store(url), two_cells(folder), job=job))


def test_after_a_kill_it_goes_on_at_the_next_missing_fold(store: Store, tmp_path: Path) -> None:
    fork = multiprocessing.get_context("fork")
    program = fork.Process(target=killed_in_its_fourth_fold, args=(store.url, tmp_path))
    program.start()
    program.join(60)
    assert program.exitcode == -signal.SIGKILL
    (cut_off,) = store.runs()
    assert (cut_off.state, len(cut_off.folds)) == (RunState.RUNNING, 3)

    asked: list[int] = []

    def noting(url: str, run_id: str, spec: RunSpec, index: int) -> FoldResult:
        asked.append(index)
        return job(url, run_id, spec, index)

    (whole,) = runs_of(compute(store, two_cells(tmp_path)[:1], job=noting))
    assert whole.run_id == cut_off.run_id
    assert asked == [3, 4, 5, 6, 7, 8, 9]
    assert whole.state is RunState.FINISHED


def test_a_kill_after_the_last_fold_costs_no_fold(store: Store, tmp_path: Path) -> None:
    (cell, _) = two_cells(tmp_path)
    run_id = store.create([cell.spec], owner="gone:1:1")[0]
    for fold in range(10):
        store.add_fold(run_id, fold_result(fold, 0.3), stopped_at=None)
    interrupt(store, ["gone:1:1"])

    def never(url: str, run_id: str, spec: RunSpec, index: int) -> FoldResult:
        raise AssertionError("every fold is there")

    (whole,) = runs_of(compute(store, [cell], job=never))
    assert (whole.run_id, whole.state) == (run_id, RunState.FINISHED)
    assert json.loads(cell.path.read_text())["state"] == "finished"  # type: ignore[union-attr]


def test_a_run_with_another_rule_is_not_recorded_in_its_place(store: Store, tmp_path: Path) -> None:
    (cell, _) = two_cells(tmp_path)
    other = store.create([replace(cell.spec, rule_params=(("alpha", 1e-2),))], owner="me")[0]
    for fold in range(10):
        store.add_fold(other, fold_result(fold, 0.3), stopped_at=None)
    store.finish(other, RunState.FINISHED)
    (run,) = runs_of(compute(store, [cell], job=job))
    assert run.run_id != other
    assert json.loads(cell.path.read_text())["spec"]["rule_params"]["alpha"] == 1e-4  # type: ignore[union-attr]


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
    monkeypatch.setattr("ecv_core.runner.drive.RETRY_SECONDS", 0.01)
    asked: list[tuple[str, int]] = []

    def large(url: str, run_id: str, spec: RunSpec, index: int) -> FoldResult:
        asked.append((spec.algorithm, index))
        users = UserScores(
            users=np.arange(99_999, dtype=np.int32),
            metrics=("ndcg@10",),
            values=np.random.default_rng(index).random((99_999, 1), np.float32),  # not to be packed
        )
        if index == 2:
            full_disk(store)
            if nothing_at_all:  # not even the state of the run
                monkeypatch.setattr(store, "finish", unwritable)
        return replace(job(url, run_id, spec, index), user_scores=users)

    def unwritable(*args: object, **kwargs: object) -> None:
        raise StoreError("the database cannot be written: it is full; free some disk space")

    said: list[str] = []
    with pytest.raises(RunError, match=r"gave up saving after 5 attempts.*free some disk space$"):
        list(compute(store, two_cells(tmp_path), job=large, say=said.append))
    assert asked == [("popular", 0), ("popular", 1), ("popular", 2)]  # nothing of the second cell
    assert len(said) == 1
    assert "free some disk space. A result is waiting in memory" in said[0]
    (run,) = store.runs()
    assert len(run.folds) == 2
    assert run.state is (RunState.RUNNING if nothing_at_all else RunState.FAILED)


def test_a_run_that_its_rule_ends_is_recorded_apart(store: Store, tmp_path: Path) -> None:
    # The widths of the first two intervals are 0.127 and 0.025: below alpha after the third fold.
    (cell,) = planned(["synthetic"], ["popular"], folder=tmp_path, rule="e-fold", alpha=1.0)
    assert cell.path == tmp_path / "stopped" / "synthetic--popular.json"
    (run,) = runs_of(compute(store, [cell], job=job))
    assert (run.stopped_at, len(run.folds)) == (3, 3)
    assert recorded_runs(tmp_path) == []
    (found,) = recorded_stopped(tmp_path)
    assert [fold.score for fold in found.folds] == pytest.approx([0.30, 0.31, 0.32])
    assert recorded_run(run.run_id, tmp_path) is not None  # its address opens it
    assert list(compute(store, [c for c in [cell] if not c.recorded], job=job)) == []


def test_a_run_that_is_recorded_whole_is_not_recorded_apart_too(
    store: Store, tmp_path: Path
) -> None:
    list(compute(store, two_cells(tmp_path)[:1], job=job))
    (cell,) = planned(["synthetic"], ["popular"], folder=tmp_path, rule="e-fold", alpha=1.0)
    assert cell.recorded
    (other,) = planned(["synthetic"], ["ease"], folder=tmp_path, rule="never")
    assert other.path == tmp_path / "synthetic--ease.json"  # nothing ends it early
