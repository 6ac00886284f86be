"""Where the mean of new users is: by hand, against Wilson's interval, and on users drawn anew."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import ecv_core as ecv
from ecv_core.records.errors import InputError
from ecv_core.stopping.new_data import ONE_FOLD


def test_one_fold_of_users_who_score_0_or_1_has_wilsons_interval_but_for_the_wider_variance():
    users, hits, reach = 200, 30, stats.t.ppf(0.975, 199)
    scores = np.zeros((1, users))
    scores[0, :hits] = 1
    p = hits / users
    sample_variance = p * (1 - p) * users / (users - 1)
    slope = 1 - 2 * p  # of a binomial, corrected as third moments of a sample are
    slope *= users / (users - 2)
    wider = sample_variance * (1 + ONE_FOLD + 1 / 9)
    # Solved for the ends as the textbook solves Wilson's quadratic.
    centre = p + reach**2 * slope / (2 * users)
    half = reach * math.sqrt(wider / users + (reach * slope / (2 * users)) ** 2)
    interval = ecv.new_data_interval(scores)
    assert interval.low == pytest.approx(centre - half, abs=1e-12)
    assert interval.high == pytest.approx(centre + half, abs=1e-12)


def test_two_folds_of_three_users_by_hand():
    # Deviations from the folds' means 2 and 3: -1, 0, 1 and -1, 0, 1; so users explain it all:
    # influence -1, 0, 1 with the variance 1 and no skewness; within users nothing varies, and the
    # means 2 and 3 have the variance 1/2, of which users explain nothing.
    scores = [[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]]
    half = stats.t.ppf(0.975, 2) * math.sqrt(1 / 3 + (1 / 2) / 2 + (1 / 3) / 9)
    interval = ecv.new_data_interval(scores)
    assert (interval.low, interval.high) == pytest.approx((2.5 - half, 2.5 + half))
    assert interval.width == pytest.approx(2 * half)


def test_users_who_all_score_alike_do_not_promise_that_none_differs():
    interval = ecv.new_data_interval(np.zeros((3, 50)))
    assert interval.low <= 0
    assert 0.05 < interval.high < 0.2  # the rule of three says 3 / 50 for one fold


@pytest.mark.parametrize("score", [0.0, 1.0, 0.3, -0.1])
def test_the_one_user_who_might_differ_may_do_so_in_either_direction(score):
    # If a share p of all users differs by 1, none of 50 does with the probability (1 - p)^50. That
    # is 2.5 % for this p (Clopper, Pearson 1934).
    least = 1 - 0.025 ** (1 / 50)
    interval = ecv.new_data_interval(np.full((1, 50), score))
    assert interval.low < score - least
    assert interval.high > score + least


def test_an_interval_is_cut_where_the_metric_ends_and_nowhere_else():
    interval = ecv.NewDataInterval(low=-0.25, high=1.5)
    assert interval.within(0, 1) == ecv.NewDataInterval(low=0.0, high=1.0)
    assert interval.within(-math.inf, 1) == ecv.NewDataInterval(low=-0.25, high=1.0)
    assert interval.within(-1, 2) == interval
    in_percent = ecv.NewDataInterval(low=31.0, high=34.0)
    assert in_percent.within(0, 1) == in_percent


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 6),
    st.integers(3, 40),
    st.floats(0.1, 10),
    st.floats(-5, 5),
)
def test_another_unit_and_another_zero_give_the_same_interval_there(seed, folds, users, unit, zero):
    rng = np.random.default_rng(seed)
    scores = rng.gamma(0.5, size=(folds, users))
    scores[rng.random((folds, users)) < 0.2] = np.nan
    scores[:, :2] = rng.random((folds, 2))  # every fold has a score
    plain = ecv.new_data_interval(scores)
    moved = ecv.new_data_interval(scores * unit + zero)
    assert moved.low == pytest.approx(plain.low * unit + zero, abs=1e-7)
    assert moved.high == pytest.approx(plain.high * unit + zero, abs=1e-7)
    order = rng.permutation(users)
    shuffled = ecv.new_data_interval(scores[rng.permutation(folds)][:, order])
    assert (shuffled.low, shuffled.high) == pytest.approx((plain.low, plain.high), abs=1e-9)


def test_users_without_a_score_are_left_out_and_fewer_folds_are_never_surer():
    rng = np.random.default_rng(1)
    scores = rng.random((4, 60))
    absent = np.full((4, 20), np.nan)
    plain = ecv.new_data_interval(scores)
    padded = ecv.new_data_interval(np.hstack([scores, absent]))
    assert (padded.low, padded.high) == pytest.approx((plain.low, plain.high))
    assert ecv.new_data_interval(scores, 0.8).width < plain.width
    assert ecv.new_data_interval(scores, k=5).width > plain.width


@pytest.mark.parametrize("n_folds", [1, 3, 10])
def test_it_holds_the_mean_of_skewed_users_where_students_t_does_not(n_folds):
    """Most users score nothing; their hits come and go from fold to fold."""
    rng = np.random.default_rng(n_folds)
    hold = 0
    held_by_t = 0
    draws = 1000
    for _ in range(draws):
        likes = rng.beta(0.15, 1.5, size=150)
        scores = (rng.random((n_folds, 150)) < likes) * rng.uniform(0.3, 1.0, (n_folds, 150))
        truth = 0.15 / 1.65 * 0.65
        interval = ecv.new_data_interval(scores)
        hold += interval.low <= truth <= interval.high
        if n_folds > 1:
            t = stats.t.interval(0.95, n_folds - 1, scores.mean(), stats.sem(scores.mean(axis=1)))
            held_by_t += t[0] <= truth <= t[1]
    assert 0.93 <= hold / draws <= 0.99
    if n_folds == 10:
        assert held_by_t / draws < 0.8


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        ([0.1, 0.2], r"\(2,\)"),
        ([[0.1]], "1 user$"),
        ([[np.nan, np.nan], [0.1, 0.2]], "fold 0"),
        ([[np.inf, 0.2]], "infinite"),
        ([["a", "b"]], "numbers"),
    ],
)
def test_what_tells_nothing_is_refused(scores, words):
    with pytest.raises(InputError, match=words):
        ecv.new_data_interval(scores)


def test_a_confidence_and_a_k_that_cannot_be_are_refused():
    with pytest.raises(InputError, match=r"1\.5"):
        ecv.new_data_interval([[0.1, 0.2]], 1.5)
    with pytest.raises(InputError, match="k must be more than 1"):
        ecv.new_data_interval([[0.1, 0.2]], k=1)


def test_folds_of_rows_of_their_own_are_seen_to_share_their_training():
    # Deviations -1/2 and 1/2 in each of two folds: squares add up to 1, over 3 and over 2. Two
    # folds of one partition: the variance of a fold's mean, 1/2 over 2 rows, over 2 - 1.
    nan = math.nan
    scores = [[1.0, 0.0, nan, nan], [nan, nan, 1.0, 0.0]]
    half = stats.t.ppf(0.975, 3) * math.sqrt(1 / 3 / 4 + 1 / 4)
    interval = ecv.new_data_interval(scores, k=2)
    assert (interval.low, interval.high) == pytest.approx((0.5 - half, 0.5 + half))


def test_a_row_that_is_held_out_again_is_no_new_row():
    # Two repetitions of two folds; every row once right and once wrong, so that the rows' means
    # over the repetitions do not differ at all. Within folds, of one right and one wrong each, the
    # deviations are 1/2, so a row's variance is 8 / 4 / (8 - 4) = 1/2, a quarter of which is the
    # least. Training adds the variance of a fold of two rows, 1/4, over 2 - 1.
    nan = math.nan
    scores = [
        [1.0, 0.0, nan, nan],
        [nan, nan, 1.0, 0.0],
        [0.0, 1.0, nan, nan],
        [nan, nan, 0.0, 1.0],
    ]
    half = stats.t.ppf(0.975, 3) * math.sqrt(1 / 2 / 4 / 4 + 1 / 4)
    interval = ecv.new_data_interval(scores, k=2, rows=True)
    assert (interval.low, interval.high) == pytest.approx((0.5 - half, 0.5 + half))
