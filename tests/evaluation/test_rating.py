from math import exp, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecv_core.evaluation.rating import log_loss, mae, rmse


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


def test_rating_errors_are_per_user():
    predicted, given_ratings, users = [3.5, 4, 1], [3, 2, 1], [0, 0, 1]
    assert mae(predicted, given_ratings, users).tolist() == [(0.5 + 2) / 2, 0]
    assert rmse(predicted, given_ratings, users).tolist() == [sqrt((0.25 + 4) / 2), 0]


@given(st.lists(st.tuples(st.floats(1, 5), st.floats(1, 5)), min_size=1, max_size=9))
def test_rmse_is_never_below_mae(pairs):
    predicted, given_ratings = np.array(pairs).T
    users = np.zeros(len(pairs), dtype=int)
    assert rmse(predicted, given_ratings, users) >= mae(predicted, given_ratings, users) - 1e-9
