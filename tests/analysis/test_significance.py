"""Paired tests: closed forms, scipy's own tests, Holm's example by hand, and invariants."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ecv_core.analysis.significance import (
    bootstrap_means,
    corrected_t_test_over_folds,
    holm,
    t_tests_over_users,
)
from ecv_core.records.errors import InputError

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=12)
SCORES = st.lists(
    st.tuples(st.floats(0, 1, width=16), st.floats(0, 1, width=16)), min_size=2, max_size=12
)


def two_sided_p_with_two_degrees(t):
    """Student's distribution with 2 degrees of freedom has a closed form."""
    return 1 - abs(t) / math.sqrt(t * t + 2)


def test_the_t_test_over_users_is_the_textbooks():
    # Differences 1, 2, 3: mean 2, deviation 1, t = 2 * sqrt(3).
    (test,) = t_tests_over_users([[2.0, 4.0, 6.0], [1.0, 2.0, 3.0]], [(0, 1)])
    assert test.difference == pytest.approx(2)
    assert test.p == pytest.approx(two_sided_p_with_two_degrees(2 * math.sqrt(3)))
    assert test.effect == pytest.approx(2)
    assert test.pairs == 3


def test_users_agree_with_scipys_paired_tests():
    rng = np.random.default_rng(1)
    first, second = rng.random(200), rng.random(200) + 0.05
    (test,) = t_tests_over_users([first, second], [(0, 1)])
    scipys = stats.ttest_rel(first, second)
    assert test.p == pytest.approx(scipys.pvalue)
    assert (test.low, test.high) == pytest.approx(tuple(scipys.confidence_interval(0.95)))


def test_of_three_users_the_interval_is_as_wide_as_the_textbooks():
    # Differences 1, 2, 3 with a standard error of 1 / sqrt(3), and 4.3027 of any table.
    (test,) = t_tests_over_users([[2.0, 4.0, 6.0], [1.0, 2.0, 3.0]], [(0, 1)])
    assert test.high - 2 == pytest.approx(4.3027 / math.sqrt(3), rel=1e-4)
    assert test.low < 0 < test.high


def test_the_fold_test_widens_the_variance_by_the_share_that_is_tested_on():
    # Differences 1, 2, 3 over all folds of 3: variance (1/3 + 1/2) * 1, t = 2 / sqrt(5/6).
    test = corrected_t_test_over_folds([2, 4, 6], [1, 2, 3], k=3)
    t = 2 / math.sqrt(5 / 6)
    assert test.p == pytest.approx(two_sided_p_with_two_degrees(t))
    # 95 % of Student's distribution with 2 degrees of freedom: 4.3027 (any table).
    assert test.high - 2 == pytest.approx(4.3027 * math.sqrt(5 / 6), rel=1e-4)
    assert test.effect is None


def test_dependent_folds_are_never_surer_than_a_plain_t_test():
    first, second = [0.3, 0.32, 0.31, 0.35], [0.29, 0.30, 0.32, 0.31]
    assert (
        corrected_t_test_over_folds(first, second, k=10).p > stats.ttest_rel(first, second).pvalue
    )


def test_the_same_scores_are_no_difference_and_a_constant_one_has_no_p():
    (same,) = t_tests_over_users([[0.1, 0.2], [0.1, 0.2]], [(0, 1)])
    assert (same.difference, same.low, same.high, same.p) == (0, 0, 0, 1)
    (shifted,) = t_tests_over_users([[1.0, 2.0, 3.0], [0.0, 1.0, 2.0]], [(0, 1)])
    assert (shifted.difference, shifted.effect) == (1, None)
    assert np.isnan([shifted.p, shifted.low, shifted.high]).all()
    # In binary 0.3 - 0.2 is less than 0.2 - 0.1, though both are meant to be 0.1.
    folds = corrected_t_test_over_folds([0.2, 0.3], [0.1, 0.2], k=10)
    assert np.isnan([folds.p, folds.low, folds.high]).all()


def test_bootstrap_means_of_two_users_are_those_of_two_coins():
    means = bootstrap_means(np.array([[0.0, 1.0]]), resamples=4000)[0]
    shares = [np.mean(means == value) for value in (0, 0.5, 1)]
    assert shares == pytest.approx([0.25, 0.5, 0.25], abs=0.03)


def test_bootstrap_means_do_not_depend_on_how_many_are_drawn_at_once(monkeypatch):
    values = np.random.default_rng(0).random((2, 50))
    at_once = bootstrap_means(values, resamples=100)
    monkeypatch.setattr("ecv_core.analysis.significance.BLOCK_CELLS", 350)
    assert bootstrap_means(values, resamples=100) == pytest.approx(at_once)


def test_holms_correction_by_hand():
    # Sorted 0.005 * 4, 0.01 * 3, 0.03 * 2, and 0.04 takes over 0.06 from before it.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]).tolist() == [1, 1]
    assert holm([]).tolist() == []


def test_holm_corrects_every_row_for_itself():
    # 0.01 of three counts as 0.03, 0.02 of the two left as 0.04, and 0.04 as it is.
    corrected = holm([[0.04, 0.01, 0.02], [0.6, 0.7, 0.001]])
    assert corrected == pytest.approx(np.array([[0.04, 0.03, 0.04], [1, 1, 0.003]]))


@given(P_VALUES)
def test_holm_never_lowers_a_p_value_and_keeps_their_ranking(p_values):
    corrected = holm(p_values).tolist()
    assert all(p <= q <= 1 for p, q in zip(p_values, corrected, strict=True))
    ranked = [corrected[at] for at in sorted(range(len(p_values)), key=p_values.__getitem__)]
    assert ranked == sorted(ranked)


@given(P_VALUES, st.randoms())
def test_holm_does_not_depend_on_the_order_of_the_comparisons(p_values, random):
    order = list(range(len(p_values)))
    random.shuffle(order)
    shuffled = holm([p_values[at] for at in order])
    assert sorted(shuffled.tolist()) == sorted(holm(p_values).tolist())


@settings(max_examples=30)
@given(SCORES)
def test_swapping_the_two_only_changes_signs(scores):
    values = np.array(scores).T
    one, other = t_tests_over_users(values, [(0, 1), (1, 0)])
    folds, reverse = (
        corrected_t_test_over_folds(values[a].tolist(), values[b].tolist(), k=12)
        for a, b in ((0, 1), (1, 0))
    )
    for first, second in ((one, other), (folds, reverse)):
        assert first.difference == pytest.approx(-second.difference)
        assert (first.low, first.high) == pytest.approx((-second.high, -second.low), nan_ok=True)
        assert first.p == pytest.approx(second.p, nan_ok=True)
        assert np.isnan(first.p) or 0 <= first.p <= 1


@pytest.mark.parametrize(
    ("scores", "words"),
    [([[0.1], [0.2]], "at least two users"), ([[0.1, math.nan], [0.2, 0.3]], "a finite score")],
)
def test_what_cannot_be_tested_is_a_sentence(scores, words):
    with pytest.raises(InputError, match=words):
        t_tests_over_users(scores, [(0, 1)])
