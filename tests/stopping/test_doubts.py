"""Folds far off and drifts: found, not found where there are none, and by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from ecv_core.stopping.odd_folds import (
    FALSE_ALARM,
    doubt_about_scores,
    drift_p_value,
    far_fold_p_values,
)

CALM = [0.300, 0.301, 0.299, 0.3005, 0.2995, 0.3]
BROKEN = [*CALM[:4], 0.21, *CALM[4:]]
USERS = 0.001**2


def test_a_fold_far_below_the_others_is_named_with_how_far():
    for users in (USERS, math.nan):  # also where users' scores are not known
        said = doubt_about_scores(BROKEN, users)
        assert said.startswith(
            "The 5th fold scores 30 % below the others: find out why. Until this is explained, no"
        )
    assert doubt_about_scores([*BROKEN[:4], 0.39, 0.3], USERS).startswith(
        "The 5th fold scores 30 % above"
    )


def test_it_is_said_as_soon_as_the_fold_is_there():
    assert doubt_about_scores(BROKEN[:5], USERS).startswith("The 5th fold ")
    assert doubt_about_scores(BROKEN[:4], USERS) == ""


def test_a_drift_is_said_by_its_direction():
    rising = [0.30, 0.31, 0.32, 0.33, 0.34, 0.35, 0.36]
    assert doubt_about_scores(rising, USERS).startswith("Scores rise from fold to fold")
    assert doubt_about_scores(rising[::-1], math.nan).startswith("Scores fall from fold to fold")


def test_calm_folds_raise_no_alarm():
    assert doubt_about_scores(CALM, USERS) == ""
    assert doubt_about_scores(CALM[:2], USERS) == ""
    assert doubt_about_scores([0.3] * 6, 0.0) == ""
    right_or_wrong = [1.0] * 40 + [0.0]  # each sample left out by itself
    assert doubt_about_scores(right_or_wrong, math.nan) == ""


def test_without_users_the_other_folds_tell_by_students_t():
    # a two-sample t test of the fold against the others with their variance, times seven folds
    others = np.array(CALM)
    off = (0.21 - others.mean()) / (others.std(ddof=1) * math.sqrt(1 + 1 / 6))
    assert far_fold_p_values(BROKEN, math.nan)[4] == pytest.approx(7 * 2 * stats.t.sf(abs(off), 5))
    slope = stats.linregress(range(7), BROKEN)
    assert drift_p_value(BROKEN, math.nan) == pytest.approx(slope.pvalue)


@pytest.mark.parametrize("known", [True, False])
def test_false_alarms_are_as_rare_as_is_said(known):
    scores = 0.3 + 0.01 * np.random.default_rng(1).standard_normal((20_000, 10))
    users = np.full(len(scores), 1e-4 if known else np.nan)
    for likely in (lambda *told: far_fold_p_values(*told).min(axis=1), drift_p_value):
        alarms = np.zeros(len(scores), dtype=bool)
        for n in range(3, 11):
            alarms |= likely(scores[:, :n], users) < FALSE_ALARM / 10
        assert alarms.mean() <= FALSE_ALARM


def test_a_drift_is_named_by_its_line_and_not_by_its_ends() -> None:
    scores = [0.3] + [0.1] * 9 + [0.5] * 9 + [0.29]  # the line rises by 0.02 from fold to fold
    assert doubt_about_scores(scores, math.nan).startswith("Scores rise ")
    assert doubt_about_scores(scores[::-1], math.nan).startswith("Scores fall ")


@pytest.mark.parametrize(
    "scores",
    [
        [0.9, 0.9, 1.0],
        [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.991, 1.0, 1.0],
        [0.7, 0.8, 0.9],
        [14 / 15, 13 / 15, 12 / 15, 11 / 15],
    ],
)
def test_equal_folds_or_folds_on_a_line_are_no_proof_that_others_would_be(scores):
    # Without users' scores nothing but the folds tells, and such ones have no spread.
    assert doubt_about_scores(scores, math.nan) == ""
    assert doubt_about_scores(scores, 0.0) == ""


def test_shares_of_a_few_samples_seldom_raise_an_alarm_by_folds_alone():
    # Folds of 15 samples, of which 9 in 10 are right: normal scores would give 2 % in all.
    shares = np.random.default_rng(1).binomial(15, 0.9, size=(2_000, 10)) / 15
    unknown = np.full(len(shares), np.nan)
    alarms = np.zeros(len(shares), dtype=bool)
    for n in range(3, 11):
        far_fold = far_fold_p_values(shares[:, :n], unknown).min(axis=1)
        drift = drift_p_value(shares[:, :n], unknown)
        alarms |= np.minimum(far_fold, drift) < FALSE_ALARM / 10
    assert alarms.mean() <= 0.04


def test_a_fold_that_is_a_little_below_is_not_0_percent_below():
    scores = [0.9000, 0.9001, 0.8999, 0.9000, 0.9001, 0.8964]
    said = doubt_about_scores(scores, 0.0001**2)
    assert said.startswith("The 6th fold scores 0.4 % below")


def test_the_drift_of_five_scores_that_have_no_step_is_that_of_the_t_test_of_a_slope():
    # Five folds that rise by 20 deviations each: the t test of a slope finds all such drifts.
    scores = np.random.default_rng(1).standard_normal((200, 5)) + 20 * np.arange(5)
    found = drift_p_value(scores, np.full(200, np.nan))
    expected = [stats.linregress(range(5), row).pvalue for row in scores]
    assert found == pytest.approx(expected)
