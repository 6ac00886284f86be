"""A study records each cell once, whole, and goes on where it was cut off."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ecv_core.errors import InputError, RunError
from ecv_core.records import FoldResult, RunSpec, RunState, UserScores
from ecv_core.runs.recorded import recorded_user_scores
from ecv_core.store import Store, open_store
from ecv_core.study import recording as study
from tests.jobs import fold_result


@pytest.fixture
def store() -> Store:
    return open_store()


def job(url: str, run_id: str, spec: RunSpec, index: int) -> FoldResult:
    return fold_result(index, 0.3 + index / 100)


def two_cells(folder: Path) -> list[study.Cell]:
    return study.cells(["synthetic"], ["popular", "item-knn"], folder=folder)


def test_each_cell_is_a_whole_run_in_a_file_of_its_own(store: Store, tmp_path: Path) -> None:
    done = list(study.run_cells(store, two_cells(tmp_path), job=job))
    assert [run.state for _, run in done] == [RunState.FINISHED] * 2
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

    ((_, run),) = study.run_cells(store, two_cells(tmp_path)[:1], job=with_users)
    found = recorded_user_scores(run.run_id, tmp_path)
    assert list(found) == list(range(10))
    assert found[3].users.tolist() == [1, 5]
    assert found[3].of("ndcg@10").tolist() == [0.5, 0.1875]
    assert recorded_user_scores("another", tmp_path) == {}


def test_a_second_start_runs_nothing(store: Store, tmp_path: Path) -> None:
    list(study.run_cells(store, two_cells(tmp_path), job=job))
    assert list(study.run_cells(store, two_cells(tmp_path), job=job)) == []
    assert len(store.runs()) == 2


def test_a_cell_that_was_cut_off_goes_on_at_its_next_fold(store: Store, tmp_path: Path) -> None:
    asked: list[int] = []

    def cut(url: str, run_id: str, spec: RunSpec, index: int) -> FoldResult:
        asked.append(index)
        if asked == list(range(5)):
            raise RunError("the power went")
        return job(url, run_id, spec, index)

    cell = two_cells(tmp_path)[:1]
    ((_, failed),) = study.run_cells(store, cell, job=cut)
    assert failed.state is RunState.FAILED
    assert not cell[0].done
    ((_, whole),) = study.run_cells(store, cell, job=cut)
    assert whole.run_id == failed.run_id
    assert asked == [0, 1, 2, 3, 4, 4, 5, 6, 7, 8, 9]
    assert cell[0].done


def test_a_run_with_missing_folds_is_not_recorded(store: Store, tmp_path: Path) -> None:
    ((_, run),) = study.run_cells(store, two_cells(tmp_path)[:1], job=job)
    with pytest.raises(InputError, match="only 9 folds"):
        study.record(replace(run, folds=run.folds[:9]), tmp_path / "x.json")


def test_a_file_that_cannot_be_written_leaves_nothing_half(store: Store, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="cannot be written"):
        list(study.run_cells(store, two_cells(tmp_path / "file"), job=job))


def test_an_unknown_name_is_refused_before_anything_runs(store: Store) -> None:
    with pytest.raises(InputError, match="no algorithm is called 'nope'"):
        study.cells(["synthetic"], ["popular", "nope"])
    assert store.runs() == []
