"""A value per sample, checked with derivatives of scikit-learn's own weighted scores."""

from __future__ import annotations

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")
from sklearn import metrics  # noqa: E402
from sklearn.linear_model import LogisticRegression, Ridge  # noqa: E402
from sklearn.metrics import get_scorer, make_scorer  # noqa: E402
from sklearn.neighbors import KNeighborsClassifier  # noqa: E402

from ecv_core.evaluation.per_sample import HeldOut, largest_move, values_of_samples  # noqa: E402
from ecv_core.evaluation.scoring import Scoring, sample_scores  # noqa: E402
from ecv_core.records.errors import InputError  # noqa: E402

RNG = np.random.default_rng(7)
X = RNG.normal(size=(160, 4))
NOISY = X @ [1.0, 2.0, -1.0, 0.0] + RNG.normal(size=160)
TWO = (NOISY > 0).astype(int)
THREE = np.digitize(NOISY, np.quantile(NOISY[80:], [1 / 3, 2 / 3]))
POSITIVE = np.exp(NOISY / 3)
HALF = slice(0, 80)


def told(estimator, y, scoring):
    """The score of the second half, and what its samples tell."""
    estimator.fit(X[HALF], y[HALF])
    scoring = Scoring(estimator, scoring)
    scoring.units = np.arange(80)
    return scoring.scorer(estimator, X[80:], y[80:]), scoring.samples


def derivative(estimator, y, scorer, at):
    """n times how far scikit-learn's score moves with the weight of one sample."""
    step = 1e-4
    weights = np.ones(80)
    scores = []
    for sign in (1, -1):
        weights[at] = 1 + sign * step
        scores.append(scorer(estimator, X[80:], y[80:], sample_weight=weights))
    return 80 * (scores[0] - scores[1]) / (2 * step)


@pytest.mark.parametrize(
    ("scoring", "y"),
    [
        *[(name, TWO) for name in ("accuracy", "balanced_accuracy", "neg_log_loss", "roc_auc")],
        *[(name, TWO) for name in ("neg_brier_score", "average_precision", "f1", "precision")],
        *[(name, TWO) for name in ("recall", "jaccard")],
        *[(name, THREE) for name in ("f1_macro", "f1_micro", "precision_macro", "f1_weighted")],
        *[(name, THREE) for name in ("roc_auc_ovr", "neg_log_loss", "neg_brier_score")],
        *[(name, THREE) for name in ("top_k_accuracy", "recall_weighted")],
        *[(f"neg_{name}", POSITIVE) for name in ("mean_squared_error", "mean_absolute_error")],
        ("neg_mean_absolute_percentage_error", POSITIVE),
        *[(name, POSITIVE) for name in ("r2", "neg_root_mean_squared_error")],
        (make_scorer(metrics.mean_pinball_loss, greater_is_better=False, alpha=0.9), POSITIVE),
        (make_scorer(metrics.fbeta_score, beta=2), TWO),
    ],
)
def test_values_are_the_derivatives_by_the_weight_of_each_sample(scoring, y):
    estimator = Ridge() if y is POSITIVE else LogisticRegression()
    score, samples = told(estimator, y, scoring)
    scorer = scoring if callable(scoring) else get_scorer(scoring)
    assert score == scorer(estimator, X[80:], y[80:])
    assert len(samples.values) == 80
    assert samples.values.mean() == pytest.approx(score)
    expected = [derivative(estimator, y, scorer, at) for at in range(0, 80, 9)]
    if scoring == "r2":  # scikit-learn weighs the targets' mean anew, which changes nothing
        assert samples.values[::9] - score == pytest.approx(expected, rel=1e-3, abs=1e-3)
    else:
        assert samples.values[::9] - score == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_roc_auc_by_hand():
    # Positives told 3 and 1, negatives 2 and 0: three of four pairs in order. DeLong's components
    # are 1 and 1/2 of the positives, 1/2 and 1 of the negatives.
    held = HeldOut(
        truth=np.array([1, 1, 0, 0]),
        response=np.array([3.0, 1.0, 2.0, 0.0]),
        classes=np.array([0, 1]),
        weights=np.ones(4),
    )
    assert values_of_samples("roc_auc_score", 0.75, held) == pytest.approx([1.25, 0.25, 0.25, 1.25])
    assert values_of_samples("roc_auc_score", 0.76, held) is None  # another function of that name


def test_a_rare_class_says_how_well_its_score_is_known():
    y = np.zeros(160, int)
    y[::8] = 1
    score, samples = told(LogisticRegression(), y, "roc_auc")
    assert len(samples.values) == 10  # positives of the second half
    assert samples.values.mean() == pytest.approx(score)
    assert len(told(LogisticRegression(), y, "accuracy")[1].values) == 80
    y[96] = 0
    assert len(told(LogisticRegression(), y, "roc_auc")[1].values) == 1  # nine tell nothing


def test_an_estimators_own_score_may_be_the_usual_one():
    _, samples = told(KNeighborsClassifier(), TWO, None)
    right = KNeighborsClassifier().fit(X[HALF], TWO[HALF]).predict(X[80:]) == TWO[80:]
    assert samples.values.tolist() == right.tolist()
    labels = np.column_stack([TWO, X[:, 0] > 0])  # several: right where all of them are
    _, samples = told(KNeighborsClassifier(), labels, None)
    both = KNeighborsClassifier().fit(X[HALF], labels[HALF]).predict(X[80:]) == labels[80:]
    assert samples.values.tolist() == (both[:, 0] & both[:, 1]).tolist()


@pytest.mark.parametrize("scoring", ["roc_auc", "f1"])
def test_their_spread_is_that_of_the_bootstrap(scoring):
    estimator = LogisticRegression().fit(X[HALF], TWO[HALF])
    rng = np.random.default_rng(1)
    many, targets = np.tile(X[80:], (4, 1)), np.tile(TWO[80:], 4)
    asked = Scoring(estimator, scoring)
    asked.units = np.arange(len(many))
    asked.scorer(estimator, many, targets)
    values = asked.samples.values
    draws = []
    for _ in range(300):
        rows = rng.integers(0, len(many), len(many))
        draws.append(get_scorer(scoring)(estimator, many[rows], targets[rows]))
    error = values.std(ddof=1) / np.sqrt(len(values))
    # 20 blocks know it to 16 %, 300 draws to 4 %.
    assert error == pytest.approx(np.std(draws), rel=0.4 if len(values) == 20 else 0.15)


def test_groups_are_who_varies():
    estimator = LogisticRegression().fit(X[HALF], TWO[HALF])
    scoring = Scoring(estimator, "accuracy")
    scoring.units = np.repeat([5, 2], [60, 20])
    score = scoring.scorer(estimator, X[80:], TWO[80:])
    right = estimator.predict(X[80:]) == TWO[80:]
    # A ratio of two sums over two groups: each group's part is its own surplus of right ones.
    expected = [score + (right[60:] - score).sum() / 40, score + (right[:60] - score).sum() / 40]
    assert scoring.samples.units.tolist() == [2, 5]
    assert scoring.samples.values == pytest.approx(expected)


def test_a_scorer_of_ones_own_is_asked_by_blocks():
    estimator = LogisticRegression().fit(X[HALF], TWO[HALF])

    def right(model, X, y):
        return float((model.predict(X) == y).mean())

    told = sample_scores(estimator, X[80:], TWO[80:], range(80, 160), right)
    assert len(told) == 20
    # Blocks of four: the jackknife of a mean gives back the mean of each block.
    assert np.mean(list(told.values())) == pytest.approx(right(estimator, X[80:], TWO[80:]))
    assert all(round(4 * value, 6) == round(4 * value) for value in told.values())


def test_a_scorer_that_no_block_moves_is_left_to_the_folds():
    estimator = LogisticRegression().fit(X[HALF], TWO[HALF])

    def steps(model, X, y):
        return float(model.n_iter_[0])

    told = sample_scores(estimator, X[80:], TWO[80:], range(80, 160), steps)
    assert told == {80: float(estimator.n_iter_[0])}


def test_a_scorer_that_looks_elsewhere_has_no_samples():
    estimator = LogisticRegression().fit(X[HALF], TWO[HALF])

    def size(model, X, y):
        return float(np.abs(model.coef_).sum() + X.shape[1])

    with pytest.raises(InputError, match="the samples tell nothing of the score 'size'"):
        sample_scores(estimator, X[80:], TWO[80:], range(80), size)


LABELS = np.array([1, 1, 0, 0, 0, 0, 0, 0, 0, 0])
"""Two of ten samples are of the rarest class."""


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("accuracy_score", 1.0),
        ("f1_score", 5.0),  # 10 samples over 2
        ("roc_auc_score", 5.0),
        ("mean_squared_error", 0.0),  # not known: a number can be predicted as badly as one likes
    ],
)
def test_how_far_a_sample_that_is_predicted_otherwise_moves_a_score(metric, expected):
    held_out = HeldOut(truth=LABELS, response=LABELS, weights=np.ones(10))
    assert largest_move(metric, held_out) == expected


def test_a_confident_mistake_costs_what_the_least_likely_label_does():
    probabilities = np.array([[0.99, 0.01], [0.3, 0.7]])
    held_out = HeldOut(truth=np.array([0, 1]), response=probabilities, weights=np.ones(2))
    assert largest_move("log_loss", held_out) == pytest.approx(4.605170, abs=1e-6)  # -log 0.01
    sure = HeldOut(truth=np.array([0, 1]), response=np.eye(2), weights=np.ones(2))
    assert largest_move("log_loss", sure) == pytest.approx(
        36.043653, abs=1e-6
    )  # scikit-learn's clip


def test_a_sample_moves_its_group_by_its_share_of_it():
    estimator = LogisticRegression().fit(X[HALF], TWO[HALF])
    scoring = Scoring(estimator, "accuracy")
    scoring.units = np.arange(80) // 10
    scoring.scorer(estimator, X[80:], TWO[80:])
    assert scoring.samples.largest_move == pytest.approx(0.1)
