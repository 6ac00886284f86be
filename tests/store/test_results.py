"""Fold scores are found wherever they are: here, imported, recorded, in any run that has them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ecv_core.records.run import Energy, RunState, UserScores
from ecv_core.records.spec import RunSpec
from ecv_core.store.imports import RunFile, import_run
from ecv_core.store.recorded import record, recorded_path, recorded_runs_of_all_splits
from ecv_core.store.results import Results
from ecv_core.store.store import Store
from tests.fake_folds import SCORES, fold_result

SPEC = RunSpec(dataset="synthetic", algorithm="popular", k=5, rule="never")


def users_of(fold: int, *ids: int) -> UserScores:
    """User `i` has the score i / 8 in nDCG@10, and as many hits as the fold's index."""
    values = [[user / 8, float(fold)] for user in ids]
    return UserScores(
        users=np.array(ids, dtype=np.int32),
        metrics=("ndcg@10", "hits@10"),
        values=np.array(values, dtype=np.float32),
    )


def computed(store: Store, spec: RunSpec, *folds: int, users: bool = False, joules: float = 10.0):
    """The id of a run whose folds cost `joules` each."""
    run_id = store.create([spec], owner="me")[0]
    for index in folds:
        result = fold_result(index, SCORES[index])
        result = replace(
            result,
            energy=replace(result.energy, joules=joules),
            user_scores=users_of(index, 1, 3) if users else None,
        )
        store.add_fold(run_id, result, stopped_at=None)
    return run_id


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "recorded"


def test_folds_of_all_runs_with_the_same_scores_are_one_set(store: Store) -> None:
    computed(store, replace(SPEC, only_folds=(3,)), 3)
    computed(store, replace(SPEC, rule="e-fold", full=True), 0, 2)
    computed(store, replace(SPEC, seed=7), 1)
    found = Results(store, with_recorded=False).folds(SPEC)
    assert {fold: result.score for fold, result in found.items()} == {0: 0.30, 2: 0.31, 3: 0.33}
    assert list(found) == [0, 2, 3]


def test_a_deleted_run_is_not_found_until_it_is_brought_back(store: Store) -> None:
    run_id = computed(store, SPEC, 0)
    store.finish(run_id, RunState.CANCELLED)
    store.remove([run_id])
    assert Results(store).folds(SPEC) == {}
    store.bring_back([run_id])
    assert list(Results(store).folds(SPEC)) == [0]


def test_a_run_that_is_queued_again_for_other_scores_is_found_by_those(store: Store) -> None:
    run_id = computed(store, SPEC, 0)
    store.finish(run_id, RunState.CANCELLED)
    other = replace(SPEC, data_sha256="1")
    store.requeue(run_id, other, owner="me")
    assert Results(store).runs(SPEC) == []
    assert [run.run_id for run in Results(store).runs(other)] == [run_id]


def test_a_fold_with_users_scores_goes_before_one_without(store: Store) -> None:
    computed(store, SPEC, 0, 1, 2, joules=1.0)
    computed(store, SPEC, 1, users=True, joules=2.0)
    results = Results(store)
    assert [one.energy.joules for one in results.folds(SPEC).values()] == [1.0, 2.0, 1.0]
    with_users = results.folds_with_users(SPEC)
    assert [one.user_scores is not None for one in with_users.values()] == [False, True, False]
    assert results.fold(SPEC, 1).user_scores.users.tolist() == [1, 3]
    assert results.fold(SPEC, 3) is None


def test_runs_come_with_most_folds_first_and_without_folds_not_at_all(store: Store) -> None:
    few = computed(store, SPEC, 4)
    many = computed(store, SPEC, 0, 1)
    computed(store, SPEC)
    newest = computed(store, SPEC, 2)
    found = Results(store).runs(SPEC)
    assert [run.run_id for run in found] == [many, newest, few]


def test_own_folds_are_neither_imported_nor_recorded(store: Store, folder: Path) -> None:
    run = store.run(computed(store, SPEC, *range(5)))
    path = recorded_path(folder, "synthetic", "popular")
    record(replace(run, run_id="recorded"), path, {fold: users_of(fold, 2) for fold in range(5)})
    store.finish(run.run_id, RunState.FINISHED)
    store.delete(run.run_id)
    brought = replace(run, run_id="elsewhere", folds=run.folds[:4], moments=run.moments[:4])
    import_run(store, RunFile(run=brought, name="a.json", made_with={}))
    computed(store, SPEC, 1)
    results = Results(store, recorded_folder=folder)
    assert [one.run_id for one in results.runs(SPEC)][:2] == ["recorded", "elsewhere"]
    with_users = results.folds_with_users(SPEC)
    assert [fold for fold in with_users if with_users[fold].user_scores] == [0, 1, 2, 3, 4]
    assert list(results.folds(SPEC, computed_here=True)) == [1]
    assert list(Results(store, with_recorded=False).folds(SPEC)) == [0, 1, 2, 3]


def test_users_scores_of_an_imported_run_are_those_that_were_recorded_of_it(
    store: Store, folder: Path
) -> None:
    run = store.run(computed(store, SPEC, *range(5)))
    record(
        run, recorded_path(folder, "synthetic", "popular"), {f: users_of(f, 2) for f in range(5)}
    )
    results = Results(store, recorded_folder=folder)
    assert results.user_scores(run)[4].users.tolist() == [2]
    assert Results(store, with_recorded=False).user_scores(run) == {}
    assert [one.run_id for one in results.runs(SPEC)] == [run.run_id]


def test_every_recorded_run_is_found_by_its_spec() -> None:
    """Their files are named after what they hold."""
    results = Results(None)
    for run in recorded_runs_of_all_splits():
        assert run in results.runs(run.spec)


def test_scores_are_arrays_of_all_folds_and_users(store: Store) -> None:
    run_id = store.create([SPEC], owner="me")[0]
    for fold, ids in ((3, (5, 2)), (1, (2, 9))):
        result = fold_result(fold, SCORES[fold])
        store.add_fold(run_id, replace(result, user_scores=users_of(fold, *ids)), stopped_at=None)
    scores = Results(store).scores(store.run(run_id))
    nan = np.nan
    assert np.array_equal(scores.folds, [nan, 0.34, nan, 0.33, nan], equal_nan=True)
    assert np.array_equal(scores.joules, [nan, 10, nan, 10, nan], equal_nan=True)
    assert scores.user_ids.tolist() == [2, 5, 9]
    expected = np.full((5, 3), nan)
    expected[1, [0, 2]] = 2 / 8, 9 / 8
    expected[3, [0, 1]] = 2 / 8, 5 / 8
    assert np.array_equal(scores.users, expected, equal_nan=True)
    assert (scores.k, scores.run_id, scores.source) == (5, run_id, "none")
    assert (scores.name, scores.dataset, scores.metric) == (
        "popular on synthetic",
        "synthetic",
        "ndcg@10",
    )
    assert (scores.higher_is_better, scores.costs) == (True, None)


def test_specs_are_told_once_with_the_folds_that_all_their_runs_have(store: Store) -> None:
    computed(store, replace(SPEC, only_folds=(3,)), 3)
    computed(store, replace(SPEC, rule="e-fold"), 0, 3)
    other, newest = replace(SPEC, seed=7), replace(SPEC, seed=8)
    computed(store, other)
    run_id = computed(store, newest, 1)
    assert store.specs() == [(newest, 1), (other, 0), (replace(SPEC, rule="e-fold"), 2)]
    store.finish(run_id, RunState.CANCELLED)
    store.remove([run_id])
    assert [spec for spec, _ in store.specs()] == [other, replace(SPEC, rule="e-fold")]


def test_joules_are_costs_once_every_fold_has_some(store: Store) -> None:
    run = store.run(computed(store, SPEC, *range(5)))
    assert Results(store).scores(run).costs.tolist() == [10.0] * 5
    assert Results(store).scores(run).source == "cpu-load"
    unmetered = replace(run.folds[2], energy=Energy.none())
    some = replace(run, folds=(*run.folds[:2], unmetered, *run.folds[3:]))
    scores = Results(store).scores(some)
    assert scores.costs is None
    assert np.isnan(scores.joules[2])
