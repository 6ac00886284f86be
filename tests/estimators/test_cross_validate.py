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
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.exceptions import DataConversionWarning, FitFailedWarning
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
    theirs = model_selection.cross_validate(estimator, *data, **options)
    assert set(ours) == set(theirs)
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
    assert set(ours) == set(theirs)
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


def test_groups_have_to_be_routed_where_metadata_are():
    with sklearn.config_context(enable_metadata_routing=True):
        for function in (ecv.cross_validate, model_selection.cross_validate):
            with pytest.raises(ValueError, match="`groups` can only be passed if"):
                function(Ridge(), *DIABETES, cv=GroupKFold(3), groups=[])


def test_one_job_is_one_job_whatever_joblib_is_set_to():
    with joblib.parallel_config(n_jobs=2):
        found = ecv.cross_validate(Ridge(), *DIABETES, cv=4, rule=ecv.Precision(0.3), n_jobs=1)
    assert found.run.stopped_at == 3  # samples were asked here, as below
    assert ecv.cross_validate(Ridge(), *DIABETES, cv=4, rule=ecv.Precision(0.3)).run.stopped_at == 3


def test_it_stops_and_says_so_of_what():
    options = {"cv": 10, "rule": ecv.Precision(0.03), "return_estimator": True}
    found = ecv.cross_validate(PIPELINE, *CANCER, **options)
    used = len(found["test_score"])
    assert used < 10
    assert found.run.stopped_at == used == len(found["estimator"]) == len(found.folds)
    assert f"{found}" == found.sentence
    assert found.sentence.startswith(
        f"Pipeline, accuracy on 569 x 30 in memory: Stopped after {used} of 10 folds: the mean, "
    )
    whole = model_selection.cross_validate(PIPELINE, *CANCER, cv=10)["test_score"]
    assert found["test_score"].tolist() == whole[found.folds].tolist()
    assert found.run.interval[0] <= whole.mean() <= found.run.interval[1]


def test_folds_run_in_an_order_drawn_by_chance():
    orders = {
        ecv.cross_validate(Ridge(), *DIABETES, rule="never", fold_order=seed).run.spec.only_folds
        for seed in (0, 1)
    }
    assert len(orders) == 2
    assert all(sorted(order) == list(range(5)) for order in orders)
    plain = ecv.cross_validate(Ridge(), *DIABETES, rule="never", fold_order=None)
    assert plain.run.spec.fold_order == tuple(range(5))


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
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, dashboard_address="127.0.0.1:0"
        ) as site,
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
    assert len(ecv.cross_validate(Ridge(), *DIABETES, rule=ecv.Fixed(folds=4)).folds) == 4
    assert ecv.cross_validate(Ridge(), *DIABETES, rule=ecv.EFold(alpha=1.0)).run.stopped_at == 3


def test_a_scorer_that_samples_tell_nothing_of_goes_with_rules_of_fold_scores():
    def size(model, X, y):
        return float(np.abs(model.coef_).sum() + X.shape[1])

    with pytest.warns(UserWarning, match="tell nothing of the score 'size'") as caught:
        found = ecv.cross_validate(Ridge(), *DIABETES, scoring=size, rule=ecv.Precision(0.5))
    assert len(caught) == 1
    assert len(found.folds) == 5
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


class FailsWithout(ClassifierMixin, BaseEstimator):
    """A logistic regression that cannot be fitted without some of the samples."""

    def __init__(self, rows=()):
        self.rows = rows

    def fit(self, X, y):
        for row in self.rows:
            if not (CANCER[0][row] == X).all(axis=1).any():
                raise ValueError(f"where is the sample {row % 2}?")
        self.model_ = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)


@pytest.mark.parametrize("number", [0, -1.5, 1])
def test_a_number_for_failures_counts_everywhere(number):
    options = {"cv": KFold(5), "error_score": number}
    with pytest.warns(FitFailedWarning):
        theirs = model_selection.cross_validate(FailsWithout((0,)), *CANCER, **options)
    with pytest.warns(FitFailedWarning):
        ours = ecv.cross_validate(
            FailsWithout((0,)), *CANCER, rule=ecv.Never(), fold_order=None, **options
        )
    assert ours["test_score"].tolist() == theirs["test_score"].tolist()
    assert ours["test_score"][0] == number
    assert ours.run.mean == pytest.approx(theirs["test_score"].mean(), rel=1e-12)
    assert sorted(ours.run.scores) == sorted(theirs["test_score"])
    assert "no score" not in ours.sentence


def test_a_number_for_failures_does_not_stop_a_rule_by_itself():
    # Folds 0 to 2 fail: three zeros in a row would be as precise as can be.
    rows = (0, 150, 300)
    with pytest.warns(FitFailedWarning, match="3 fits failed out of a total of 5"):
        found = ecv.cross_validate(
            FailsWithout(rows),
            *CANCER,
            cv=KFold(5),
            error_score=0,
            fold_order=None,
            rule=ecv.Precision(0.02),
        )
    assert (found["test_score"] == 0).tolist() == [True, True, True, False, False]
    assert found.run.mean == pytest.approx(found["test_score"].mean())


def test_a_scorer_that_fails_in_one_fold_counts_the_number_too():
    def broken_once(model, X, y):
        if np.array_equal(X[0], CANCER[0][0]):
            raise RuntimeError("not on these")
        return float((model.predict(X) == y).mean())

    options = {"cv": KFold(5), "error_score": 0.25, "scoring": broken_once}
    with pytest.warns(UserWarning, match="Scoring failed"):
        ours = ecv.cross_validate(PIPELINE, *CANCER, rule=ecv.Precision(1e-6), **options)
    assert ours["test_score"][0] == 0.25
    assert ours.run.mean == pytest.approx(ours["test_score"].mean())


@pytest.mark.parametrize("rows", [(0,), (0, 401), (0, 150, 301)])
def test_failed_fits_are_told_in_scikit_learns_words(rows):
    messages = []
    for function, options in ((model_selection, {}), (ecv, {"rule": "never", "fold_order": None})):
        with pytest.warns(FitFailedWarning) as caught:
            function.cross_validate(FailsWithout(rows), *CANCER, cv=KFold(5), **options)
        (warning,) = [one for one in caught if one.category is FitFailedWarning]
        messages.append(str(warning.message))
    assert messages[0] == messages[1]


@pytest.mark.parametrize("error_score", [float("nan"), 0])
def test_where_every_fit_fails_the_error_is_scikit_learns(error_score):
    rows = (0, 100, 200, 300, 400, 500)
    options = {"cv": KFold(5), "error_score": error_score}
    messages = []
    for function, more in ((model_selection, {}), (ecv, {"rule": ecv.Precision(0.02)})):
        with pytest.raises(ValueError, match="All the 5 fits failed") as error:
            function.cross_validate(FailsWithout(rows), *CANCER, **options, **more)
        messages.append(sorted(str(error.value).splitlines()))
    assert messages[0] == messages[1]  # folds run in another order, and so do tracebacks


@pytest.mark.parametrize("shape", ["column", "frame", "series", "list", "text"])
@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc", None])
def test_targets_are_brought_into_shape_before_samples_are_asked(shape, scoring):
    pandas = pytest.importorskip("pandas")
    X, y = CANCER
    targets = {
        "column": y.reshape(-1, 1),
        "frame": pandas.DataFrame({"target": y}, index=range(5, 574)),
        "series": pandas.Series(y, index=range(5, 574)),
        "list": y.tolist(),
        "text": np.array(["no", "yes"], dtype=object)[y].reshape(-1, 1),
    }[shape]
    options = {"cv": 5, "scoring": scoring}
    plain = ecv.cross_validate(PIPELINE, X, y, rule=ecv.Precision(0.05), **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = ecv.cross_validate(PIPELINE, X, targets, rule=ecv.Precision(0.05), **options)
        theirs = model_selection.cross_validate(PIPELINE, X, targets, **options)["test_score"]
    assert found.sentence == plain.sentence
    assert found["test_score"].tolist() == theirs[found.folds].tolist()
    assert any(one.category is DataConversionWarning for one in caught) == (
        shape in ("column", "frame", "text")
    )


def test_targets_of_several_labels_stay_as_they_are():
    X, y = CANCER
    labels = np.column_stack([y, X[:, 0] > X[:, 0].mean()]).astype(int)
    ours = ecv.cross_validate(KNeighborsClassifier(), X, labels, cv=3, rule=ecv.Never())
    theirs = model_selection.cross_validate(KNeighborsClassifier(), X, labels, cv=3)
    assert ours["test_score"].tolist() == theirs["test_score"].tolist()


@pytest.mark.parametrize("estimator", [KMeans(2, n_init=1, random_state=0), PCA(2)])
def test_estimators_without_targets_run_all_folds(estimator):
    options = {"cv": KFold(4)}
    with pytest.warns(UserWarning, match="so all folds run"):
        ours = ecv.cross_validate(estimator, CANCER[0], rule=ecv.Precision(0.5), **options)
    theirs = model_selection.cross_validate(estimator, CANCER[0], **options)
    assert ours["test_score"].tolist() == theirs["test_score"].tolist()
    assert ours.run.mean == pytest.approx(theirs["test_score"].mean())


def test_a_scorer_is_called_once_a_fold_unless_a_rule_looks_at_samples():
    calls = []

    def counted(model, X, y):
        calls.append(len(y))
        return float((model.predict(X) == y).mean())

    for rule in (ecv.Never(), ecv.Fixed(folds=3), ecv.EFold(alpha=1e-9)):
        calls.clear()
        found = ecv.cross_validate(PIPELINE, *CANCER, cv=4, scoring=counted, rule=rule)
        assert len(calls) == len(found.folds)
    calls.clear()
    ecv.cross_validate(PIPELINE, *CANCER, cv=4, scoring=counted, rule=ecv.Precision(0.2))
    assert len(calls) > 4


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


def test_squared_errors_of_large_targets_are_scores_up_to_1e30():
    X, y = np.zeros((8, 1)), np.array([0.0, 2e9] * 4)
    options = {"cv": KFold(4), "scoring": "neg_mean_squared_error", "rule": ecv.Never()}
    outcome = ecv.cross_validate(DummyRegressor(), X, y, **options)
    assert outcome.run.mean == pytest.approx(-1e18)  # each row is 1e9 from the mean of the others
    with pytest.raises(ecv.errors.InputError, match=r"fold . is -1e\+32, but no score is"):
        ecv.cross_validate(DummyRegressor(), X, 1e7 * y, **options)


def test_time_series_run_whole():
    found = ecv.cross_validate(Ridge(), *DIABETES, cv=TimeSeriesSplit(4), rule=ecv.Never())
    assert found.folds.tolist() == [0, 1, 2, 3]
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


def test_without_any_score_the_sentence_says_so_and_no_more():
    X, y = load_iris(return_X_y=True)
    folds = ecv.cross_validate(
        DummyClassifier(), X, y, cv=3, rule=ecv.Never(), scoring=lambda *_: np.nan
    )
    assert folds.sentence.endswith("No fold of 3 is finished. No fold has a finite score.")


def test_a_fold_that_holds_nothing_out_has_no_score():
    X, y = load_iris(return_X_y=True)
    rows = np.random.default_rng(0).permutation(150)
    splits = [(rows[:75], rows[:0]), (rows[:75], rows[75:]), (rows[75:], rows[:75])]
    with pytest.warns(UserWarning, match="Scoring failed"):
        folds = ecv.cross_validate(DummyClassifier(), X, y, cv=splits, rule=ecv.Never())
    assert np.isnan(folds["test_score"]).tolist() == [True, False, False]
