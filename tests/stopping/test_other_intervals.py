"""The methods of other libraries that benchmarks.other_intervals writes anew, by hand."""

import numpy as np
import pytest

from benchmarks.other_intervals import conservative_z, corrected_t, nested, wald

ROWS = np.arange(100)


def always_right(train, test):
    assert np.intersect1d(train, test).size == 0
    return np.ones(len(test))


def test_wald_has_the_variance_of_all_rows():
    scores = np.array([[1.0, 0.0, np.nan, np.nan], [np.nan, np.nan, 1.0, 1.0]])
    # mean 3/4, variance 3/16, over 4 rows: 1.95996 * sqrt(3/64) = 0.42434
    assert wald(scores) == pytest.approx((0.75 - 0.42434, 0.75 + 0.42434), abs=1e-5)


def test_the_corrected_t_counts_what_draws_share():
    calls = []

    def right(train, test):
        """Half of the rows in 12 of 25 draws, all in 13."""
        assert (len(train), len(test)) == (90, 10)
        calls.append(len(test))
        if len(calls) <= 12:
            return np.repeat([0.0, 1.0], 5)
        return np.ones(10)

    # mean 0.76, variance 1.56 / 24 = 0.065, times 1/25 + 10/90; t of 24 degrees 2.06390
    half = 2.06390 * np.sqrt(0.065 * (1 / 25 + 10 / 90))
    low, high = corrected_t(ROWS, right, np.random.default_rng(0))
    assert (low, high) == pytest.approx((0.76 - half, 0.76 + half), abs=1e-5)


def test_halves_that_differ_alike_have_their_squared_difference_as_variance():
    calls = []

    def right(train, test):
        """All rows, but of the second half of every division none."""
        calls.append(len(train))
        inside = len(calls) - 15
        if inside > 0 and (inside - 1) // 15 % 2 == 1:
            return np.zeros(len(test))
        return np.ones(len(test))

    # ten differences of 1: variance 10 / 20
    half = 1.959964 * np.sqrt(0.5)
    interval = conservative_z(ROWS, right, np.random.default_rng(0))
    assert interval == pytest.approx((1 - half, 1 + half), abs=1e-6)
    assert calls[:15] == [90] * 15  # and as many held out of each half
    assert calls[15:] == [40] * 300


def test_nested_folds_without_a_mistake_are_certain_and_meet_each_row_once():
    assert nested(ROWS, always_right, np.random.default_rng(0)) == (1.0, 1.0)


def test_nested_is_as_wide_as_its_least_where_only_rows_vary():
    by_row = np.random.default_rng(1).random(100)

    def right(train, test):
        return by_row[test]

    low, high = nested(ROWS, right, np.random.default_rng(0))
    # every model scores a row alike, so inner and outer folds have the same mean: no bias
    assert (low + high) / 2 == pytest.approx(by_row.mean())
    assert high - low >= 2 * 1.959964 * by_row.std() / 10 * 0.999
