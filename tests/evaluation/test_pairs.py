"""Metrics of all users' pairs together: by hand, and as scikit-learn has them."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from ecv_core.evaluation import Protocol, evaluate
from ecv_core.evaluation.pairs import (
    ScoredPairs,
    calibrated_log_loss,
    calibrated_losses,
    pooled_auc,
)
from ecv_core.records.errors import InputError, RunError


def skewed_pairs(seed, count=20_000, users=200):
    """Scores with a long tail, and what was chosen, more often where they are high."""
    rng = np.random.default_rng(seed)
    scores = np.round(rng.pareto(1.2, count), 2)  # some are equal
    chosen = rng.random(count) < 1 / (1 + np.exp(4 - np.minimum(scores, 6)))
    return ScoredPairs(scores=scores, is_held_out=chosen, users=rng.integers(0, users, count))


def test_pooled_auc_is_that_of_scikit_learn():
    pairs = skewed_pairs(1)
    expected = roc_auc_score(pairs.is_held_out, pairs.scores)
    assert pooled_auc(pairs).mean() == pytest.approx(expected, abs=1e-12)


def test_pooled_auc_of_a_hand_worked_case():
    # Held out: 3 (user 0) and 1 (user 1); negatives: 2 (user 0), 1 and 0 (user 1).
    pairs = ScoredPairs(
        scores=np.array([3.0, 2, 1, 1, 0]),
        is_held_out=np.array([True, False, True, False, False]),
        users=np.array([0, 0, 1, 1, 1]),
    )
    # 3 beats all three; 1 beats 0, ties with 1: 4.5 of 6 pairs.
    auc = 0.75
    # Placements: held out 1 and 1/2; negatives 2 is beaten by one of two, 1 by one and a half, 0
    # by both. A user has one held-out pair and one and a half negatives on average.
    user_0 = auc + (1 - auc) / 1 + (0.5 - auc) / 1.5
    user_1 = auc + (0.5 - auc) / 1 + (0.75 + 1 - 2 * auc) / 1.5
    assert pooled_auc(pairs).tolist() == pytest.approx([user_0, user_1])


def test_the_spread_of_what_users_add_is_that_of_pooled_auc_over_drawn_users():
    rng = np.random.default_rng(5)

    def drawn(users):
        """Users whose scores are high or low altogether."""
        owners = np.repeat(np.arange(users), 6)
        chosen = np.tile(np.arange(6) < 2, users)
        scores = rng.normal(size=6 * users) + rng.normal(size=users)[owners] + chosen
        return ScoredPairs(scores=scores, is_held_out=chosen, users=owners)

    aucs = []
    errors = []
    for _ in range(400):
        added = pooled_auc(drawn(150))
        aucs.append(added.mean())
        errors.append(added.std(ddof=1) / np.sqrt(len(added)))
    # 400 draws know a standard deviation to 3.5 %.
    assert np.mean(errors) == pytest.approx(np.std(aucs, ddof=1), rel=0.12)


def test_a_half_is_calibrated_by_the_other_as_logistic_regression_does():
    pairs = skewed_pairs(2)
    half = pairs.users < 100
    losses = []
    for learnt in (half, ~half):
        model = LogisticRegression(C=1e12, max_iter=1000)
        model.fit(pairs.scores[learnt, None], pairs.is_held_out[learnt])
        odds = model.decision_function(pairs.scores[~learnt, None])
        losses += np.logaddexp(0, np.where(pairs.is_held_out[~learnt], -odds, odds)).tolist()
    found = calibrated_losses(pairs.scores, pairs.is_held_out, half)
    assert found.mean() == pytest.approx(np.mean(losses), abs=1e-5)


def test_scores_that_say_nothing_lose_what_the_share_of_held_out_pairs_loses():
    # Each user has one held-out pair of four, whoever is in which half.
    pairs = ScoredPairs(
        scores=np.full(80, 7.0), is_held_out=np.arange(80) % 4 == 0, users=np.arange(80) // 4
    )
    expected = -(np.log(0.25) + 3 * np.log(0.75)) / 4
    assert calibrated_log_loss(pairs) == pytest.approx(np.full(20, expected))


def test_the_mean_of_what_users_add_is_the_mean_over_all_pairs():
    pairs = skewed_pairs(3)
    order = np.random.default_rng(9).permutation(200)
    half = np.isin(pairs.users, order[:100])
    losses = calibrated_losses(pairs.scores, pairs.is_held_out, half)
    assert calibrated_log_loss(pairs, 9).mean() == pytest.approx(losses.mean())


@pytest.fixture
def problem():
    rng = np.random.default_rng(1)
    held_out = rng.random((300, 20)) < 0.15
    held_out[:, 0] = True
    scores = np.round(rng.normal(size=(300, 20)) + held_out, 1)
    return scores, csr_array((300, 20)), csr_array(held_out.astype(float))


PAIRS_OF_ALL = ("pooled-auc", "calibrated-log-loss")


def test_a_pool_of_all_items_compares_every_pair(problem, given_scores):
    scores, seen, held_out = problem
    protocol = Protocol(negatives=4000, sampling="pooled")
    result = evaluate(
        given_scores(scores), seen, held_out, [5], protocol=protocol, metrics=PAIRS_OF_ALL
    )
    chosen = held_out.toarray().ravel() != 0
    expected = roc_auc_score(chosen, scores.ravel().astype(np.float32))
    assert result.means["pooled-auc"] == pytest.approx(expected)


def test_single_lists_count_each_negative_of_a_user_once(problem, given_scores):
    scores, seen, held_out = problem
    seen = held_out.toarray()
    seen[:] = 0
    held_out = held_out.toarray()
    held_out[:] = 0
    held_out[:, :2] = 1  # two of twenty, so 18 negatives are all others
    result = evaluate(
        given_scores(scores),
        csr_array(seen),
        csr_array(held_out),
        [5],
        protocol=Protocol(negatives=18),
        metrics=PAIRS_OF_ALL,
    )
    expected = roc_auc_score(held_out.ravel(), scores.ravel().astype(np.float32))
    assert result.means["pooled-auc"] == pytest.approx(expected)
    assert 0 < result.means["calibrated-log-loss"] < 0.4  # -log of one tenth and nine tenths: 0.325


def test_full_ranking_has_too_many_pairs(problem, given_scores):
    scores, seen, held_out = problem
    for name in PAIRS_OF_ALL:
        with pytest.raises(InputError, match="--negatives"):
            evaluate(given_scores(scores), seen, held_out, [5], metrics=[name])


def test_a_score_that_is_infinite_has_no_probability(problem, given_scores):
    scores, seen, held_out = problem
    scores[0, 0] = -np.inf
    protocol = Protocol(negatives=3)
    with pytest.raises(RunError, match="infinite"):
        evaluate(
            given_scores(scores),
            seen,
            held_out,
            [5],
            protocol=protocol,
            metrics=["calibrated-log-loss"],
        )
