from math import exp, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecv_core.evaluation import evaluate_ratings
from ecv_core.evaluation.formulas import errors_by_user, log_loss
from ecv_core.records.errors import RunError


def test_log_loss_is_minus_the_log_of_the_probability_of_what_happened():
    odds = np.log([0.8 / 0.2, 0.8 / 0.2, 1])
    expected = [-log(0.8), -log(0.2), log(2)]
    assert log_loss(odds, [1, 0, 1]).tolist() == pytest.approx(expected)


@given(st.floats(-15, 15), st.booleans())
def test_log_loss_agrees_with_the_probabilities(odds, chosen):
    p = 1 / (1 + exp(-odds))
    assert log_loss(odds, chosen) == pytest.approx(-log(p if chosen else 1 - p), rel=1e-6)


@pytest.mark.parametrize(("odds", "chosen", "loss"), [(1e4, 1, 0), (1e4, 0, 1e4), (-1e4, 1, 1e4)])
def test_log_loss_of_huge_odds_neither_overflows_nor_is_clipped(odds, chosen, loss):
    assert log_loss(odds, chosen) == loss


def test_errors_are_over_all_ratings_and_what_users_add_to_them_by_hand():
    # Errors 0.5 and 2 of user 4, 0 of user 7: squares sum to 4.25, sizes to 2.5, of 3 ratings.
    users, parts, pooled = errors_by_user([3.5, 4, 1], [3, 2, 1], [4, 4, 7])
    assert users.tolist() == [4, 7]
    assert pooled == pytest.approx({"rmse": sqrt(4.25 / 3), "mae": 2.5 / 3})
    # 1.5 ratings per user; user 4 has 2.5 of an expected 2 * 2.5 / 3
    above = (2.5 - 5 / 3) / 1.5
    assert parts["mae"].tolist() == pytest.approx([2.5 / 3 + above, 2.5 / 3 - above])
    above = (4.25 - 2 * 4.25 / 3) / 1.5 / (2 * sqrt(4.25 / 3))
    root = sqrt(4.25 / 3)
    assert parts["rmse"].tolist() == pytest.approx([root + above, root - above])


def test_spread_of_what_users_add_is_that_of_the_rmse_when_users_are_drawn_again():
    rng = np.random.default_rng(3)
    sizes = rng.integers(1, 60, 400)
    users = np.repeat(np.arange(400), sizes)
    error = rng.normal(size=sizes.sum()) * rng.uniform(0.5, 1.5, 400)[users]
    _, parts, _ = errors_by_user(error, np.zeros_like(error), users)
    squares = np.bincount(users, weights=error**2)
    drawn = rng.integers(0, 400, (2000, 400))
    redrawn = np.sqrt(squares[drawn].sum(axis=1) / sizes[drawn].sum(axis=1))
    by_formula = parts["rmse"].std(ddof=1) / sqrt(400)
    assert by_formula == pytest.approx(redrawn.std(), rel=0.08)


@given(st.lists(st.tuples(st.floats(1, 5), st.floats(1, 5)), min_size=1, max_size=9))
def test_rmse_is_never_below_mae_and_users_average_to_both(pairs):
    predicted, ratings = np.array(pairs).T
    _, parts, pooled = errors_by_user(predicted, ratings, np.arange(len(pairs)) % 3)
    assert pooled["rmse"] >= pooled["mae"] - 1e-9
    for name, values in parts.items():
        assert values.mean() == pytest.approx(pooled[name], abs=1e-9)


def test_predictions_are_clipped_to_the_scale():
    found = evaluate_ratings(np.array([9.0, -3.0]), np.array([4.0, 1.0]), np.array([0, 1]), (1, 5))
    assert found.means == pytest.approx({"rmse": sqrt(1 / 2), "mae": 1 / 2})


def test_a_prediction_that_is_no_number_fails_the_fold():
    with pytest.raises(RunError, match=r"1 of 2 predicted ratings are not finite numbers"):
        evaluate_ratings(np.array([np.nan, 3.0]), np.array([4.0, 1.0]), np.array([0, 1]), (1, 5))
