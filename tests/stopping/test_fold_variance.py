"""The variance of a fold's mean at two levels: by hand, by its formula, and against made truth."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ecv_core.stopping.fold_variance import FoldVariance, fold_variance, user_variance

NAN = math.nan
K = 10


def plainly(values, folds):
    """The users' part for one set of folds, user by user as its formula reads."""
    seen = values[sorted(folds)]
    within, freedom = 0.0, 0
    for column in seen.T:
        scores = column[~np.isnan(column)]
        if len(scores) >= 2:
            within += scores.var() * len(scores)
            freedom += len(scores) - 1
    counts = [int(np.sum(~np.isnan(row))) for row in seen]
    between = sum(np.nanvar(row) * count for row, count in zip(seen, counts, strict=True))
    among = sum(count - 1 for count in counts)
    between /= among
    if not freedom:
        return between / np.mean(counts), among
    common = [
        np.sum(~np.isnan(seen[f]) & ~np.isnan(seen[g])) for f in range(len(seen)) for g in range(f)
    ]
    overlap = np.mean(common) / np.mean(counts)
    inner, outer = overlap * within / freedom, (1 - overlap) * between
    degrees = (inner + outer) ** 2 / (inner**2 / freedom + outer**2 / among)
    return (inner + outer) / np.mean(counts), max(1.0, degrees)


# Two users in two folds: (0.2, 0.8), (0.4, 0.8). Within: (0.2^2 / 2 + 0) / 2 = 0.01; all users are
# in both folds, so the variance of a fold's mean is 0.01 / 2, known from 2 differences.
TWO = np.array([[0.2, 0.8], [0.4, 0.8]])


@pytest.mark.parametrize(
    ("values", "chosen", "variance", "freedom"),
    [
        (TWO, [True, True], 0.005, 2),
        (TWO, [True, False], 0.18 / 2, 1),  # between 0.2 and 0.8: 0.6^2 / 2
        # A third user only in fold 0, a fourth only in fold 1: p = 2/3. Between: fold 0 of
        # 0.2 0.8 0.5 has 0.18, fold 1 of 0.4 0.8 0.6 has 0.08, over 4: 0.065.
        # (2/3 * 0.01 + 1/3 * 0.065) / 3; (0.02 + 0.065)^2 / (0.02^2 / 2 + 0.065^2 / 4) degrees
        (
            np.array([[0.2, 0.8, 0.5, NAN], [0.4, 0.8, NAN, 0.6]]),
            [True, True],
            (0.02 / 3 + 0.065 / 3) / 3,
            0.085**2 / (0.0002 + 0.00105625),
        ),
        # Nobody comes back: between only, fold 0 has 0.02, fold 1 has 0.08; 0.05 / 2
        (np.array([[0.2, 0.4, NAN, NAN], [NAN, NAN, 0.2, 0.6]]), [True, True], 0.025, 2),
    ],
)
def test_the_users_part_worked_by_hand(values, chosen, variance, freedom):
    found, degrees = user_variance(values, np.array([chosen]))
    assert found[0] == pytest.approx(variance)
    assert degrees[0] == pytest.approx(freedom)


def test_one_fold_of_one_user_tells_nothing():
    alone = np.array([[0.5]])
    assert np.isnan(user_variance(alone, np.array([[True]]))[0][0])
    variance = fold_variance(alone, np.array([[True]]), random=True)
    assert np.isnan(variance.half_widths(2, 0.95)[0])
    assert variance.half_widths(1, 0.95)[0] == 0  # all folds are in


@given(seed=st.integers(0, 10**6), folds=st.integers(2, 5), users=st.integers(3, 30))
def test_every_set_of_folds_gets_what_the_formula_says(seed, folds, users):
    rng = np.random.default_rng(seed)
    values = rng.random((folds, users))
    values[rng.random((folds, users)) < rng.random()] = NAN
    values[:, :2] = rng.random((folds, 2))  # no fold without at least two users
    sets = (np.arange(1, 2**folds)[:, None] >> np.arange(folds)) & 1 == 1
    expected = np.array([plainly(values, np.flatnonzero(chosen)) for chosen in sets])
    found = user_variance(values, sets)
    np.testing.assert_allclose(found[0], expected[:, 0], rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(found[1], expected[:, 1], rtol=1e-7)
    variance = fold_variance(values, sets, random=False)
    for chosen, observed in zip(sets, variance.observed, strict=True):
        means = np.nanmean(values[chosen], axis=1)
        wanted = means.var(ddof=1) if len(means) > 1 else NAN
        assert observed == pytest.approx(wanted, abs=1e-15, nan_ok=True)


def test_the_users_part_is_right_on_average_where_users_come_and_go():
    # Users differ (0.3), come to a fold with probability 0.6, and vary in it (0.1). The truth is
    # the variance of a fold's mean about the mean of the ten.
    rng = np.random.default_rng(0)
    told, found = [], []
    for _ in range(60):
        values = 0.5 + 0.3 * rng.standard_normal(300) + 0.1 * rng.standard_normal((10, 300))
        values[rng.random((10, 300)) > 0.6] = NAN
        told.append(user_variance(values, np.ones((1, 10), dtype=bool))[0][0])
        found.append(np.nanmean(values, axis=1).var(ddof=1))
    # 60 * 9 degrees of freedom: the ratio has a standard error of about 0.06
    assert np.mean(found) / np.mean(told) == pytest.approx(1, abs=0.2)


def levels(sizes, users, observed, *, random, freedom=1e9):
    """What is known of some sets of folds, without a matrix of users."""
    sizes, users, observed = np.broadcast_arrays(sizes, users, observed)
    return FoldVariance(
        sizes=sizes.astype(np.intp),
        users=users.astype(np.float64),
        users_freedom=np.full(sizes.shape, float(freedom)),
        observed=np.where(sizes > 1, observed, NAN),
        random=random,
    )


@pytest.mark.parametrize(
    ("random", "e", "observed", "variance", "freedom"),
    [
        # No random numbers: the users' part counts as known from 4.25 folds more than are seen...
        (False, 1, NAN, 1.0, 5.25),
        (False, 3, 0.1, 1.0, 7.25),
        # ...unless the moderated variance is wider: (12 * 1 + 2 * 4) / 14
        (False, 3, 4.0, 20 / 14, 14),
        # Random numbers: 11 times the users' part after one fold
        (True, 1, NAN, 11.0, 1e9),
        # then (0.75 * 1 + 1 * 2) / 1.75, with at most 4 degrees of freedom
        (True, 2, 2.0, 2.75 / 1.75, 1.75),
        (True, 9, 1.0, 1.0, 4),
        # but never less than what users explain: (0.75 + 2 * 0) / 2.75 * t(2.75)^2 is less
        (True, 3, 0.0, 1.0, 1e9),
        # Fold means that users cannot explain: 4 degrees of freedom, chi square 40, p = 4e-8
        (True, 5, 10.0, 10.0, 2),
        (False, 5, 10.0, 10.0, 2),
        (False, 2, 10.0, 10.0, 1),
    ],
)
def test_variance_and_freedom_worked_by_hand(random, e, observed, variance, freedom):
    found = levels([e], 1.0, observed, random=random)
    told, degrees = found.at(0.95)
    assert told[0] == pytest.approx(variance)
    assert degrees[0] == pytest.approx(freedom)
    reach = stats.t.ppf(0.975, freedom)
    wanted = reach * math.sqrt(variance * (1 / e - 1 / K))
    assert found.half_widths(K, 0.95)[0] == pytest.approx(wanted, rel=1e-6)


def test_few_users_make_wide_intervals():
    few = levels([2], 1.0, 1.0, random=False, freedom=3)
    # trust 3, so (3 + 1) / 4 with 4 degrees; alone: 3 degrees, which is wider
    assert few.at(0.95)[1][0] == pytest.approx(3)


def test_all_folds_leave_nothing_open_whatever_they_say():
    for random in (True, False):
        found = levels([K, K], [1.0, NAN], [100.0, NAN], random=random)
        assert list(found.half_widths(K, 0.95)) == [0, 0]


def test_users_who_all_score_alike_in_every_fold_are_known_exactly():
    alike = np.full((3, 50), 0.3)
    found = fold_variance(alike, np.ones((1, 3), dtype=bool), random=True)
    assert found.half_widths(K, 0.95)[0] == 0
    assert not found.p_values[0] < 0.05


def test_the_p_value_is_that_of_the_f_test():
    found = levels([4], 1.0, 3.0, random=True, freedom=60)
    assert found.p_values[0] == pytest.approx(stats.f.sf(3.0, 3, 60))


def test_differences_of_two_models_are_values_like_any_other():
    # Both share a fold's luck (0.05 for everybody), which cancels in their difference.
    rng = np.random.default_rng(5)
    luck = 0.05 * rng.standard_normal((K, 1))
    one = 0.5 + luck + 0.1 * rng.standard_normal((K, 400))
    other = 0.4 + luck + 0.1 * rng.standard_normal((K, 400))
    everything = np.ones((1, K), dtype=bool)
    alone = fold_variance(one, everything, random=True)
    paired = fold_variance(one - other, everything, random=True)
    assert alone.p_values[0] < 1e-6
    assert paired.p_values[0] > 0.05
    truth = 2 * 0.1**2 / 400
    assert paired.users[0] == pytest.approx(truth, rel=0.1)
