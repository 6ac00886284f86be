import math
from dataclasses import replace

import numpy as np
import pytest

from ecv_core.fold.spec import rule_of
from ecv_core.records.errors import InputError
from ecv_core.records.run import Energy, FoldResult, UserScores
from ecv_core.records.spec import RunSpec
from ecv_core.stopping import Precision, moments, rule_for

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


# Two users in two folds: (0.2, 0.8), (0.4, 0.8); their mean is 0.55.
TWO = np.array([[0.2, 0.8], [0.4, 0.8]])


# Users explain a variance of 0.01 / 2, with 2 degrees of freedom; the fold means, 0.5 and 0.6, show
# 0.1^2 / 2: no more. So it is t with 2 degrees of freedom, 4.30265, that counts after 2 of k = 10
# folds: 4.30265 * sqrt(0.005 * (1/2 - 1/10)) = 0.192420, which is 34.986 % of the mean.
@pytest.mark.parametrize(("tolerance", "stop"), [(0.3499, True), (0.3498, False)])
def test_precision_stops_where_hand_work_says(tolerance, stop):
    rule = Precision(tolerance=tolerance, k=10, metric="ndcg@10", random=False)
    decision = rule.decide(results_of(TWO))
    assert decision.stop is stop
    end = "stop." if stop else "go on."
    assert decision.reason == f"After 2 folds: known within 35.0%, asked for 35.0%: {end}"


def test_precision_shows_its_own_interval_even_after_one_fold():
    rule = Precision(tolerance=0.01, k=10, metric="ndcg@10", random=False)
    first, second = moments(rule, results_of(TWO), 0.95)
    # fold 0: mean 0.5, variance 0.09 known from one difference, t = 12.7062: 12.7062 * 0.284605
    assert first.interval.width == pytest.approx(2 * 3.616246, rel=1e-5)
    assert (first.interval.low + first.interval.high) / 2 == pytest.approx(0.5)
    assert second.interval.width == pytest.approx(2 * 0.192420, rel=1e-5)


def test_precision_uses_its_confidence():
    rule = Precision(tolerance=0.01, k=10, metric="ndcg@10", confidence=0.5, random=False)
    interval = rule.interval(results_of(TWO))
    # t with 2 degrees of freedom at 50 %: sqrt(2/3); with 3, for both levels together: 0.764892
    assert interval.width == pytest.approx(2 * math.sqrt(2 / 3) * math.sqrt(0.005 * 0.4), rel=1e-5)


def many(signs, users=2000, shift=0.0):
    """Folds of users who score 0.5, give or take exactly 0.1, and a shift common to a fold."""
    rng = np.random.default_rng(3)
    noise = rng.standard_normal((len(signs), users))
    noise = (noise - noise.mean(axis=1, keepdims=True)) / noise.std(axis=1, ddof=1, keepdims=True)
    return 0.5 + 0.1 * noise + np.array(signs)[:, None] * shift


def test_one_fold_of_a_random_model_says_what_it_cannot_show():
    rule = Precision(tolerance=0.05, k=10, metric="ndcg@10")
    decision = rule.decide(results_of(many([0.0])))
    # users: 0.1 / sqrt(2000) = 0.00224; 1.96 * sqrt(11 * 0.9) * 0.00224 / 0.5 = 2.76 %
    assert decision.reason == (
        "After 1 fold: known within 2.8%, asked for 5.0% (one fold cannot show how much training "
        "itself varies; 11 times the variance that users explain is allowed for): stop."
    )
    calm = Precision(tolerance=0.05, k=10, metric="ndcg@10", random=False)
    assert calm.decide(results_of(many([0.0]))).reason == (
        "After 1 fold: known within 1.1%, asked for 5.0%: stop."  # t with 5.25: 2.5335
    )


@pytest.mark.parametrize(
    ("random", "cause"),
    [(True, "the training is unstable"), (False, "something sets folds apart")],
)
def test_fold_means_that_differ_more_than_users_explain_are_told(random, cause):
    shifted = results_of(many([1, -1, 1, -1], shift=0.01))
    decision = Precision(tolerance=0.5, k=10, metric="ndcg@10", random=random).decide(shifted)
    # fold means 0.51 and 0.49: variance 0.0004 / 3, over 0.1^2 / 2000
    assert "; fold means vary 26." in decision.reason
    assert f"times as much as users explain (p < 0.001), so {cause} and only" in decision.reason
    calm = results_of(many([0, 0, 0, 0]))
    said = Precision(tolerance=0.5, k=10, metric="ndcg@10", random=random).decide(calm).reason
    assert "explain" not in said


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
    rule = Precision(tolerance=0.5, k=10, metric="ndcg@10", min_folds=3, random=False)
    decision = rule.decide(results_of(TWO))
    assert not decision.stop
    assert decision.reason.endswith("but at least 3 folds are due: go on.")


def test_precision_needs_every_users_score():
    bare = [replace(result, user_scores=None) for result in results_of(TWO)]
    with pytest.raises(InputError, match="needs every user's score, but fold 0 was recorded"):
        Precision(tolerance=0.5, k=10, metric="ndcg@10").decide(bare)


def test_the_settings_reach_the_rule():
    spec = replace(
        SPEC, rule_params=(("tolerance", 0.03),), confidence=0.9, metric="recall", n=5, min_folds=2
    )
    expected = Precision(tolerance=0.03, k=10, metric="recall@5", confidence=0.9, min_folds=2)
    assert rule_for(spec) == expected
    assert rule_for(replace(spec, only_folds=(3, 1, 2))).k == 3


def test_a_runs_rule_knows_whether_its_model_is_random():
    spec = replace(SPEC, rule_params=(("tolerance", 0.03),))
    assert not rule_of(replace(spec, algorithm="popular")).random
    assert rule_of(replace(spec, algorithm="bpr-mf")).random
    assert rule_of(replace(spec, algorithm="of-another-program")).random
    assert rule_for(spec).random  # the careful answer where nobody says


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
        rule_for(
            replace(SPEC, rule_params=() if tolerance is None else (("tolerance", tolerance),))
        )
