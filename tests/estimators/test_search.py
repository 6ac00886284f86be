"""`ecv.EFoldSearchCV` beside scikit-learn's `GridSearchCV`."""

from __future__ import annotations

import pickle
import re
import warnings
from copy import deepcopy

import numpy as np
import pytest

pytest.importorskip("sklearn")
import sklearn
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine, make_classification
from sklearn.exceptions import DataConversionWarning, FitFailedWarning
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.metrics import make_scorer, mean_squared_error
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneOut,
    RandomizedSearchCV,
    RepeatedKFold,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import ecv_core as ecv
from ecv_core.estimators.differences import SampleDifferences
from ecv_core.estimators.fold_scores import Scored
from ecv_core.evaluation.scoring import SampleValues

CANCER = load_breast_cancer(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
ALPHAS = {"alpha": [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]}
SURE = {"certain": True, "confidence": 1 - 1e-9}
"""Candidates that are near run all folds."""
USUAL = {
    *("mean_fit_time", "std_fit_time", "mean_score_time", "std_score_time"),
    *("mean_test_score", "std_test_score", "rank_test_score", "params"),
}


def test_the_same_scores_from_fewer_folds():
    ours = ecv.EFoldSearchCV(Ridge(), ALPHAS, cv=10).fit(*DIABETES)
    theirs = GridSearchCV(Ridge(), ALPHAS, cv=10).fit(*DIABETES)
    assert ours.best_params_ == theirs.best_params_
    assert ours.best_estimator_.coef_.tolist() == theirs.best_estimator_.coef_.tolist()
    assert ours.predict(DIABETES[0]).tolist() == theirs.predict(DIABETES[0]).tolist()
    assert set(theirs.cv_results_) == set(ours.cv_results_) >= USUAL
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


@pytest.mark.slow
def test_several_jobs_find_the_same():
    one, two = (
        ecv.EFoldSearchCV(Ridge(), ALPHAS, cv=5, n_jobs=jobs).fit(*DIABETES) for jobs in (None, 2)
    )
    assert one.n_folds_used_.tolist() == two.n_folds_used_.tolist()
    for key in ("mean_test_score", "rank_test_score"):
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

    draw = ecv.EFoldRandomizedSearchCV
    search = draw(Ridge(), param_distributions={"alpha": loguniform(1e-3, 1e3)}, n_iter=6, cv=3)
    assert len(search.fit(*DIABETES).n_folds_used_) == 6
    optuna = pytest.importorskip("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    space = {"alpha": optuna.distributions.FloatDistribution(1e-3, 1e3, log=True)}
    drawn = draw(Ridge(), space, n_iter=4, cv=3, random_state=5).fit(*DIABETES)
    again = draw(Ridge(), space, n_iter=4, cv=3, random_state=5).fit(*DIABETES)
    assert drawn.cv_results_["params"] == again.cv_results_["params"]
    assert len({one["alpha"] for one in drawn.cv_results_["params"]}) == 4
    mixed = draw(Ridge(), space | {"solver": ["svd", "lsqr"]}, n_iter=8, cv=3)
    params = mixed.fit(*DIABETES).cv_results_["params"]
    assert {one["solver"] for one in params} == {"svd", "lsqr"}


def test_the_same_candidates_are_drawn_as_there():
    space = {"alpha": [0.01, 0.1, 1.0, 10.0, 100.0], "solver": ["svd", "lsqr", "cholesky"]}
    for seed in (3, np.random.RandomState(3)):
        drawn = []
        for search in (RandomizedSearchCV, ecv.EFoldRandomizedSearchCV):
            search = search(Ridge(), space, n_iter=4, cv=3, random_state=deepcopy(seed))
            drawn.append(search.fit(*DIABETES).cv_results_["params"])
        assert drawn[0] == drawn[1]
    with pytest.raises(ValueError, match="n_iter candidates are drawn, at least 1, but it is 0"):
        ecv.EFoldRandomizedSearchCV(Ridge(), space, n_iter=0).fit(*DIABETES)


@pytest.mark.parametrize(
    "settings", [{"rule": "never"}, {"rule": ecv.Never()}, {"expected_loss": 0}]
)
def test_all_folds_run_where_they_are_asked_for(settings):
    ours = ecv.EFoldSearchCV(Ridge(), ALPHAS, **settings).fit(*DIABETES)
    theirs = GridSearchCV(Ridge(), ALPHAS).fit(*DIABETES)
    for key, column in theirs.cv_results_.items():
        if key.endswith("_test_score"):
            assert ours.cv_results_[key].tolist() == column.tolist()
    assert ours.n_folds_used_.tolist() == [5] * 6
    assert ours.folds_saved_ == 0
    assert ours.verdict_ is None
    assert str(theirs.best_params_) in ours.sentence_


def test_folds_in_the_order_of_time_run_by_the_rule_never():
    search = ecv.EFoldSearchCV(Ridge(), ALPHAS, cv=TimeSeriesSplit(3), rule="never")
    assert search.fit(*DIABETES).n_folds_used_.tolist() == [3] * 6


def test_a_line_is_printed_for_each_fold_that_has_run(capsys):
    search = ecv.EFoldSearchCV(Ridge(), ALPHAS, cv=4, verbose=3, return_train_score=True)
    search.fit(*DIABETES)
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("[CV ")]
    assert len(lines) == search.n_folds_used_.sum()
    for line in lines:
        assert re.match(r"\[CV [1-4]/4\] END alpha=\S+; score=\(train=0\.\d+, test=", line)


class Recorder:
    """A callback of scikit-learn's that keeps the names of the tasks, and their weights."""

    def __init__(self):
        self.begun = []
        self.ended = []
        self.rows = []

    def setup(self, estimator, context):
        self.begun.append("setup")

    def teardown(self, estimator, context):
        self.ended.append("teardown")

    def on_fit_task_begin(self, estimator, context, *, X=None, y=None, metadata=None):
        self.begun.append(context.task_name)
        if context.task_name == "candidate-split-evaluation":
            self.rows.append((len(X), len(y), len(metadata["sample_weight"])))

    def on_fit_task_end(self, estimator, context):
        self.ended.append(context.task_name)


def test_callbacks_are_told_of_each_fold_that_runs():
    recorder = Recorder()
    search = ecv.EFoldSearchCV(Ridge(), ALPHAS, cv=FIVE, expected_loss=0.01)
    search.set_callbacks(recorder).fit(*DIABETES, sample_weight=np.ones(442))
    ran = int(search.n_folds_used_.sum())
    assert ran < 30
    folds = ["candidate-split-evaluation"] * ran
    assert recorder.begun == ["setup", "fit", "search", *folds, "refit-with-best-params"]
    assert recorder.ended == [*folds, "search", "refit-with-best-params", "fit", "teardown"]
    assert set(recorder.rows) <= {(353, 353, 353), (354, 354, 354)}
    failing = Recorder()
    search = ecv.EFoldSearchCV(Ridge(), {"alpha": [-1.0]}, error_score="raise")
    with pytest.raises(ValueError, match="alpha"):
        search.set_callbacks(failing).fit(*DIABETES, sample_weight=np.ones(442))
    assert failing.ended == ["teardown"]


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


def test_a_score_of_the_model_itself_is_decided_by_the_folds():
    # No sample moves it, which is no proof that it does not vary: the second wins on average.
    scores = {1.0: [5.0, 1.0, 1.0, 1.0, 1.0], 2.0: [4.9, 3.0, 3.1, 3.0, 3.2]}

    def by_table(model, X, y):
        return scores[model.alpha][model.fold_]

    class Tabled(Picky):
        def fit(self, X, y):
            trained = {tuple(row) for row in X}
            first_held_out = [tuple(DIABETES[0][test[0]]) for _, test in FIVE]
            (self.fold_,) = [at for at, row in enumerate(first_held_out) if row not in trained]
            return super().fit(X, y)

    for seed in range(5):
        options = {"cv": FIVE, "scoring": by_table, "random_state": seed, "refit": False}
        search = ecv.EFoldSearchCV(Tabled(), {"alpha": [1.0, 2.0]}, certain=True, **options)
        assert search.fit(*DIABETES).best_params_ == {"alpha": 2.0}


def own_with_weights(model, X, y, sample_weight=None):
    return float(np.average(model.predict(X) == y, weights=sample_weight))


@pytest.mark.parametrize(
    ("scoring", "refit"),
    [
        (None, True),
        ("accuracy", True),
        ("roc_auc", True),
        (own_with_weights, True),
        (["f1", "neg_log_loss"], "neg_log_loss"),
    ],
)
def test_sample_weight_reaches_the_scorer_as_there(scoring, refit):
    weights = np.random.default_rng(0).random(len(CANCER[1]))
    grid = {"var_smoothing": [1e-9, 1e-3, 1.0]}
    options = {"cv": 4, "scoring": scoring, "refit": refit, "return_train_score": True}
    results = []
    for search in (
        GridSearchCV(GaussianNB(), grid, **options),
        ecv.EFoldSearchCV(GaussianNB(), grid, **SURE, **options),
    ):
        search.fit(*CANCER, sample_weight=weights)
        results.append(search.cv_results_)
    for key, theirs in results[0].items():
        if key.startswith("split"):
            ours = results[1][key]
            there = ~np.isnan(ours)
            assert ours[there] == pytest.approx(theirs[there], rel=1e-12)
            assert there.any()


def test_a_scorer_that_takes_no_weights_is_named_as_there():
    def unweighted(model, X, y):
        return float((model.predict(X) == y).mean())

    weights = np.linspace(1, 2, len(CANCER[1]))
    scores = []
    for search in (GridSearchCV, ecv.EFoldSearchCV):
        with pytest.warns(UserWarning, match="unweighted.* does not support sample_weight"):
            fitted = search(GaussianNB(), {"var_smoothing": [0.1]}, cv=3, scoring=unweighted).fit(
                *CANCER, sample_weight=weights
            )
        scores.append(fitted.best_score_)
    assert scores[0] == scores[1]


def test_a_splitter_may_ask_for_groups_by_another_name():
    groups = np.arange(len(DIABETES[1])) % 30
    with sklearn.config_context(enable_metadata_routing=True):
        splitter = GroupKFold(5).set_split_request(groups="household")
        ours = ecv.EFoldSearchCV(Ridge(), {"alpha": [1.0]}, cv=splitter)
        ours.fit(*DIABETES, household=groups)
        theirs = GridSearchCV(Ridge(), {"alpha": [1.0]}, cv=splitter)
        theirs.fit(*DIABETES, household=groups)
        params = {"household": groups}
        folds = ecv.cross_validate(Ridge(), *DIABETES, cv=splitter, params=params, rule="never")
        scores = cross_val_score(Ridge(), *DIABETES, cv=splitter, params=params)
    assert ours.best_score_ == theirs.best_score_
    assert folds["test_score"].tolist() == scores.tolist()
    assert {fold.users for fold in folds.run.record.folds} == {6}  # households, not rows


@pytest.mark.filterwarnings("ignore:One or more of the test scores")
def test_a_candidate_that_cannot_be_fitted_is_last():
    with pytest.warns(FitFailedWarning):
        search = ecv.EFoldSearchCV(Lasso(), {"alpha": [-1.0, 0.1, 1.0]}, cv=3).fit(*DIABETES)
    assert search.best_params_["alpha"] == 0.1
    assert search.cv_results_["rank_test_score"].tolist()[0] == 3
    assert np.isnan(search.cv_results_["mean_test_score"][0])


class Picky(RegressorMixin, BaseEstimator):
    """A ridge that some rows are needed for: it cannot be fitted, or has no score, without them."""

    def __init__(self, alpha=1.0, needs=(), needs_nan=()):
        self.alpha = alpha
        self.needs = needs
        self.needs_nan = needs_nan

    def fit(self, X, y):
        trained = {tuple(row) for row in X}
        for row in self.needs:
            if tuple(DIABETES[0][row]) not in trained:
                raise ValueError("it did not converge")
        self.blind_ = any(tuple(DIABETES[0][row]) not in trained for row in self.needs_nan)
        self.model_ = Ridge(alpha=self.alpha).fit(X, y)
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def score(self, X, y):
        if self.blind_:
            return float("nan")
        return self.model_.score(X, y)


FIVE = list(KFold(5).split(DIABETES[0]))
LAST_ROW = len(DIABETES[1]) - 1


def without(fold):
    return [FIVE[at] for at in range(5) if at != fold]


@pytest.mark.parametrize("fold", range(5))
@pytest.mark.parametrize("lack", ["needs", "needs_nan"])
def test_a_fold_that_has_no_score_for_anybody_is_left_out(fold, lack):
    row = int(FIVE[fold][1][0])
    grid = {"alpha": [0.05, 0.06, 0.5, 1000.0], lack: [(row,)]}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search = ecv.EFoldSearchCV(Picky(), grid, cv=FIVE, refit=False, **SURE).fit(*DIABETES)
    theirs = GridSearchCV(Picky(), grid, cv=without(fold), refit=False).fit(*DIABETES)
    assert search.best_params_ == theirs.best_params_
    assert search.best_score_ == pytest.approx(theirs.best_score_, rel=1e-12)
    assert f"Fold {fold} has no score of any candidate" in search.sentence_
    assert " in 4 of 5 folds; " in search.sentence_
    assert any(f"Fold {fold} has no score" in str(warning.message) for warning in caught)
    failed = [one for one in caught if one.category is FitFailedWarning]
    assert len(failed) == (lack == "needs")


@pytest.mark.filterwarnings("ignore:One or more of the test scores", "ignore::UserWarning:sklearn")
@pytest.mark.parametrize("fold", range(5))
def test_a_candidate_without_a_score_where_another_has_one_is_out(fold):
    # The two best by far fail in one fold; the third has left by then, and is the best that is in.
    row = int(FIVE[fold][1][0])
    grid = [{"alpha": [0.1, 0.2], "needs_nan": [(row,)]}, {"alpha": [1e5]}]
    options = {"cv": FIVE, "refit": False}
    search = ecv.EFoldSearchCV(Picky(), grid, certain=True, **options).fit(*DIABETES)
    theirs = GridSearchCV(Picky(), grid, **options).fit(*DIABETES)
    assert search.best_index_ == theirs.best_index_ == 2
    assert search.best_score_ == pytest.approx(theirs.best_score_)
    assert np.isnan(search.cv_results_["mean_test_score"]).tolist() == [True, True, False]
    assert search.cv_results_["rank_test_score"].tolist() == [2, 2, 1]


def test_without_any_finite_score_there_is_an_error_and_no_winner():
    def never(model, X, y):
        return float("nan")

    for grid in (ALPHAS, {"alpha": [1.0]}):
        search = ecv.EFoldSearchCV(Ridge(), grid, cv=3, scoring=never)
        with pytest.raises(ValueError, match="finite never in any of the 3 folds"):
            search.fit(*DIABETES)
        assert not hasattr(search, "best_params_")
    # Each of two has no score where the other has one.
    grid = [
        {"alpha": [0.05], "needs_nan": [(0,)]},
        {"alpha": [0.06], "needs_nan": [(LAST_ROW,)]},
    ]
    with pytest.raises(ecv.errors.InputError, match="in a fold where another has one"):
        ecv.EFoldSearchCV(Picky(), grid, cv=FIVE, **SURE).fit(*DIABETES)


def test_where_no_score_is_finite_the_error_of_the_refit_says_why():
    # As scikit-learn's check_dtype_object: GridSearchCV raises it out of its refit.
    X = DIABETES[0].astype(object)
    X[0, 0] = {"foo": "bar"}
    messages = []
    for search in (GridSearchCV, ecv.EFoldSearchCV):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(TypeError) as error:
                search(Ridge(), {"alpha": [0.1, 1.0]}, cv=3).fit(X, DIABETES[1])
        messages.append(str(error.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize("number", [0, -0.5, 1])
def test_a_number_for_failures_counts_in_the_means_as_there(number):
    grid = [{"alpha": [0.05, 0.06], "needs": [(0,), (LAST_ROW,)]}, {"alpha": [0.07, 1e5]}]
    options = {"cv": FIVE, "error_score": number, "refit": False}
    with pytest.warns(FitFailedWarning):
        search = ecv.EFoldSearchCV(Picky(), grid, **SURE, **options).fit(*DIABETES)
    with pytest.warns(FitFailedWarning):
        theirs = GridSearchCV(Picky(), grid, **options).fit(*DIABETES)
    assert search.best_index_ == theirs.best_index_
    assert search.best_score_ == pytest.approx(theirs.best_score_)
    for fold in range(5):
        mine = search.cv_results_[f"split{fold}_test_score"]
        there = ~np.isnan(mine)
        assert mine[there].tolist() == theirs.cv_results_[f"split{fold}_test_score"][there].tolist()
    assert "no score" not in search.sentence_


def test_a_second_score_that_is_not_a_number_changes_nothing_but_its_own_mean():
    def sometimes(model, X, y):
        return float("nan") if X[0, 0] == DIABETES[0][0, 0] else 1.0

    options = {"cv": FIVE, "scoring": {"r2": "r2", "sometimes": sometimes}, "refit": "r2"}
    with pytest.warns(UserWarning, match="One or more of the test scores are non-finite"):
        search = ecv.EFoldSearchCV(Ridge(), ALPHAS, certain=True, **options).fit(*DIABETES)
    plain = ecv.EFoldSearchCV(Ridge(), ALPHAS, certain=True, cv=FIVE).fit(*DIABETES)
    assert search.best_params_ == plain.best_params_
    assert search.n_folds_used_.tolist() == plain.n_folds_used_.tolist()
    assert np.isnan(search.cv_results_["mean_test_sometimes"][search.best_index_])


def test_of_candidates_that_tie_the_first_is_best_as_there():
    for alphas, ranks in (([0.1, 0.1, 0.1], [1, 1, 1]), ([1e5, 0.1, 0.1], None)):
        ours = ecv.EFoldSearchCV(Ridge(), {"alpha": alphas}, cv=FIVE, **SURE).fit(*DIABETES)
        theirs = GridSearchCV(Ridge(), {"alpha": alphas}, cv=FIVE).fit(*DIABETES)
        assert ours.best_index_ == theirs.best_index_
        if ranks:
            assert ours.cv_results_["rank_test_score"].tolist() == ranks


def test_a_fit_that_gives_nothing_back_is_no_matter():
    class Silent(Picky):
        def fit(self, X, y):
            super().fit(X, y)

    search = ecv.EFoldSearchCV(Silent(), {"alpha": [0.1, 1.0]}, cv=3).fit(*DIABETES)
    assert search.predict(DIABETES[0]).shape == (442,)


def test_a_refit_that_no_score_is_called_is_scikit_learns_error():
    with pytest.raises(ValueError, match="refit must be set to a scorer key"):
        ecv.EFoldSearchCV(Ridge(), ALPHAS, cv=3, scoring=two_scores, refit="left").fit(*DIABETES)


def test_each_score_has_ranks_of_its_own():
    # Both fits are all folds, so means are scikit-learn's.
    options = {"cv": FIVE, "scoring": ["r2", "neg_max_error"], "refit": "r2"}
    grid = {"alpha": [0.05, 0.06]}
    ours = ecv.EFoldSearchCV(Ridge(), grid, **SURE, **options).fit(*DIABETES)
    theirs = GridSearchCV(Ridge(), grid, **options).fit(*DIABETES)
    assert ours.n_folds_used_.tolist() == [5, 5]
    for key in ("rank_test_r2", "rank_test_neg_max_error"):
        assert ours.cv_results_[key].tolist() == theirs.cv_results_[key].tolist()
    assert theirs.cv_results_[key].tolist() != theirs.cv_results_["rank_test_r2"].tolist()


@pytest.mark.filterwarnings("ignore:One or more of the test scores", "ignore:Fold")
def test_failed_fits_are_told_in_scikit_learns_words():
    grid = {"alpha": [0.05, 0.06]}
    messages = []
    for search in (
        GridSearchCV(Picky(needs=(0,)), grid, cv=FIVE[:3], refit=False),
        ecv.EFoldSearchCV(Picky(needs=(0,)), grid, cv=FIVE[:3], refit=False, **SURE),
    ):
        with pytest.warns(FitFailedWarning, match="2 fits failed out of a total of 6") as caught:
            search.fit(*DIABETES)
        messages += [str(one.message) for one in caught if one.category is FitFailedWarning]
    # scikit-learn fits in two lines of its own: with callbacks in a search, and without.
    theirs, ours = (re.sub(r"line \d+, in _fit", "line, in _fit", text) for text in messages)
    assert ours == theirs


SIX = list(KFold(6).split(np.arange(60)))


class FromTable(BaseEstimator):
    """Has a score of a table in each fold; minus infinity: it cannot be fitted there."""

    def __init__(self, row=0, table=None):
        self.row = row
        self.table = table

    def fit(self, X, y=None):
        missing = set(range(60)) - set(X[:, 0].astype(int))
        fold = min(missing) // 10 if missing else 0
        self.score_ = self.table[self.row][fold]
        if self.score_ == -np.inf:
            raise ValueError("it did not converge")
        return self

    def score(self, X, y=None):
        return self.score_


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(20))
def test_any_scores_with_holes_give_the_best_of_those_that_can_be_compared(seed):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(5, 6)) + 0.3 * rng.normal(size=(5, 1))
    for fold in np.flatnonzero(rng.random(6) < 0.25):
        table[:, fold] = rng.choice([np.nan, -np.inf])
    for row in np.flatnonzero(rng.random(5) < 0.3):
        table[row, rng.integers(6)] = rng.choice([np.nan, -np.inf])
    # Worked out from the whole table: folds that somebody has a score of, and who has one in all.
    finite = np.isfinite(table)
    folds = finite.any(axis=0)
    comparable = np.flatnonzero(finite[:, folds].all(axis=1))
    search = ecv.EFoldSearchCV(
        FromTable(table=table.tolist()),
        {"row": [0, 1, 2, 3, 4]},
        cv=SIX,
        refit=False,
        random_state=seed,
        **SURE,
    )
    if not folds.any() or not len(comparable):
        with pytest.raises(ValueError, match=r"finite|fits failed"):
            search.fit(np.arange(60)[:, None])
        return
    means = table[:, folds][comparable].mean(axis=1)
    search.fit(np.arange(60)[:, None])
    assert search.best_index_ == comparable[means.argmax()]
    assert search.best_score_ == pytest.approx(means.max())
    for fold in np.flatnonzero(~folds):
        assert f"{fold}" in search.sentence_.partition("Fold")[2]


def test_what_refit_gives_has_to_be_a_candidate():
    for index, error in ((-1, IndexError), (2, IndexError), (None, TypeError), ("0", TypeError)):
        with pytest.raises(error, match="best_index_"):
            ecv.EFoldSearchCV(
                Ridge(), {"alpha": [0.1, 1.0]}, cv=3, refit=lambda results, index=index: index
            ).fit(*DIABETES)


@pytest.mark.parametrize("shape", ["column", "frame"])
def test_targets_in_one_column_are_as_a_list_of_them(shape):
    pandas = pytest.importorskip("pandas")
    X, y = CANCER
    targets = {"column": y.reshape(-1, 1), "frame": pandas.DataFrame({"target": y})}[shape]
    model = make_pipeline(StandardScaler(), LogisticRegression())
    grid = {"logisticregression__C": [1e-4, 0.01, 1.0]}
    plain = ecv.EFoldSearchCV(model, grid).fit(X, y)
    with pytest.warns(DataConversionWarning):
        search = ecv.EFoldSearchCV(model, grid).fit(X, targets)
    assert search.sentence_ == plain.sentence_
    assert search.n_folds_used_.tolist() == plain.n_folds_used_.tolist()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"cv": TimeSeriesSplit(3)}, "come in the order of time"),
        ({"expected_loss": 2}, "expected loss is a share"),
        ({"confidence": "high"}, "confidence of search_terms is a number, but is 'high'"),
        ({"refit": 3}, "refit is True, False, a scorer's name or a function, but is 3"),
        ({"rule": "precision"}, "the rule of a search is 'never' or None"),
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
        with pytest.raises(ValueError, match=sentence):
            ecv.EFoldSearchCV(**given).fit(*DIABETES)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [Ridge(), LogisticRegression()])
@pytest.mark.parametrize(
    "searches",
    [(GridSearchCV, ecv.EFoldSearchCV), (RandomizedSearchCV, ecv.EFoldRandomizedSearchCV)],
)
def test_it_passes_what_scikit_learns_search_passes(estimator, searches):
    grid = {"alpha" if isinstance(estimator, Ridge) else "C": [0.1, 1.0]}
    failed = []
    for search in searches:
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


@pytest.mark.parametrize("scoring", ["accuracy", "f1", "roc_auc", "balanced_accuracy"])
@pytest.mark.parametrize("in_groups", [False, True])
def test_candidates_that_agree_in_the_first_fold_are_not_told_to_tie(scoring, in_groups):
    X, y = make_classification(300, class_sep=2.0, random_state=0)
    fit_params = {}
    splits = StratifiedKFold(5)
    if in_groups:
        fit_params["groups"] = np.repeat(np.arange(30), 10)
        splits = GroupKFold(5)
    grid = {"C": [0.1, 0.1000001, 10]}
    search = ecv.EFoldSearchCV(LogisticRegression(), grid, scoring=scoring, cv=splits, certain=True)
    search.fit(X, y, **fit_params)
    assert search.n_folds_used_[:2].min() > 1


def fold_of(values, *, largest_move):
    """A fold whose samples have these values."""
    samples = SampleValues(
        units=np.arange(len(values)), values=np.array(values), largest_move=largest_move
    )
    results = {"test_score": np.array([np.mean(values)])}
    return Scored(results=results, samples=samples, seconds=0.0)


def test_samples_predicted_alike_tell_that_half_a_sample_may_not_be():
    alike = {0: fold_of([1.0, 0.0, 1.0, 1.0], largest_move=3.0)}
    differences = SampleDifferences([alike, alike], [(), ()], held_out_once=True)
    # Half a sample that moves by 3 has a square of 4.5, over 3 degrees of freedom and 4 samples.
    assert differences.between(0, 1, 0b1).user_variance == pytest.approx(4.5 / 3 / 4)


def test_to_be_certain_one_more_sample_is_expected_than_has_differed():
    first = {0: fold_of([1.0, 0.0, 1.0, 1.0], largest_move=2.0)}
    second = {0: fold_of([1.0, 0.0, 1.0, 0.0], largest_move=2.0)}
    # Of the differences 0, 0, 0, 1 the squares about 1/4 are 3/4; one more sample has 4.
    for certain, squares in ((False, 2.0), (True, 4.75)):
        differences = SampleDifferences(
            [first, second], [(), ()], held_out_once=True, certain=certain
        )
        assert differences.between(0, 1, 0b1).user_variance == pytest.approx(squares / 3 / 4)


def test_a_calm_fold_is_no_proof_against_a_sample_that_moves_far():
    first = {0: fold_of([0.1, 0.2, 0.1, 0.2], largest_move=36.0)}
    second = {0: fold_of([0.2, 0.2, 0.2, 0.2], largest_move=0.2)}
    differences = SampleDifferences([first, second], [(), ()], held_out_once=True)
    assert differences.between(0, 1, 0b1).user_variance == pytest.approx(36**2 / 2 / 3 / 4)


def test_repeated_splits_prove_no_more_against_a_sample_that_moves_far():
    def variance(move, *, certain):
        first = {fold: fold_of([0.1, 0.2, 0.1, 0.2], largest_move=move) for fold in range(3)}
        second = {fold: fold_of([0.2, 0.2, 0.2, 0.3], largest_move=0.2) for fold in range(3)}
        differences = SampleDifferences(
            [first, second], [(), ()], held_out_once=False, certain=certain
        )
        return differences.between(0, 1, 0b111).user_variance

    # The same four samples in three folds: one that moves by 36 counts once, over 3 and 4.
    assert variance(36.0, certain=False) == pytest.approx(36**2 / 2 / 3 / 4)
    seen = variance(0.2, certain=True) - 0.2**2 / 3 / 4
    assert variance(36.0, certain=True) == pytest.approx(seen + 36**2 / 3 / 4)


def test_where_nothing_is_known_of_samples_that_agree_folds_have_to_tell():
    alike = {0: fold_of([1.5, 0.5, 2.0], largest_move=0.0)}
    differences = SampleDifferences([alike, alike], [(), ()], held_out_once=True)
    assert np.isnan(differences.between(0, 1, 0b1).user_variance)


def test_of_predicted_numbers_nothing_is_certain_before_all_folds_have_run():
    search = ecv.EFoldSearchCV(Ridge(), ALPHAS, cv=10, certain=True).fit(*DIABETES)
    assert search.n_folds_used_.tolist() == [10] * 6
    assert "This score has no bound" in search.sentence_
    usual = ecv.EFoldSearchCV(Ridge(), ALPHAS, cv=10).fit(*DIABETES)
    assert usual.n_folds_used_.sum() < 60
    assert "This score has no bound" in usual.sentence_
    assert "expected to be lost" not in usual.sentence_


def test_of_log_loss_it_can_be_certain_who_is_best_but_no_loss_is_said_to_be_expected():
    settings = {"scoring": "neg_log_loss", "cv": 5}
    usual = ecv.EFoldSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1.0]}, **settings)
    assert "This score has no bound" in usual.fit(*CANCER).sentence_
    sure = ecv.EFoldSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1.0]}, certain=True, **settings)
    assert "This score has no bound" not in sure.fit(*CANCER).sentence_


def test_the_verdict_is_of_the_best_whatever_a_function_refit_takes():
    X, y = make_classification(120, n_features=6, flip_y=0.1, random_state=0)
    grid = {"C": [0.001, 0.1, 10]}
    search = ecv.EFoldSearchCV(LogisticRegression(), grid, cv=5)
    best = search.fit(X, y).best_params_
    verdict = search.sentence_
    search.set_params(refit=lambda results: int(np.argmin(results["mean_test_score"]))).fit(X, y)
    assert search.best_params_ == {"C": 0.001} != best
    assert search.sentence_.startswith(f"{verdict} Your function refit took {{'C': 0.001}}, 0.")
    search.set_params(rule="never").fit(X, y)
    assert "refit took {'C': 0.001}" in search.sentence_


def test_a_search_for_the_highest_error_is_warned_of():
    X, y = load_diabetes(return_X_y=True)
    grid = {"alpha": [0.1, 10.0]}
    error = make_scorer(mean_squared_error)
    with pytest.warns(UserWarning, match="highest mean_squared_error, although") as warned:
        ecv.EFoldSearchCV(Ridge(), grid, cv=3, scoring=error).fit(X, y)
    assert warned[0].filename == __file__
    negated = make_scorer(mean_squared_error, greater_is_better=False)
    ecv.EFoldSearchCV(Ridge(), grid, cv=3, scoring=negated).fit(X, y)  # a warning is an error here
