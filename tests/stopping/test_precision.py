import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize, stats

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
# 0.1^2 / 2, just as much. Each of the nine looks may err by 1.495 %.
LEVEL = 0.01495
EFFECTS = [0, 0.5, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]


def distance(ratio, e, freedom):
    """In the users' standard errors, by Bayes' theorem: what LEVEL leaves on both sides."""
    weights = np.array([0.8] + [0.2 / 12] * 12)
    scale = np.sqrt(1 + np.array(EFFECTS))
    if e > 1:
        weights *= stats.chi2.pdf((e - 1) * ratio / scale**2, e - 1) / scale**2
    weights /= weights.sum()
    found = optimize.brentq(lambda c: weights @ (2 * stats.norm.sf(c / scale)) - LEVEL, 1, 1e4)
    return found * stats.t.isf(LEVEL / 2, freedom) / stats.norm.isf(LEVEL / 2)


HALF = distance(1.0, 2, 2) * math.sqrt(0.005 * (1 / 2 - 1 / 10))


@pytest.mark.parametrize(("times", "stop"), [(1.0001, True), (0.9999, False)])
def test_precision_stops_where_hand_work_says(times, stop):
    known = HALF / 0.55
    rule = Precision(tolerance=known * times, k=10, metric="ndcg@10")
    decision = rule.decide(results_of(TWO))
    assert decision.stop is stop
    end = "stop." if stop else "go on."
    assert decision.reason == (
        f"After 2 folds: the mean of all folds is known to within {100 * known:.1f} %, and the "
        f"tolerance is {100 * known:.1f} %: {end}"
    )


def test_precision_shows_its_own_interval_even_after_one_fold():
    rule = Precision(tolerance=0.01, k=10, metric="ndcg@10")
    first, second = moments(rule, results_of(TWO), 0.95)
    # fold 0: mean 0.5, variance 0.18 / 2 known from one difference
    half = distance(1.0, 1, 1) * math.sqrt(0.09 * (1 - 1 / 10))
    assert first.interval.width == pytest.approx(2 * half, rel=1e-5)
    assert (first.interval.low + first.interval.high) / 2 == pytest.approx(0.5)
    assert second.interval.width == pytest.approx(2 * HALF, rel=1e-5)


def test_precision_uses_its_confidence():
    wide, narrow = (
        Precision(tolerance=0.01, k=10, metric="ndcg@10", confidence=level).interval(
            results_of(TWO)
        )
        for level in (0.95, 0.5)
    )
    assert narrow.width < wide.width / 2


def many(signs, users=2000, shift=0.0):
    """Folds of users who score 0.5, give or take exactly 0.1, and a shift common to a fold."""
    rng = np.random.default_rng(3)
    noise = rng.standard_normal((len(signs), users))
    noise = (noise - noise.mean(axis=1, keepdims=True)) / noise.std(axis=1, ddof=1, keepdims=True)
    return 0.5 + 0.1 * noise + np.array(signs)[:, None] * shift


def test_one_fold_says_what_it_cannot_show():
    rule = Precision(tolerance=0.05, k=10, metric="ndcg@10")
    # users: 0.1 / sqrt(2000) = 0.00224
    known = distance(1.0, 1, 1999) * 0.1 / math.sqrt(2000) * math.sqrt(0.9) / 0.5
    assert rule.decide(results_of(many([0.0]))).reason == (
        f"After 1 fold: the mean of all folds is known to within {100 * known:.1f} %, and the "
        "tolerance is 5.0 % (one fold cannot show how much folds differ, so the margin is wide): "
        "go on."
    )


def test_fold_means_that_differ_more_than_users_explain_are_told():
    shifted = results_of(many([1, -1, 1, -1], shift=0.01))
    decision = Precision(tolerance=0.5, k=10, metric="ndcg@10").decide(shifted)
    # fold means 0.51 and 0.49: variance 0.0004 / 3, over 0.1^2 / 2000
    assert "; the fold means vary 26." in decision.reason
    assert (
        "times as much as the individual scores explain: the training is unstable"
        in decision.reason
    )
    calm = results_of(many([0, 0, 0, 0]))
    said = Precision(tolerance=0.5, k=10, metric="ndcg@10").decide(calm).reason
    assert "explain" not in said


def test_a_mean_of_zero_runs_all_folds_and_says_how_far_the_zero_may_be_off():
    rule = Precision(tolerance=0.5, k=10, metric="ndcg@10")
    for n in (1, 5, 9):
        decision = rule.decide(results_of(np.zeros((n, 50))))
        assert not decision.stop
        assert "the mean is 0, at most 0." in decision.reason
        assert rule.interval(results_of(np.zeros((n, 50)))).width > 0
    assert rule.decide(results_of(np.zeros((10, 50)))).stop


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
    assert decision.reason.startswith(
        "After 1 fold: too few individual scores to tell how precise "
    )
    assert rule.interval(results_of(np.array([[0.5]]))) is None


def test_precision_waits_for_the_minimum():
    rule = Precision(tolerance=0.5, k=10, metric="ndcg@10", min_folds=3)
    decision = rule.decide(results_of(many([0.0, 0.0])))
    assert not decision.stop
    assert decision.reason.endswith("but at least 3 folds must run: go on.")


def test_precision_needs_every_users_score():
    bare = [replace(result, user_scores=None) for result in results_of(TWO)]
    with pytest.raises(InputError, match="every user, or sample, but fold 0 has none of ndcg@10"):
        Precision(tolerance=0.5, k=10, metric="ndcg@10").decide(bare)


def test_the_settings_reach_the_rule():
    spec = replace(
        SPEC, rule_params=(("tolerance", 0.03),), confidence=0.9, metric="recall", n=5, min_folds=2
    )
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
        rule_for(
            replace(SPEC, rule_params=() if tolerance is None else (("tolerance", tolerance),))
        )
