"""`ecv.EFoldSearchCV` beside scikit-learn's `GridSearchCV`."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn")
import sklearn
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    LeaveOneOut,
    RepeatedKFold,
    TimeSeriesSplit,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import ecv_core as ecv

CANCER = load_breast_cancer(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
ALPHAS = {"alpha": [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]}
USUAL = {
    *("mean_fit_time", "std_fit_time", "mean_score_time", "std_score_time"),
    *("mean_test_score", "std_test_score", "rank_test_score", "params", "n_folds"),
}


def test_the_same_scores_from_fewer_folds():
    ours = ecv.EFoldSearchCV(Ridge(), ALPHAS, certain=True).fit(*DIABETES)
    theirs = GridSearchCV(Ridge(), ALPHAS, cv=10).fit(*DIABETES)
    assert ours.best_params_ == theirs.best_params_
    assert ours.best_estimator_.coef_.tolist() == theirs.best_estimator_.coef_.tolist()
    assert ours.predict(DIABETES[0]).tolist() == theirs.predict(DIABETES[0]).tolist()
    assert set(theirs.cv_results_) | {"n_folds"} == set(ours.cv_results_) >= USUAL
    column = "param_alpha"
    assert ours.cv_results_[column].dtype == theirs.cv_results_[column].dtype
    ran = np.zeros((10, 6), bool)
    for at in range(10):
        mine, all_of_them = (one.cv_results_[f"split{at}_test_score"] for one in (ours, theirs))
        ran[at] = ~np.isnan(mine)
        assert mine[ran[at]].tolist() == all_of_them[ran[at]].tolist()
    assert ours.n_folds_used_.tolist() == ran.sum(axis=0).tolist()
    assert ours.folds_saved_ == 60 - ran.sum() > 10
    assert ours.cv_results_["rank_test_score"][ours.best_index_] == 1
    assert ours.sentence_.startswith("The best of 6 candidates by r2 is {'alpha': ")


def test_as_few_folds_are_run_as_are_told():
    fitted = []

    class Counted(RegressorMixin, BaseEstimator):
        def __init__(self, alpha=1.0):
            self.alpha = alpha

        def fit(self, X, y):
            fitted.append(self.alpha)
            self.model_ = Ridge(alpha=self.alpha).fit(X, y)
            return self

        def predict(self, X):
            return self.model_.predict(X)

    search = ecv.EFoldSearchCV(Counted(), ALPHAS, refit=False).fit(*DIABETES)
    assert [fitted.count(alpha) for alpha in ALPHAS["alpha"]] == search.n_folds_used_.tolist()


def test_who_cannot_win_leaves_first():
    search = ecv.EFoldSearchCV(
        Pipeline([("scale", StandardScaler()), ("model", LogisticRegression())]),
        {"model": [LogisticRegression(), LogisticRegression(C=1e-6), GaussianNB()]},
        scoring=["roc_auc", "neg_log_loss"],
        refit="neg_log_loss",
        return_train_score=True,
    ).fit(*CANCER)
    assert search.best_index_ == 0
    assert search.n_folds_used_[1] == search.n_folds_used_.min() < search.n_folds_used_[0]
    assert {"mean_test_roc_auc", "rank_test_neg_log_loss", "mean_train_roc_auc"} <= set(
        search.cv_results_
    )
    assert set(search.scorer_) == {"roc_auc", "neg_log_loss"}


def test_it_is_cloned_pickled_nested_and_says_every_round(capsys):
    search = ecv.EFoldSearchCV(Ridge(), ALPHAS, cv=4, verbose=1)
    assert clone(search).get_params()["expected_loss"] == 0.001
    inner = clone(search).set_params(verbose=0, expected_loss=0.01, estimator__tol=1e-5)
    scores = cross_val_score(make_pipeline(StandardScaler(), inner), *DIABETES, cv=2)
    assert scores.min() > 0.3
    search.fit(*DIABETES)
    assert "of 6 candidates left, the best is {'alpha': " in capsys.readouterr().out
    again = pickle.loads(pickle.dumps(search))
    assert again.predict(DIABETES[0]).tolist() == search.predict(DIABETES[0]).tolist()


def test_several_jobs_find_the_same():
    one, two = (
        ecv.EFoldSearchCV(Ridge(), ALPHAS, cv=5, n_jobs=jobs).fit(*DIABETES) for jobs in (None, 2)
    )
    for key in ("mean_test_score", "rank_test_score", "n_folds"):
        assert one.cv_results_[key].tolist() == two.cv_results_[key].tolist()


def two_scores(model, X, y):
    return {"one": 1.0, "right": model.score(X, y)}


@pytest.mark.parametrize(("scoring", "refit"), [("r2", "r2"), (two_scores, "right")])
def test_refit_names_a_score_as_there(scoring, refit):
    grid = {"alpha": [1.0, 1000.0]}
    ours, theirs = (
        search(Ridge(), grid, cv=3, scoring=scoring, refit=refit).fit(*DIABETES)
        for search in (ecv.EFoldSearchCV, GridSearchCV)
    )
    assert ours.multimetric_ == theirs.multimetric_
    assert ours.best_index_ == theirs.best_index_ == 0
    assert ours.score(*DIABETES) == theirs.score(*DIABETES)
    if scoring is two_scores:
        with pytest.raises(ValueError, match="refit must be set to a scorer key"):
            ecv.EFoldSearchCV(Ridge(), grid, cv=3, scoring=scoring).fit(*DIABETES)


def test_candidates_are_drawn_of_distributions():
    from scipy.stats import loguniform

    search = ecv.EFoldSearchCV(Ridge(), {"alpha": loguniform(1e-3, 1e3)}, n_iter=6, cv=3)
    assert len(search.fit(*DIABETES).n_folds_used_) == 6
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    space = {"alpha": optuna.distributions.FloatDistribution(1e-3, 1e3, log=True)}
    drawn = ecv.EFoldSearchCV(Ridge(), space, n_iter=4, cv=3, random_state=5).fit(*DIABETES)
    again = ecv.EFoldSearchCV(Ridge(), space, n_iter=4, cv=3, random_state=5).fit(*DIABETES)
    assert drawn.cv_results_["params"] == again.cv_results_["params"]
    assert len({one["alpha"] for one in drawn.cv_results_["params"]}) == 4
    mixed = ecv.EFoldSearchCV(Ridge(), space | {"solver": ["svd", "lsqr"]}, n_iter=8, cv=3)
    params = mixed.fit(*DIABETES).cv_results_["params"]
    assert {one["solver"] for one in params} == {"svd", "lsqr"}


def test_each_sample_may_be_left_out_by_itself():
    search = ecv.EFoldSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 0.1]}, cv=LeaveOneOut())
    X, y = load_wine(return_X_y=True)
    search.fit(X, y)
    assert search.n_splits_ == 178
    assert search.best_params_ == {"var_smoothing": 1e-9}  # 0.9775, the other 0.69


def test_groups_repeats_and_a_single_candidate():
    groups = np.arange(len(DIABETES[1])) % 30
    grouped = ecv.EFoldSearchCV(Ridge(), ALPHAS, cv=GroupKFold(5)).fit(*DIABETES, groups=groups)
    assert grouped.n_splits_ == 5
    repeated = RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)
    assert ecv.EFoldSearchCV(Ridge(), ALPHAS, cv=repeated).fit(*DIABETES).folds_saved_ > 0
    sure = ecv.EFoldSearchCV(Ridge(), ALPHAS, cv=5, expected_loss=None, certain=True)
    assert "no other has a better mean" in sure.fit(*DIABETES).sentence_
    alone = ecv.EFoldSearchCV(Ridge(), {"alpha": [1.0]}, cv=5).fit(*DIABETES)
    assert alone.best_score_ == GridSearchCV(Ridge(), {"alpha": [1.0]}).fit(*DIABETES).best_score_


def test_weights_are_routed():
    weights = np.linspace(1, 2, len(DIABETES[1]))
    with sklearn.config_context(enable_metadata_routing=True):
        model = Ridge().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        ours = ecv.EFoldSearchCV(model, ALPHAS, certain=True, confidence=0.99999, cv=5)
        ours.fit(*DIABETES, sample_weight=weights)
        theirs = GridSearchCV(model, ALPHAS, cv=5).fit(*DIABETES, sample_weight=weights)
    assert ours.best_estimator_.coef_.tolist() == theirs.best_estimator_.coef_.tolist()
    mine = ours.cv_results_["split0_test_score"]
    there = ~np.isnan(mine)
    assert mine[there].tolist() == theirs.cv_results_["split0_test_score"][there].tolist()


def test_a_candidate_that_cannot_be_fitted_is_last():
    with pytest.warns(FitFailedWarning):
        search = ecv.EFoldSearchCV(Lasso(), {"alpha": [-1.0, 0.1, 1.0]}, cv=3).fit(*DIABETES)
    assert search.best_params_["alpha"] == 0.1
    assert search.cv_results_["rank_test_score"].tolist()[0] == 3
    assert np.isnan(search.cv_results_["mean_test_score"][0])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"cv": TimeSeriesSplit(3)}, "come in the order of time"),
        ({"expected_loss": 2}, "expected loss is a share"),
        ({"confidence": "high"}, "confidence of search_terms is a number, but is 'high'"),
        ({"n_iter": 0}, "at least 1, but it is 0"),
        ({"param_grid": {"beta": [1, 2]}}, "Invalid parameter 'beta'"),
        ({"param_grid": []}, "no candidate"),
        ({"scoring": ["r2", "neg_mean_absolute_error"]}, "refit"),
        ({"param_grid": {"alpha": [-1.0, -2.0]}}, "fits failed"),
    ],
)
def test_bad_input_is_one_error(options, sentence):
    given = {"estimator": Ridge(), "param_grid": ALPHAS, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((ValueError, ecv.errors.InputError), match=sentence):
            ecv.EFoldSearchCV(**given).fit(*DIABETES)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [Ridge(), LogisticRegression()])
def test_it_passes_what_grid_search_passes(estimator):
    grid = {"alpha" if isinstance(estimator, Ridge) else "C": [0.1, 1.0]}
    failed = []
    for search in (GridSearchCV, ecv.EFoldSearchCV):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            checks = check_estimator(search(estimator, grid, cv=2), on_fail=None)
        failed.append([one["check_name"] for one in checks if one["status"] == "failed"])
    assert failed[0] == failed[1]


def test_a_fold_pruner_takes_the_samples_of_a_fold():
    optuna = pytest.importorskip("optuna")
    from sklearn.model_selection import StratifiedKFold

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    X, y = CANCER
    pruner = ecv.FoldPruner(k=5, trials=4)
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))

    def objective(trial):
        c = [1.0, 1e-6, 1e-7, 1.0][trial.number]
        model = make_pipeline(StandardScaler(), LogisticRegression(C=c))
        scores = []
        for fold, (train, test) in enumerate(folds):
            model.fit(X[train], y[train])
            told = ecv.sample_scores(model, X[test], y[test], test, "neg_log_loss")
            pruner.report(trial, fold, told)
            scores.append(np.mean(list(told.values())))
            if trial.should_prune():
                raise optuna.TrialPruned
        return float(np.mean(scores))

    study = optuna.create_study(direction="maximize", pruner=pruner)
    study.optimize(objective, n_trials=4)
    states = [trial.state.name for trial in study.trials]
    assert states == ["COMPLETE", "PRUNED", "PRUNED", "COMPLETE"]
