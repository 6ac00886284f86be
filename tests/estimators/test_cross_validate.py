"""`ecv.cross_validate` beside scikit-learn's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn")
import joblib
import sklearn
from sklearn import model_selection
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GroupKFold, KFold, RepeatedKFold, TimeSeriesSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import ecv_core as ecv

CANCER = load_breast_cancer(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
PIPELINE = make_pipeline(StandardScaler(), LogisticRegression())


@pytest.mark.parametrize(
    ("estimator", "data", "options"),
    [
        (PIPELINE, CANCER, {}),
        (KNeighborsClassifier(), CANCER, {"scoring": "neg_log_loss", "cv": 5}),
        (DecisionTreeClassifier(random_state=3), CANCER, {"scoring": ["f1", "roc_auc"]}),
        (DummyClassifier(strategy="stratified", random_state=0), CANCER, {}),
        (Ridge(), DIABETES, {"cv": RepeatedKFold(n_splits=4, n_repeats=2, random_state=1)}),
        (Ridge(), DIABETES, {"return_train_score": True, "return_indices": True, "cv": 4}),
        (
            Ridge(),
            DIABETES,
            {"cv": GroupKFold(5), "groups": DIABETES[1] % 17, "scoring": {"a": "r2"}},
        ),
        (
            Ridge(),
            DIABETES,
            {"params": {"sample_weight": np.linspace(1, 2, len(DIABETES[1]))}, "cv": 3},
        ),
    ],
)
def test_all_folds_are_scikit_learns_to_the_last_bit(estimator, data, options):
    ours = ecv.cross_validate(estimator, *data, rule=ecv.Never(), **options)
    theirs = model_selection.cross_validate(estimator, *data, **{"cv": 10, **options})
    assert set(ours) == {*theirs, "fold"}
    for key in theirs:
        if key.startswith(("test_", "train_")):
            assert ours[key].tolist() == theirs[key].tolist()
        elif key == "indices":
            assert all(map(np.array_equal, ours[key]["test"], theirs[key]["test"]))


def two_scores(model, X, y):
    return {"right": model.score(X, y), "one": 1.0}


def test_a_function_may_give_several_scores_of_which_the_first_decides():
    ours = ecv.cross_validate(Ridge(), *DIABETES, cv=4, scoring=two_scores, rule=ecv.Never())
    theirs = model_selection.cross_validate(Ridge(), *DIABETES, cv=4, scoring=two_scores)
    assert set(ours) == {*theirs, "fold"}
    assert ours["test_right"].tolist() == theirs["test_right"].tolist()
    assert sorted(ours.run.scores) == sorted(theirs["test_right"])


def broken(model, X, y):
    raise RuntimeError("no score")


def test_a_scorer_that_fails_gives_the_error_score_as_there():
    options = {"cv": 3, "scoring": {"r2": "r2", "broken": broken}}
    with pytest.warns(UserWarning, match="Scoring failed"):
        found = ecv.cross_validate(Ridge(), *DIABETES, error_score=0.5, rule=ecv.Never(), **options)
    assert found["test_broken"].tolist() == [0.5] * 3
    with pytest.warns(UserWarning, match="Scoring failed"):
        alone = ecv.cross_validate(Ridge(), *DIABETES, cv=3, scoring=broken, rule=ecv.Never())
    assert np.isnan(alone["test_score"]).all()
    with pytest.raises(RuntimeError, match="no score"):
        ecv.cross_validate(Ridge(), *DIABETES, error_score="raise", **options)


def test_a_function_scores_where_metadata_are_routed():
    def negative_size(model, X, y):
        return -float(np.abs(model.predict(X) - y).mean())

    with sklearn.config_context(enable_metadata_routing=True):
        routed = ecv.cross_validate(
            Ridge(), *DIABETES, cv=3, scoring=negative_size, rule=ecv.Never(), pre_dispatch="all"
        )
    plain = model_selection.cross_validate(
        Ridge(), *DIABETES, cv=3, scoring="neg_mean_absolute_error"
    )
    assert routed["test_score"] == pytest.approx(plain["test_score"])


def test_one_job_is_one_job_whatever_joblib_is_set_to():
    with joblib.parallel_config(n_jobs=2):
        found = ecv.cross_validate(Ridge(), *DIABETES, cv=4, rule=ecv.Precision(0.3), n_jobs=1)
    assert found.run.stopped_at == 3  # samples were asked here, as below
    assert ecv.cross_validate(Ridge(), *DIABETES, cv=4, rule=ecv.Precision(0.3)).run.stopped_at == 3


def test_it_stops_and_says_so_of_what():
    found = ecv.cross_validate(PIPELINE, *CANCER, rule=ecv.Precision(0.03), return_estimator=True)
    used = len(found["test_score"])
    assert used < 10
    assert found.run.stopped_at == used == len(found["estimator"]) == len(found["fold"])
    assert f"{found}" == found.sentence
    assert found.sentence.startswith(
        f"Pipeline, accuracy on 569 x 30 in memory: Stopped after {used} of 10 folds: the mean, "
    )
    whole = model_selection.cross_validate(PIPELINE, *CANCER, cv=10)["test_score"]
    assert found["test_score"].tolist() == whole[found["fold"]].tolist()
    assert found.run.interval[0] <= whole.mean() <= found.run.interval[1]


def test_folds_run_in_an_order_drawn_by_chance():
    orders = {
        ecv.cross_validate(Ridge(), *DIABETES, rule="never", fold_order=seed).run.spec.only_folds
        for seed in (0, 1)
    }
    assert len(orders) == 2
    assert all(sorted(order) == list(range(10)) for order in orders)
    plain = ecv.cross_validate(Ridge(), *DIABETES, rule="never", fold_order=None)
    assert plain.run.spec.fold_order == tuple(range(10))


def test_groups_of_a_grouped_splitter_take_the_place_of_users():
    groups = np.arange(len(DIABETES[1])) % 40
    found = ecv.cross_validate(
        Ridge(), *DIABETES, cv=GroupKFold(10), groups=groups, rule=ecv.Precision(0.5)
    )
    assert {fold.users for fold in found.run.record.folds} == {4}
    with pytest.warns(UserWarning, match="groups parameter is ignored by KFold"):
        spread = ecv.cross_validate(Ridge(), *DIABETES, cv=KFold(10), groups=groups, rule="never")
    assert min(fold.users for fold in spread.run.record.folds) == 44  # groups are on both sides


@pytest.mark.slow
def test_several_jobs_find_the_same():
    one, two = (
        ecv.cross_validate(PIPELINE, *CANCER, rule=ecv.Precision(0.03), n_jobs=jobs)
        for jobs in (None, 2)
    )
    assert one["test_score"].tolist() == two["test_score"].tolist()
    assert one.sentence == two.sentence


@pytest.mark.slow
def test_samples_tell_as_much_on_dasks_workers():
    distributed = pytest.importorskip("distributed")
    usual = ecv.cross_validate(PIPELINE, *CANCER, rule=ecv.Precision(0.03))
    search = ecv.EFoldSearchCV(Ridge(), {"alpha": [0.1, 1.0, 10.0]})
    folds = search.fit(*DIABETES).n_folds_used_.tolist()
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=None) as site,
        distributed.Client(site),
        joblib.parallel_config("dask"),
    ):
        found = ecv.cross_validate(PIPELINE, *CANCER, rule=ecv.Precision(0.03), n_jobs=2)
        assert found.sentence == usual.sentence
        assert search.set_params(n_jobs=2).fit(*DIABETES).n_folds_used_.tolist() == folds


def test_any_rule_stops_it():
    class Two:
        def decide(self, results):
            return ecv.Decision(stop=len(results) == 2, reason="Two are enough.")

    assert len(ecv.cross_validate(Ridge(), *DIABETES, rule=Two())["test_score"]) == 2
    assert len(ecv.cross_validate(Ridge(), *DIABETES, rule=ecv.Fixed(folds=4))["fold"]) == 4
    assert ecv.cross_validate(Ridge(), *DIABETES, rule=ecv.EFold(alpha=1.0)).run.stopped_at == 3


def test_a_scorer_that_samples_tell_nothing_of_goes_with_rules_of_fold_scores():
    def size(model, X, y):
        return float(np.abs(model.coef_).sum() + X.shape[1])

    with pytest.raises(ecv.errors.InputError, match="tell nothing of the score 'size'"):
        ecv.cross_validate(Ridge(), *DIABETES, scoring=size)
    found = ecv.cross_validate(Ridge(), *DIABETES, scoring=size, rule=ecv.EFold(alpha=1e12))
    assert found.run.stopped_at == 3


class Fails(ClassifierMixin, BaseEstimator):
    """Cannot be fitted without one of the samples."""

    def fit(self, X, y):
        if not (CANCER[0][0] == X).all(axis=1).any():
            raise ValueError("where is the first sample?")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.ones(len(X), int)


def test_a_fit_that_fails_is_said_and_has_no_score():
    splitter = KFold(5)
    with pytest.warns(FitFailedWarning, match="1 fits failed out of a total of 5"):
        found = ecv.cross_validate(Fails(), *CANCER, cv=splitter, rule=ecv.Never())
    assert np.isnan(found["test_score"]).tolist() == [True, False, False, False, False]
    assert "Fold 0 has no score" in found.sentence
    with pytest.raises(ValueError, match="where is the first sample"):
        ecv.cross_validate(Fails(), *CANCER, cv=splitter, error_score="raise")


def test_all_folds_without_a_score_are_named():
    by_class = load_iris(return_X_y=True)  # sorted: the first two folds learn from one class alone
    with pytest.warns(FitFailedWarning):
        found = ecv.cross_validate(SVC(), *by_class, cv=TimeSeriesSplit(5), rule=ecv.Never())
    assert np.isnan(found["test_score"]).tolist() == [True, True, False, False, False]
    assert found.sentence.endswith("Folds 0 and 1 have no score, so the rule did not see them.")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"cv": 1}, "n_splits=2 or more"),
        ({"estimator": object()}, "must be an object implementing 'fit'"),
        ({"scoring": lambda *_: "good"}, r"scoring must return a number, got good.*<lambda> at"),
        ({"scoring": "goodness"}, "goodness"),
        ({"y": np.where(np.arange(569) < 9, np.nan, CANCER[1])}, "NaN"),
        ({"y": np.zeros(569, int)}, "at least 2 classes|1 class|greater than one"),
        ({"cv": TimeSeriesSplit(4)}, "come in the order of time and their scores may drift"),
        ({"cv": [(np.arange(400), np.arange(400, 569))]}, "one fold gives a single score"),
        ({"rule": "sometimes"}, "sometimes"),
    ],
)
def test_bad_input_is_one_error(options, sentence):
    given = {"estimator": PIPELINE, "X": CANCER[0], "y": CANCER[1], **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises((ValueError, TypeError, ecv.errors.InputError), match=sentence):
            ecv.cross_validate(given.pop("estimator"), given.pop("X"), given.pop("y"), **given)


def test_time_series_run_whole():
    found = ecv.cross_validate(Ridge(), *DIABETES, cv=TimeSeriesSplit(4), rule=ecv.Never())
    assert found["fold"].tolist() == [0, 1, 2, 3]
    assert found.run.spec.fold_order == (0, 1, 2, 3)


def test_it_is_kept_as_it_goes_on():
    seen = []
    kept, plain = (
        ecv.cross_validate(
            PIPELINE,
            *CANCER,
            rule=ecv.Precision(0.03),
            keep=keep,
            name="my pipeline",
            dataset="cancer",
            on_fold=lambda run: seen.append(len(run.scores)),
        )
        for keep in (True, False)
    )
    (found,) = ecv.runs()
    assert found.run_id == kept.run.run_id
    assert (found.spec.algorithm, found.spec.dataset) == ("my pipeline", "cancer")
    assert found.record.state.value == "finished"
    assert (found.scores, found.stopped_at) == (plain.run.scores, plain.run.stopped_at)
    assert [one.decision for one in found.record.moments] == [
        one.decision for one in plain.run.record.moments
    ]
    assert seen == [*range(1, len(found.scores) + 1)] * 2
    assert kept.sentence.startswith("my pipeline, accuracy on cancer: Stopped after ")


def test_what_fails_leaves_a_run_that_says_so():
    with pytest.raises(ValueError, match="where is the first sample"):
        ecv.cross_validate(Fails(), *CANCER, cv=KFold(5), error_score="raise", keep=True)
    (found,) = ecv.runs()
    assert found.record.state.value == "interrupted"
    assert "where is the first sample" in found.record.error
