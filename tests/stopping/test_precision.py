import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecv_core.errors import InputError
from ecv_core.records import Energy, FoldResult, RunSpec, UserScores
from ecv_core.stopping import Precision, moments, rule_for
from ecv_core.stopping.fold_variance import fold_variance

SPEC = RunSpec(dataset="synthetic", algorithm="popular", rule="precision", min_folds=1)
NAN = math.nan


def results_of(values, metric="ndcg@10"):
    """Fold results with these per-user scores; shape (folds, users), NaN where there is none."""
    results = []
    for fold, row in enumerate(values):
        users = np.flatnonzero(~np.isnan(row)).astype(np.int32)
        other = np.ones(len(users))
        results.append(
            FoldResult(
                fold=fold,
                score=float(row[users].mean()),
                metrics={},
                users=len(users),
                fit_seconds=0.0,
                evaluate_seconds=0.0,
                total_seconds=0.0,
                energy=Energy.none(),
                user_scores=UserScores(
                    users=users,
                    metrics=("hit@10", metric),
                    values=np.stack([other, row[users]], axis=1).astype(np.float32),
                ),
            )
        )
    return results


def plainly(values, folds):
    """`fold_variance` of one set of folds, user by user as its formula reads."""
    seen = values[sorted(folds)]
    within, freedom = 0.0, 0
    for column in seen.T:
        scores = column[~np.isnan(column)]
        if len(scores) >= 2:
            within += scores.var() * len(scores)
            freedom += len(scores) - 1
    counts = [int(np.sum(~np.isnan(row))) for row in seen]
    between = sum(np.nanvar(row) * count for row, count in zip(seen, counts, strict=True))
    between /= sum(count - 1 for count in counts)
    if not freedom:
        return between / np.mean(counts)
    common = [
        np.sum(~np.isnan(seen[f]) & ~np.isnan(seen[g])) for f in range(len(seen)) for g in range(f)
    ]
    overlap = np.mean(common) / np.mean(counts)
    return (overlap * within / freedom + (1 - overlap) * between) / np.mean(counts)


# Two users in two folds: (0.2, 0.8), (0.4, 0.8). Within: (0.2^2 / 2 + 0) / 2 = 0.01; all users are
# in both folds, so the variance of a fold's mean is 0.01 / 2.
TWO = np.array([[0.2, 0.8], [0.4, 0.8]])


@pytest.mark.parametrize(
    ("values", "chosen", "variance"),
    [
        (TWO, [True, True], 0.005),
        (TWO, [True, False], 0.18 / 2),  # between 0.2 and 0.8: 0.6^2 / 2
        # A third user only in fold 0, a fourth only in fold 1: p = 2/3. Between: fold 0 of
        # 0.2 0.8 0.5 has 0.18, fold 1 of 0.4 0.8 0.6 has 0.08, over 4: 0.065.
        # (2/3 * 0.01 + 1/3 * 0.065) / 3
        (
            np.array([[0.2, 0.8, 0.5, NAN], [0.4, 0.8, NAN, 0.6]]),
            [True, True],
            (0.02 / 3 + 0.065 / 3) / 3,
        ),
        # Nobody comes back: between only, fold 0 has 0.02, fold 1 has 0.08; 0.05 / 2
        (np.array([[0.2, 0.4, NAN, NAN], [NAN, NAN, 0.2, 0.6]]), [True, True], 0.025),
    ],
)
def test_the_variance_of_a_fold_mean_worked_by_hand(values, chosen, variance):
    assert fold_variance(values, np.array([chosen]))[0] == pytest.approx(variance)


def test_one_fold_of_one_user_tells_nothing():
    assert np.isnan(fold_variance(np.array([[0.5]]), np.array([[True]]))[0])


@given(seed=st.integers(0, 10**6), folds=st.integers(2, 5), users=st.integers(3, 30))
def test_every_set_of_folds_gets_what_the_formula_says(seed, folds, users):
    rng = np.random.default_rng(seed)
    values = rng.random((folds, users))
    values[rng.random((folds, users)) < rng.random()] = NAN
    values[:, :2] = rng.random((folds, 2))  # no fold without at least two users
    sets = (np.arange(1, 2**folds)[:, None] >> np.arange(folds)) & 1 == 1
    expected = [plainly(values, np.flatnonzero(chosen)) for chosen in sets]
    np.testing.assert_allclose(fold_variance(values, sets), expected, rtol=1e-9, atol=1e-15)


def test_the_variance_is_right_on_average_where_users_come_and_go():
    # Users differ (0.3), come to a fold with probability 0.6, and vary in it (0.1). The truth is
    # the variance of a fold's mean about the mean of the ten.
    rng = np.random.default_rng(0)
    told, found = [], []
    for _ in range(60):
        values = 0.5 + 0.3 * rng.standard_normal(300) + 0.1 * rng.standard_normal((10, 300))
        values[rng.random((10, 300)) > 0.6] = NAN
        told.append(fold_variance(values, np.ones((1, 10), dtype=bool))[0])
        found.append(np.nanmean(values, axis=1).var(ddof=1))
    # 60 * 9 degrees of freedom: the ratio has a standard error of about 0.06
    assert np.mean(found) / np.mean(told) == pytest.approx(1, abs=0.2)


# TWO has the mean 0.55; after 2 of k = 10 folds: 1.95996 * sqrt(0.005 * (1/2 - 1/10)) = 0.0876522,
# which is 15.937 % of the mean.
@pytest.mark.parametrize(("tolerance", "stop"), [(0.1594, True), (0.1593, False)])
def test_precision_stops_where_hand_work_says(tolerance, stop):
    rule = Precision(tolerance=tolerance, k=10, metric="ndcg@10")
    decision = rule.decide(results_of(TWO))
    assert decision.stop is stop
    end = "stop." if stop else "go on."
    assert decision.reason == f"After 2 folds: known within 15.9%, asked for 15.9%: {end}"


def test_precision_shows_its_own_interval_even_after_one_fold():
    rule = Precision(tolerance=0.01, k=10, metric="ndcg@10")
    first, second = moments(rule, results_of(TWO), 0.95)
    # fold 0: mean 0.5, variance 0.09, 1.95996 * sqrt(0.09 * 0.9) = 0.557816
    assert first.interval.width == pytest.approx(2 * 0.557816, rel=1e-5)
    assert (first.interval.low + first.interval.high) / 2 == pytest.approx(0.5)
    assert second.interval.width == pytest.approx(2 * 0.0876522, rel=1e-5)


def test_precision_uses_its_confidence():
    rule = Precision(tolerance=0.01, k=10, metric="ndcg@10", confidence=0.5)
    interval = rule.interval(results_of(TWO))
    assert interval.width == pytest.approx(2 * 0.67449 * math.sqrt(0.005 * 0.4), rel=1e-5)


def test_with_all_folds_in_everything_is_known():
    rule = Precision(tolerance=1e-9, k=2, metric="ndcg@10")
    assert rule.decide(results_of(TWO)).stop
    assert rule.interval(results_of(TWO)).width == 0
    assert Precision(tolerance=1e-9, k=2, metric="ndcg@10").decide(results_of(0 * TWO)).stop

    alone = np.array([[0.5, NAN], [NAN, 0.7]])  # where nothing could be estimated
    assert Precision(tolerance=1e-9, k=2, metric="ndcg@10").decide(results_of(alone)).stop


def test_scores_below_zero_are_known_as_well_as_those_above():
    rule = Precision(tolerance=0.15, k=10, metric="ndcg@10")
    assert rule.decide(results_of(-TWO)) == rule.decide(results_of(TWO))


def test_a_mean_of_zero_is_never_known_within_a_share():
    opposite = np.array([[-0.2, 0.2], [0.1, -0.1]])
    decision = Precision(tolerance=0.9, k=10, metric="ndcg@10").decide(results_of(opposite))
    assert not decision.stop


def test_one_user_alone_says_so():
    rule = Precision(tolerance=0.5, k=10, metric="ndcg@10")
    decision = rule.decide(results_of(np.array([[0.5]])))
    assert not decision.stop
    assert decision.reason == "After 1 fold: too few users to tell how far it is off: go on."
    assert rule.interval(results_of(np.array([[0.5]]))) is None


def test_precision_waits_for_the_minimum():
    rule = Precision(tolerance=0.5, k=10, metric="ndcg@10", min_folds=3)
    decision = rule.decide(results_of(TWO))
    assert not decision.stop
    assert decision.reason.endswith("but at least 3 folds are due: go on.")


def test_precision_needs_every_users_score():
    bare = [replace(result, user_scores=None) for result in results_of(TWO)]
    with pytest.raises(InputError, match="needs every user's score, but fold 0 was recorded"):
        Precision(tolerance=0.5, k=10, metric="ndcg@10").decide(bare)


def test_the_settings_reach_the_rule():
    spec = replace(SPEC, tolerance=0.03, confidence=0.9, metric="recall", n=5, min_folds=2)
    expected = Precision(tolerance=0.03, k=10, metric="recall@5", confidence=0.9, min_folds=2)
    assert rule_for(spec) == expected
    assert rule_for(replace(spec, only_folds=(3, 1, 2))).k == 3


@pytest.mark.parametrize(
    ("tolerance", "message"),
    [
        (None, "needs a tolerance, for example 0.03"),
        (0.0, "between 0 and 1, but is 0.0"),
        (-0.1, "between 0 and 1, but is -0.1"),
        (3.0, "between 0 and 1, but is 3.0; use for example 0.03 for 3 %"),
        (NAN, "between 0 and 1, but is nan"),
    ],
)
def test_a_tolerance_that_cannot_work_is_refused(tolerance, message):
    with pytest.raises(InputError, match=message):
        rule_for(replace(SPEC, tolerance=tolerance))
