"""The variance of a fold's mean at two levels: by hand, by its formula, and against made truth."""

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ecv_core.stopping.fold_variance import (
    FoldVariance,
    fold_variance,
    look_error,
    p_value,
    user_moments,
    user_variance,
    wilson_half_width,
)

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
@pytest.mark.parametrize("by_pairs", [0, 64], ids=["by means", "by pairs"])
def test_the_users_part_worked_by_hand(values, chosen, variance, freedom, by_pairs, monkeypatch):
    monkeypatch.setattr("ecv_core.stopping.fold_variance._MOST_FOLDS_IN_PAIRS", by_pairs)
    found, degrees = user_variance(values, np.array([chosen]))
    assert found[0] == pytest.approx(variance)
    assert degrees[0] == pytest.approx(freedom)


def test_one_fold_of_one_user_tells_nothing():
    alone = np.array([[0.5]])
    assert np.isnan(user_variance(alone, np.array([[True]]))[0][0])
    variance = fold_variance(alone, np.array([[True]]))
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
    variance = fold_variance(values, sets)
    for chosen, observed in zip(sets, variance.of_fold_means, strict=True):
        means = np.nanmean(values[chosen], axis=1)
        wanted = means.var(ddof=1) if len(means) > 1 else NAN
        assert observed == pytest.approx(wanted, abs=1e-15, nan_ok=True)


@pytest.mark.parametrize("models", [1, 2])
def test_few_sets_of_many_folds_get_what_the_formula_says(models):
    """Of two models each alone, as their differences are values like any other."""
    rng = np.random.default_rng(3)
    values = rng.random((models, 80, 40))
    values[:, rng.random((80, 40)) < 0.7] = NAN
    values[:, :, :2] = rng.random((models, 80, 2))
    sets = rng.random((3, 80)) < 0.8
    moments = user_moments(values, sets)
    for model in range(models):
        found = moments.variance_of(np.eye(models)[[model] * 3])
        expected = np.array([plainly(values[model], np.flatnonzero(chosen)) for chosen in sets])
        np.testing.assert_allclose(found[0], expected[:, 0], rtol=1e-9)
        np.testing.assert_allclose(found[1], expected[:, 1], rtol=1e-7)


def test_a_thousand_folds_take_no_memory_for_each_two_of_them():
    rng = np.random.default_rng(4)
    values = rng.random((1000, 400))
    values[rng.random((1000, 400)) < 0.97] = NAN
    values[:, :2] = 0.5
    tracemalloc.start()
    user_variance(values, np.ones((1, 1000), dtype=bool))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100e6


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


def levels(sizes, users, observed, *, freedom=1e9):
    """What is known of some sets of folds, without a matrix of users."""
    sizes, users, observed = np.broadcast_arrays(sizes, users, observed)
    return FoldVariance(
        sizes=sizes.astype(np.intp),
        by_users=users.astype(np.float64),
        users_freedom=np.full(sizes.shape, float(freedom)),
        of_fold_means=np.where(sizes > 1, observed, NAN),
    )


EFFECTS = [0] + [2**octave for octave in range(-1, 11)]
PRIOR = [0.8] + [0.2 / 12] * 12


def farther(distance, ratio, e):
    """Bayes' theorem as a textbook has it; s2 is a chi squared variable."""
    likelihoods = [
        1.0 if e == 1 else stats.chi2.pdf((e - 1) * ratio / (1 + r), e - 1) / (1 + r)
        for r in EFFECTS
    ]
    joint = [p * one for p, one in zip(PRIOR, likelihoods, strict=True)]
    tails = [2 * stats.norm.sf(distance, scale=math.sqrt(1 + r)) for r in EFFECTS]
    return sum(j * t for j, t in zip(joint, tails, strict=True)) / sum(joint)


@pytest.mark.parametrize(
    ("e", "ratio"), [(1, NAN), (2, 0.1), (2, 4.0), (3, 1.0), (5, 10.0), (9, 0.7), (9, 46.0)]
)
def test_an_interval_reaches_as_far_as_bayes_theorem_says(e, ratio):
    half = levels([e], 1.0, ratio).half_widths(K, 0.95)[0]
    error = look_error(K, 0.95)
    distance = half / math.sqrt(1 / e - 1 / K)
    assert farther(distance, ratio, e) == pytest.approx(error, rel=1e-6)
    assert p_value(distance, ratio, e) == pytest.approx(error, rel=1e-6)


def test_few_users_make_wide_intervals():
    few, many = levels([2], 1.0, 1.0, freedom=3), levels([2], 1.0, 1.0)
    tail = look_error(K, 0.95) / 2
    ratio = stats.t.isf(tail, 3) / stats.norm.isf(tail)
    assert few.half_widths(K, 0.95) == pytest.approx(many.half_widths(K, 0.95) * ratio)


def test_fold_means_beyond_every_effect_of_the_prior_count_alone():
    half = levels([3], 1.0, 1e9).half_widths(K, 0.95)[0]
    wanted = stats.t.isf(look_error(K, 0.95) / 2, 2) * math.sqrt(1e9 * (1 / 3 - 1 / K))
    assert half == pytest.approx(wanted)
    assert levels([3], 0.0, 1.0).half_widths(K, 0.95)[0] > 0  # users explain nothing


def test_all_folds_leave_nothing_open_whatever_they_say():
    found = levels([K, K], [1.0, NAN], [100.0, NAN])
    assert list(found.half_widths(K, 0.95)) == [0, 0]


@pytest.mark.parametrize(
    ("k", "confidence"), [pytest.param(10, 0.95, marks=pytest.mark.slow), (5, 0.8), (3, 0.95)]
)
def test_all_looks_hold_at_once_where_users_explain_everything(k, confidence):
    rng = np.random.default_rng(7)
    scores = rng.standard_normal((20_000, k))
    holds = np.ones(len(scores), dtype=bool)
    for e in range(1, k):
        seen = scores[:, :e]
        observed = seen.var(axis=1, ddof=1) if e > 1 else NAN
        half = levels(np.full(len(scores), e), 1.0, observed).half_widths(k, confidence)
        holds &= np.abs(seen.mean(axis=1) - scores.mean(axis=1)) <= half
    # Standard error 0.0015. Of three folds each look alone is held down to the confidence.
    assert holds.mean() >= confidence - 0.006
    if k >= 5:
        assert holds.mean() <= confidence + 0.006


def test_a_zero_is_not_certain():
    # 50 users without a hit, one fold of ten: had one had a hit, the variance between users would
    # be about 1 / 49, that of a fold's mean 1 / 49 / 50.
    nothing = np.zeros((10, 50))
    first, all_in = np.eye(10, dtype=bool)[:1], np.ones((1, 10), dtype=bool)
    found, degrees = user_variance(nothing, first)
    assert found[0] == pytest.approx(1 / 49 / 50)
    assert degrees[0] == 49
    # Truly up to 3 / 50 (rule of three), and the mean of all folds 0.9 times as far off.
    assert fold_variance(nothing, first).half_widths(K, 0.95)[0] >= 0.9 * 3 / 50
    assert fold_variance(nothing, all_in).half_widths(K, 0.95)[0] == 0
    # Ratings have another scale than 1.
    assert user_variance(nothing + 4.0, first)[0][0] == pytest.approx(16 / 49 / 50)


def test_the_p_value_is_that_of_the_f_test():
    found = levels([4], 1.0, 3.0, freedom=60)
    assert found.p_values[0] == pytest.approx(stats.f.sf(3.0, 3, 60))


def test_differences_of_two_models_are_values_like_any_other():
    # Both share a fold's luck (0.05 for everybody), which cancels in their difference.
    rng = np.random.default_rng(5)
    luck = 0.05 * rng.standard_normal((K, 1))
    one = 0.5 + luck + 0.1 * rng.standard_normal((K, 400))
    other = 0.4 + luck + 0.1 * rng.standard_normal((K, 400))
    everything = np.ones((1, K), dtype=bool)
    alone = fold_variance(one, everything)
    paired = fold_variance(one - other, everything)
    assert alone.p_values[0] < 1e-6
    assert paired.p_values[0] > 0.05
    truth = 2 * 0.1**2 / 400
    assert paired.by_users[0] == pytest.approx(truth, rel=0.1)


@pytest.mark.parametrize(
    ("hits", "samples", "low", "high"),
    # Newcombe (1998), table I, method 4: score intervals at 95 % with continuity correction.
    [
        (81, 263, 0.2535, 0.3682),
        (15, 148, 0.0598, 0.1644),
        (0, 20, 0, 0.2005),
        (1, 29, 0.0018, 0.1963),
    ],
)
def test_a_share_of_endlessly_many_samples_has_the_published_interval(hits, samples, low, high):
    found = wilson_half_width(
        np.array([hits, samples - hits]), np.array([samples] * 2), np.array([1e9] * 2), 1.959964
    )
    seen = hits / samples
    assert found == pytest.approx(max(seen - low, high - seen), abs=6e-5)  # of zeros or of ones


@pytest.mark.parametrize(("seen", "whole"), [(9, 10), (4, 10), (1, 5)])
def test_a_share_of_some_folds_is_as_near_as_said_to_that_of_all_of_them(seen, whole):
    samples, every = 18 * seen, 18 * whole
    hits = np.arange(samples + 1)
    distance = wilson_half_width(
        hits, np.full(len(hits), samples), np.full(len(hits), whole / seen), 1.959964
    )
    for ones in range(every + 1):  # whatever the truth is: exactly, without replacement
        near = np.abs(hits / samples - ones / every) <= distance + 1e-12
        assert stats.hypergeom.pmf(hits, every, ones, samples) @ near >= 0.95 - 0.01


def test_counts_of_samples_held_out_once_take_the_place_of_their_variance():
    rng = np.random.default_rng(0)
    right = np.full((10, 500), np.nan)
    right[np.arange(500) % 10, np.arange(500)] = rng.random(500) < 0.97
    chosen = np.tri(10, dtype=np.bool_)
    counted = fold_variance(right, chosen)
    assert counted.samples is not None
    assert counted.samples[1:].tolist() == [50 * folds for folds in range(2, 11)]
    plain = fold_variance(right * 2, chosen)  # no count: their scale is another one
    assert plain.hits is None
    found, other = counted.half_widths(10, 0.95), plain.half_widths(10, 0.95) / 2
    assert (found > 1.02 * other)[1:-1].all()  # few errors: their variance is hardly known
    assert found[-1] == 0
    assert found[0] == other[0]  # with one fold nobody knows whether samples come twice
    back = np.where(np.isnan(right), right[::-1], right)  # each sample comes twice
    assert np.isnan(fold_variance(back, chosen).hits[-1])


@pytest.mark.parametrize("cached", [1, 20, 100])
def test_users_of_a_pattern_count_wherever_a_block_ends(cached, monkeypatch):
    rng = np.random.default_rng(0)
    values = rng.random((4, 60))
    values[rng.random((4, 60)) < 0.3] = NAN  # 16 patterns; blocks of 1, 5 and 25 users
    monkeypatch.setattr("ecv_core.stopping.fold_variance._CACHED_SCORES", cached)
    sets = np.tri(4, dtype=np.bool_)
    expected = [plainly(values, range(folds)) for folds in range(1, 5)]
    np.testing.assert_allclose(np.transpose(user_variance(values, sets)), expected, rtol=1e-12)


def test_more_folds_than_a_number_has_bits_are_told_apart():
    rng = np.random.default_rng(0)
    values = rng.random((70, 40))
    values[rng.random((70, 40)) < 0.2] = NAN
    values[64:, :20] = NAN
    found = np.transpose(user_variance(values, np.ones((1, 70), dtype=np.bool_)))
    np.testing.assert_allclose(found[0], plainly(values, range(70)), rtol=1e-12)


def test_near_a_bound_three_users_more_are_counted_who_differ_by_the_whole_scale():
    # Nine users at 1 and one at 0.5: a mean of 0.95 and a sum of squares of 0.225, of 9 degrees of
    # freedom a fold. So u is 0.45 / 18 / 10, and three users more add 3 / 18 / 10.
    folds = apart([[1.0] * 9 + [0.5]] * 2)
    variance = fold_variance(folds, np.ones((1, 2), dtype=np.bool_))
    assert variance.by_users[0] == pytest.approx(0.45 / 180 + 3 / 180)


@pytest.mark.parametrize(
    ("scores", "sum_of_squares"),
    [
        ([0.9] * 9 + [0.4], 0.225),  # a mean of 0.85: no bound is near
        ([0.9] * 9 + [1.4], 0.225),  # errors, most of them small: the far ones are above
        ([1.1] * 9 + [0.6], 0.225),  # a mean of 1.05: there is no bound at 1
    ],
)
def test_far_from_a_bound_users_are_counted_as_they_are(scores, sum_of_squares):
    variance = fold_variance(apart([scores] * 2), np.ones((1, 2), dtype=np.bool_))
    assert variance.by_users[0] == pytest.approx(2 * sum_of_squares / 18 / 10)


def test_what_is_counted_near_a_bound_depends_on_the_folds_seen_alone():
    rows = [[1.0] * 9 + [0.5]] * 2 + [[1.0] * 9 + [-3.0]]
    seen = fold_variance(apart(rows[:2]), np.ones((1, 2), dtype=np.bool_))
    of_three = fold_variance(apart(rows), np.array([[True, True, False]]))
    assert of_three.by_users[0] == pytest.approx(seen.by_users[0])


def apart(rows):
    """Scores of users who are each in one fold only; shape (folds, users)."""
    table = np.full((len(rows), sum(map(len, rows))), np.nan)
    start = 0
    for fold, row in enumerate(rows):
        table[fold, start : start + len(row)] = row
        start += len(row)
    return table
