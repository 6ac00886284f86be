from __future__ import annotations

import multiprocessing
import warnings
from pathlib import Path

import numpy as np
import optuna
import pandas as pd
import pytest
from numpy.typing import NDArray

from ecv_core.records.errors import InputError
from ecv_core.selection.pruner import FoldPruner
from tests.selection.conftest import made

optuna.logging.set_verbosity(optuna.logging.ERROR)


def studied(means: list[float], *, maximize: bool = True, named: bool = False) -> optuna.Study:
    some = made(means, users=100, spread=0.05)
    pruner = FoldPruner(k=10, trials=len(means))
    direction = "maximize" if maximize else "minimize"
    study = optuna.create_study(direction=direction, pruner=pruner)  # type: ignore[arg-type]

    def objective(trial: optuna.Trial) -> float:
        one = some[trial.number]
        assert one.users is not None
        for fold in range(10):
            scores = one.users[fold]
            pruner.report(trial, fold, dict(enumerate(scores)) if named else scores)
            if trial.should_prune():
                raise optuna.TrialPruned
        return float(one.folds.mean())

    study.optimize(objective, n_trials=len(means))
    return study


@pytest.mark.parametrize("named", [False, True], ids=["arrays", "user -> score"])
def test_a_worse_trial_is_pruned_after_a_fold_and_a_better_one_never(named: bool) -> None:
    trials = studied([0.5, 0.2, 0.8], named=named).trials
    assert [trial.state.name for trial in trials] == ["COMPLETE", "PRUNED", "COMPLETE"]
    assert len(trials[1].intermediate_values) == 1
    assert len(trials[2].intermediate_values) == 10


def test_less_can_be_better() -> None:
    trials = studied([0.5, 0.2, 0.8], maximize=False).trials
    assert [trial.state.name for trial in trials] == ["COMPLETE", "COMPLETE", "PRUNED"]


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="trials = 1"):
        FoldPruner(k=10, trials=1)
    with pytest.raises(InputError, match=r"k = 2\.5"):
        FoldPruner(k=2.5, trials=5)  # type: ignore[arg-type]
    # The error of a look is worked out look by look: a million of them took longer than anybody
    # waits, and 10 to the 400th is too large for a float.
    with pytest.raises(InputError, match=r"from 2 to 1,000 folds .* k = 1000000"):
        FoldPruner(k=10**6, trials=5)
    with pytest.raises(InputError, match="from 2 to 1,000,000,000 trials"):
        FoldPruner(k=10, trials=10**400)
    pruner = FoldPruner(k=3, trials=2)
    trial = optuna.create_study().ask()
    with pytest.raises(InputError, match="no fold 3; with k = 3"):
        pruner.report(trial, 3, [0.1])
    with pytest.raises(InputError, match=r"no fold 1\.0"):
        pruner.report(trial, 1.0, [0.1])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="has a user twice"):
        pruner.report(trial, 0, pd.Series([0.1, 0.2], index=["ann", "ann"]))
    with pytest.raises(InputError, match="scores of fold 0 must be numbers, user -> score or one"):
        pruner.report(trial, 0, {0.1, 0.2})  # type: ignore[arg-type]
    with pytest.raises(InputError, match="could not convert string to float: 'low'"):
        pruner.report(trial, 0, {"ann": "low"})  # type: ignore[dict-item]
    with pytest.raises(InputError, match="has no score of any user"):
        pruner.report(trial, 0, [float("nan")])
    with pytest.raises(InputError, match="ann in fold 0 of trial 0 is -inf"):
        pruner.report(trial, 0, {"ann": -np.inf, "bob": 0.5})


def test_the_labels_of_a_series_are_its_users() -> None:
    study = optuna.create_study()
    kept = []
    for scores in (
        {"ann": 0.1, 7: 0.9},
        pd.Series([0.1, 0.9], index=["ann", 7]),
        pd.Series([0.9, 0.1], index=[7, "ann"]),
    ):
        trial = study.ask()
        FoldPruner(k=3, trials=3).report(trial, 0, scores)
        kept.append(trial.user_attrs["ecv_fold_0"])
    assert kept[0] == kept[1] == kept[2]


K = 8
NOISE = np.random.default_rng(0).normal(0, 0.1, (K, 150))
"""What the users of each fold have in common for all trials; shape (folds, users)."""


def scores_of(number: int, fold: int, level: float) -> NDArray[np.float64]:
    rng = np.random.default_rng((number, fold))
    return np.asarray(level + NOISE[fold] + rng.normal(0, 0.02, NOISE.shape[1]))


def storage_at(path: Path) -> optuna.storages.RDBStorage:
    engine = {"connect_args": {"timeout": 60}}  # processes wait for each other's writes
    return optuna.storages.RDBStorage(f"sqlite:///{path}", engine_kwargs=engine)


def go_on(path: Path, levels: list[float], *, named: bool = True, keep: bool = True) -> list[int]:
    """Another session of a study, with a pruner of its own. Returns: the folds of each trial."""
    pruner = FoldPruner(k=K, trials=20)
    study = optuna.create_study(
        study_name="s",
        storage=storage_at(path),
        direction="maximize",
        pruner=pruner,
        load_if_exists=True,
    )
    pending = iter(levels)

    def objective(trial: optuna.Trial) -> float:
        level = next(pending)
        means = []
        for fold in range(K):
            scores = scores_of(trial.number, fold, level)
            means.append(float(scores.mean()))
            if not keep:
                trial.report(means[-1], fold)
            elif named:
                pruner.report(trial, fold, {f"user {at}": x for at, x in enumerate(scores)})
            else:
                pruner.report(trial, fold, scores)
            if trial.should_prune():
                raise optuna.TrialPruned
        return float(np.mean(means))

    before = len(study.trials)
    study.optimize(objective, n_trials=len(levels))
    return [len(trial.intermediate_values) for trial in study.trials[before:]]


@pytest.mark.parametrize("named", [False, True], ids=["arrays", "user -> score"])
def test_a_resumed_study_prunes_as_if_it_had_never_stopped(tmp_path: Path, named: bool) -> None:
    levels = [0.5, 0.3, 0.49, 0.7, 0.5, 0.69, 0.2]
    whole = go_on(tmp_path / "whole.sqlite3", levels, named=named)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = go_on(tmp_path / "parts.sqlite3", levels[:2], named=named)
        later = go_on(tmp_path / "parts.sqlite3", levels[2:], named=named)
    assert first + later == whole
    assert whole[0] == whole[3] == K  # the first, and a better one
    assert whole[1] == whole[4] == whole[6] == 1


def test_trials_with_fold_means_alone_are_compared_by_them_and_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite3"
    assert go_on(path, [0.5], keep=False) == [K]
    with pytest.warns(UserWarning, match="without the scores of users") as caught:
        folds = go_on(path, [0.2, 0.3])
    assert all(1 < used < K for used in folds)
    assert len(caught) == 1


def test_a_best_trial_without_any_fold_is_said_once(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite3"
    study = optuna.create_study(study_name="s", storage=storage_at(path), direction="maximize")
    study.add_trial(optuna.create_trial(value=0.9))
    with pytest.warns(UserWarning, match="no finished trial has reported a score") as caught:
        assert go_on(path, [0.5]) == [K]
    assert len(caught) == 1
    with pytest.warns(UserWarning, match="compared with trial 1, the best that has") as caught:
        assert go_on(path, [0.2, 0.3]) == [1, 1]
    assert len(caught) == 1


@pytest.mark.parametrize(
    "steps",
    [range(100), range(1, K + 1), range(5)],
    ids=["epochs", "folds from 1", "folds of another k"],
)
def test_steps_that_are_not_all_folds_are_compared_with_none(tmp_path: Path, steps: range) -> None:
    path = tmp_path / "s.sqlite3"
    study = optuna.create_study(study_name="s", storage=storage_at(path), direction="maximize")
    values = {step: 0.9 + step / 1000 for step in steps}
    study.add_trial(optuna.create_trial(value=0.9, intermediate_values=values))
    with pytest.warns(UserWarning, match="no other step"):
        assert go_on(path, [0.5]) == [K]


def test_scores_that_float32_cannot_tell_apart_prune_as_others() -> None:
    pruner = FoldPruner(k=K, trials=3)
    study = optuna.create_study(direction="maximize", pruner=pruner)  # type: ignore[arg-type]

    def objective(trial: optuna.Trial) -> float:
        level = [0.5, 0.2, 0.8][trial.number]
        for fold in range(K):
            pruner.report(trial, fold, 1e9 + scores_of(trial.number, fold, level))
            if trial.should_prune():
                raise optuna.TrialPruned
        return level

    study.optimize(objective, n_trials=3)
    assert [len(trial.intermediate_values) for trial in study.trials] == [K, 1, K]


def test_a_fold_mean_is_not_rounded() -> None:
    pruner = FoldPruner(k=2, trials=2)
    trial = optuna.create_study().ask()
    pruner.report(trial, 0, [2.0**24 + 1, 2.0**24 + 3])
    frozen = trial.study.trials[0]
    assert frozen.intermediate_values == {0: 2.0**24 + 2}


def test_trials_on_other_users_are_compared_by_fold_means(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite3"
    go_on(path, [0.5], named=True)
    with pytest.warns(UserWarning, match="has other users, or samples"):
        folds = go_on(path, [0.2], named=False)
    assert 1 < folds[0] < K


def worker(path: Path, results: multiprocessing.SimpleQueue[list[int]]) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    results.put(go_on(path, [0.3, 0.31, 0.32, 0.33]))


@pytest.mark.slow
def test_processes_that_share_a_storage_prune_by_each_others_trials(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite3"
    assert go_on(path, [0.5]) == [K]  # the best, of neither of them
    spawn = multiprocessing.get_context("spawn")
    results: multiprocessing.SimpleQueue[list[int]] = spawn.SimpleQueue()
    workers = [spawn.Process(target=worker, args=(path, results)) for _ in range(2)]
    for process in workers:
        process.start()
    for process in workers:
        process.join()
    assert [process.exitcode for process in workers] == [0, 0]
    study = optuna.load_study(study_name="s", storage=storage_at(path))
    assert [len(trial.intermediate_values) for trial in study.trials] == [K] + [1] * 8


def test_many_users_are_kept_in_groups() -> None:
    pruner = FoldPruner(k=4, trials=5)
    rng = np.random.default_rng(3)
    shared = rng.normal(0, 1, 30_000)

    def objective(trial: optuna.Trial) -> float:
        level = [0.0, -0.05][trial.number]
        for fold in range(4):
            pruner.report(trial, fold, level + shared + rng.normal(0, 0.01, len(shared)))
            if trial.should_prune():
                raise optuna.TrialPruned
        return level

    study = optuna.create_study(direction="maximize", pruner=pruner)
    study.optimize(objective, n_trials=2)
    first, second = study.trials
    assert 4 * 20_000 < len(str(first.user_attrs)) < 4 * 64_000
    assert first.intermediate_values[0] == pytest.approx(shared.mean(), abs=0.001)
    assert len(second.intermediate_values) == 1  # 0.05 is nothing beside 1, but they are paired
