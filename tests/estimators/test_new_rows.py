"""Where the mean of new rows is, and what repeated splitters must not make narrower."""

import math

import numpy as np
import pytest
from scipy import stats

pytest.importorskip("sklearn")
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    brier_score_loss,
    make_scorer,
    mean_absolute_error,
)
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
)
from sklearn.naive_bayes import GaussianNB

import ecv_core as ecv
from ecv_core.evaluation import metric_of
from ecv_core.figures.words import interval_lines
from ecv_core.records.errors import InputError

CANCER = load_breast_cancer(return_X_y=True)


class FirstColumn(ClassifierMixin, BaseEstimator):
    """Learns nothing and answers with the first column, so that scores are known beforehand."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return X[:, 0].astype(int)


def rows_of_which_some_are_right(n, right):
    answers = np.zeros((n, 1))
    truth = np.ones(n, dtype=int)
    truth[:right] = 0
    return answers, truth


def only_the_mean(estimator, X, y):
    """A scorer that looks at more than responses, of which no sample tells anything."""
    return float((estimator.fit(X, y).predict(X) == y).mean())


def evaluate(cv, data, **options):
    return ecv.cross_validate(FirstColumn(), *data, cv=cv, rule=ecv.Never(), **options)


def test_rows_of_one_partition_by_hand():
    # 60 rows, 45 of them right, two folds. Each row counts once, by its deviation from the mean of
    # its fold; training adds the variance of a fold's mean of 30 rows, over 2 - 1.
    features, classes = rows_of_which_some_are_right(60, 45)
    result = evaluate(KFold(2), (features, classes))
    # Without shuffling, the first fold has 30 of 30 right and the second 15 of 30.
    deviations = np.array([0.0] * 30 + [0.5] * 15 + [-0.5] * 15)
    squares = (deviations**2).sum()
    variance = squares / 59 / 60 + squares / 58 / 30
    half = stats.t.ppf(0.975, 59) * math.sqrt(variance)
    assert result.new_data.of == "rows"
    middle = (result.new_data.interval.low + result.new_data.interval.high) / 2
    assert middle == pytest.approx(0.75)
    assert result.new_data.interval.width == pytest.approx(2 * half)
    assert result.run.new_data_interval == (
        result.new_data.interval.low,
        result.new_data.interval.high,
    )


@pytest.mark.parametrize("repeats", [2, 10])
def test_of_a_model_that_learns_nothing_repetitions_narrow_no_interval_of_new_rows(repeats):
    data = rows_of_which_some_are_right(100, 70)
    single = evaluate(KFold(5, shuffle=True, random_state=0), data).new_data.interval
    splitter = RepeatedKFold(n_splits=5, n_repeats=repeats, random_state=0)
    repeated = evaluate(splitter, data).new_data.interval
    assert 0.98 * single.width < repeated.width < 1.15 * single.width


def test_the_interval_of_the_mean_is_nadeaus_and_bengios_where_rows_are_held_out_again():
    splitter = RepeatedStratifiedKFold(n_splits=5, n_repeats=4, random_state=1)
    result = ecv.cross_validate(GaussianNB(), *CANCER, cv=splitter, rule=ecv.Never())
    scores = result["test_score"]
    ratios = [len(test) / len(train) for train, test in splitter.split(*CANCER)]
    variance = scores.var(ddof=1) * (1 / 20 + np.mean(ratios))
    half = stats.t.ppf(0.975, 19) * math.sqrt(variance)
    expected = (scores.mean() - half, scores.mean() + half)
    assert result.run.mean_interval == pytest.approx(expected)
    assert result.run.interval == pytest.approx(expected)
    assert result.run.stop_interval == pytest.approx(expected)
    lines = interval_lines(result.run.record)
    assert "20 folds that overlap" in lines[1]


def test_the_interval_of_the_mean_of_one_partition_is_students_as_ever():
    result = ecv.cross_validate(GaussianNB(), *CANCER, cv=5, rule=ecv.Never())
    scores = result["test_score"]
    expected = stats.t.interval(0.95, 4, scores.mean(), scores.std(ddof=1) / math.sqrt(5))
    assert result.run.mean_interval == pytest.approx(expected)


def test_a_stop_among_repeated_folds_allows_for_both():
    splitter = ShuffleSplit(12, test_size=0.25, random_state=0)
    rule = ecv.EFold(alpha=1.0)
    result = ecv.cross_validate(GaussianNB(), *CANCER, cv=splitter, rule=rule)
    scores = [fold.score for fold in result.run.record.folds]
    assert len(scores) == 3
    (train, test) = next(splitter.split(*CANCER))
    variance = np.var(scores, ddof=1) * (1 / 3 + len(test) / len(train))
    low, high = result.run.mean_interval
    assert high - low == pytest.approx(2 * stats.t.ppf(0.975, 2) * math.sqrt(variance))
    low_after_stop, high_after_stop = result.run.stop_interval
    assert low_after_stop < low < high < high_after_stop


@pytest.mark.parametrize(
    ("cv", "folds_of_a_partition", "freedom"),
    [(KFold(5), 5, 4), (RepeatedKFold(n_splits=5, n_repeats=6, random_state=0), 5, 4)],
)
def test_a_score_without_samples_goes_by_the_corrected_variance_of_its_folds(
    cv, folds_of_a_partition, freedom
):
    features, classes = CANCER
    data = (features[:500], classes[:500])
    result = ecv.cross_validate(GaussianNB(), *data, cv=cv, rule=ecv.Never(), scoring=only_the_mean)
    variance = result["test_score"].var(ddof=1) * (1 / folds_of_a_partition + 1 / 4)
    half = stats.t.ppf(0.975, freedom) * math.sqrt(variance)
    assert result.new_data.of == "rows"
    assert result.new_data.interval.width == pytest.approx(2 * half)


def test_a_score_without_samples_allows_for_a_stop_at_folds_that_agree():
    stopped = ecv.cross_validate(
        GaussianNB(), *CANCER, cv=10, rule=ecv.EFold(alpha=1.0), scoring=only_the_mean
    )
    scores = stopped["test_score"]
    assert len(scores) == 3
    # The level of each of the looks after folds 3 to 10 that docs/method.md has, and the corrected
    # variance of Nadeau and Bengio.
    half = stats.t.ppf(1 - 0.01203 / 2, 2) * math.sqrt(scores.var(ddof=1) * (1 / 3 + 1 / 9))
    assert stopped.new_data.interval.low == pytest.approx(scores.mean() - half)
    # Whoever runs all folds has not stopped at any that agree.
    everything = ecv.cross_validate(
        GaussianNB(), *CANCER, cv=10, rule=ecv.EFold(alpha=1e-12), scoring=only_the_mean
    )
    scores = everything["test_score"]
    assert len(scores) == 10
    half = stats.t.ppf(0.975, 9) * math.sqrt(scores.var(ddof=1) * (1 / 10 + 1 / 9))
    assert everything.new_data.interval.low == pytest.approx(scores.mean() - half)


@pytest.mark.slow
def test_blocks_of_a_jackknife_do_not_pass_for_more_rows_where_splits_are_repeated():
    splitter = RepeatedKFold(n_splits=5, n_repeats=10, random_state=0)
    result = ecv.cross_validate(
        GaussianNB(),
        *CANCER,
        cv=splitter,
        rule=ecv.Precision(1e-6),
        scoring="matthews_corrcoef",
    )
    scores = result["test_score"]
    half = stats.t.ppf(0.975, 4) * math.sqrt(scores.var(ddof=1) * (1 / 5 + 1 / 4))
    assert result.new_data.interval.width == pytest.approx(2 * half, rel=0.01)


@pytest.mark.parametrize("scoring", [None, "roc_auc", "balanced_accuracy"])
def test_a_share_that_is_1_in_every_fold_ends_at_1(scoring):
    y = np.arange(60) % 2
    X = np.column_stack([10.0 * y, np.arange(60.0)])  # the classes lie far apart
    result = ecv.cross_validate(LogisticRegression(), X, y, rule="never", scoring=scoring)
    assert result.run.mean == 1
    assert 0 <= result.new_data.interval.low < 1
    assert result.new_data.interval.high == 1


def test_an_error_turned_round_has_no_bound_whatever_it_is_called():
    X = np.arange(60.0)[:, None]
    y = X[:, 0] + np.tile([0.5, -0.5], 30)
    scoring = {"mae": "neg_mean_absolute_error"}
    result = ecv.cross_validate(LinearRegression(), X, y, rule="never", scoring=scoring)
    assert result.run.mean < 0
    assert not metric_of(result.run.spec).has_worst_score
    assert result.new_data.interval.low < result.run.mean < result.new_data.interval.high


def test_new_data_of_grouped_folds_are_groups():
    groups = np.arange(569) // 8
    model = LogisticRegression(solver="liblinear")
    for scoring in ("accuracy", only_the_mean):
        result = ecv.cross_validate(
            model,
            *CANCER,
            cv=GroupKFold(4),
            groups=groups,
            rule=ecv.Never(),
            scoring=scoring,
        )
        assert result.new_data.of == "clusters"


def test_a_single_score_or_equal_ones_without_samples_tell_nothing_of_new_rows():
    def always_half(estimator, X, y):
        return 0.5

    data = rows_of_which_some_are_right(40, 20)
    assert evaluate(KFold(4), data, scoring=always_half).new_data is None
    split = ShuffleSplit(1, test_size=0.5, random_state=0)
    assert evaluate(split, data, scoring=only_the_mean).new_data is None


def test_nothing_is_said_of_new_rows_where_folds_come_in_the_order_of_time():
    for keep in (False, True):
        data = rows_of_which_some_are_right(60, 45)
        result = evaluate(TimeSeriesSplit(4), data, keep=keep)
        assert result.new_data is None
        assert result.run.new_data_interval is None
        assert interval_lines(result.run.record)[0].startswith("no interval for new rows")


def test_a_kept_run_says_the_same_of_new_rows():
    splitter = RepeatedKFold(n_splits=4, n_repeats=2, random_state=0)
    passing = ecv.cross_validate(GaussianNB(), *CANCER, cv=splitter, rule=ecv.Never())
    kept = ecv.cross_validate(GaussianNB(), *CANCER, cv=splitter, rule=ecv.Never(), keep=True)
    assert kept.new_data == passing.new_data
    (again,) = ecv.runs()
    assert again.new_data_interval == pytest.approx(passing.run.new_data_interval)
    assert again.mean_interval == pytest.approx(passing.run.mean_interval)


def test_a_gate_speaks_of_rows_and_refuses_folds_in_the_order_of_time():
    data = rows_of_which_some_are_right(60, 45)
    fair = ecv.gate(*[evaluate(KFold(5), data, keep=False).run] * 2, margin=0.5)
    assert (fair.of, fair.verdict.value) == ("rows", "passes")
    in_time = evaluate(TimeSeriesSplit(4), data, keep=False).run
    with pytest.raises(InputError, match="order of time"):
        ecv.gate(in_time, in_time)


@pytest.mark.parametrize(
    ("scoring", "low", "high"),
    [
        (make_scorer(accuracy_score), 0, 1),
        ("f1_weighted", 0, 1),
        ("average_precision", 0, 1),
        ("roc_auc_ovo_weighted", 0, 1),
        ("jaccard_macro", 0, 1),
        ("explained_variance", -math.inf, 1),
        ("d2_absolute_error_score", -math.inf, 1),
        ("neg_log_loss", -math.inf, 0),
        ("neg_mean_absolute_percentage_error", -math.inf, 0),
        (make_scorer(mean_absolute_error, greater_is_better=False), -math.inf, 0),
        (make_scorer(brier_score_loss, greater_is_better=False), -math.inf, 0),
        ("matthews_corrcoef", -1, 1),
        (make_scorer(balanced_accuracy_score, adjusted=True), -1, 1),
        ("rand_score", 0, 1),
    ],
)
def test_no_end_is_where_a_score_of_scikit_learn_cannot_be(scoring, low, high):
    X, y = CANCER
    result = ecv.cross_validate(
        GaussianNB(), X[:60], y[:60], scoring=scoring, rule="never", error_score=0.5
    )
    assert metric_of(result.run.spec).range == (low, high)


def test_nine_rows_of_ten_that_are_right_do_not_promise_more_than_all():
    X = np.tile([[0], [1]], (5, 1))
    y = X[:, 0].copy()
    y[3] = 0  # the only one that is wrong
    scorer = make_scorer(accuracy_score)
    result = ecv.cross_validate(FirstColumn(), X, y, cv=KFold(2), scoring=scorer, rule="never")
    assert result.run.mean == 0.9
    assert result.new_data.interval.high == 1
