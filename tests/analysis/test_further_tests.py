"""Equivalence, signed ranks, randomization and ranks over datasets: by hand and by publication."""

import numpy as np
import pytest
from scipy import stats

from ecv_core.analysis.further_tests import (
    correlated_bayes,
    friedman,
    randomization_p,
    signed_rank_p,
)
from ecv_core.records.errors import InputError

# Demsar (2006), table 6: AUC of C4.5 with four settings on 14 datasets.
DEMSAR = [
    (0.763, 0.768, 0.771, 0.798),
    (0.599, 0.591, 0.590, 0.569),
    (0.954, 0.971, 0.968, 0.967),
    (0.628, 0.661, 0.654, 0.657),
    (0.882, 0.888, 0.886, 0.898),
    (0.936, 0.931, 0.916, 0.931),
    (0.661, 0.668, 0.609, 0.685),
    (0.583, 0.583, 0.563, 0.625),
    (0.775, 0.838, 0.866, 0.875),
    (1.000, 1.000, 1.000, 1.000),
    (0.940, 0.962, 0.965, 0.962),
    (0.619, 0.666, 0.614, 0.669),
    (0.972, 0.981, 0.9751, 0.975),
    (0.957, 0.978, 0.946, 0.970),
]


def test_friedman_and_nemenyi_are_those_of_demsars_example():
    ranks = friedman(DEMSAR)
    assert ranks.mean_ranks == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=0.001)
    # 9.28 there, without the correction for ties: three pairs, and one dataset on which all tie.
    ties = 3 * (2**3 - 2) + (4**3 - 4)
    assert ranks.statistic * (1 - ties / (14 * 4 * (4**2 - 1))) == pytest.approx(9.28, abs=0.01)
    assert ranks.critical_difference == pytest.approx(1.25, abs=0.005)
    # "C4.5 and C4.5+m+cf", 1.18 apart, are just not found to differ at 5 %.
    assert 0.05 < ranks.nemenyi_p[0, 3] < 0.1


def test_learners_that_tie_everywhere_are_not_told_apart():
    ranks = friedman(np.ones((4, 3)))
    assert (ranks.statistic, ranks.p) == (0, 1)
    assert ranks.mean_ranks.tolist() == [2, 2, 2]


def test_a_score_that_is_missing_has_no_rank():
    with pytest.raises(InputError, match="Friedman"):
        friedman([[1, 2, np.nan]] * 2)


def test_the_signed_rank_test_of_five_pairs_that_agree_is_two_of_32_signs():
    assert signed_rank_p([1, 2, 3, 4, 5]) == pytest.approx(2 / 32)
    assert signed_rank_p([1, 2, 3, 0, 4, 5]) == pytest.approx(2 / 32)
    assert signed_rank_p([0, 0]) == 1


def test_the_randomization_test_is_scipys():
    differences = np.random.default_rng(2).normal(0.6, 1, 12)
    exact = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=np.inf
    )
    # 9,999 draws: a standard error of the p value of at most 0.005.
    assert randomization_p(differences) == pytest.approx(exact.pvalue, abs=0.015)
    assert randomization_p([1, 2, 3]) == pytest.approx(2 / 8, abs=0.015)
    assert randomization_p([0, 0]) == 1


def test_the_randomization_test_draws_no_others_in_several_blocks(monkeypatch):
    differences = np.random.default_rng(5).normal(0.2, 1, 30)
    at_once = randomization_p(differences, flips=500)
    monkeypatch.setattr("ecv_core.analysis.further_tests.BLOCK_CELLS", 300)
    assert randomization_p(differences, flips=500) == pytest.approx(at_once, abs=0.08)


@pytest.mark.parametrize(
    ("differences", "margin"), [([0.1], 0.01), ([0.1, 0.2], -1), ([0.5, 0.5], 0.01), ([0, 0], 0.01)]
)
def test_folds_without_a_spread_or_a_negative_margin_are_refused(differences, margin):
    with pytest.raises(InputError):
        correlated_bayes(differences, k=10, margin=margin)


def test_sizes_that_only_rounding_keeps_apart_are_ties():
    # Scores in tenths, kept in 32 bits: +0.1 three times, -0.1 once, -0.2, and two that are equal.
    first = np.array([0.3, 0.7, 0.9, 0.1, 0.1, 0.4, 0.1 + 0.2], dtype=np.float32)
    second = np.array([0.2, 0.6, 0.8, 0.2, 0.3, 0.4, 0.3], dtype=np.float64)
    p = signed_rank_p(first.astype(np.float64) - second, rounding=5e-7)
    assert p == pytest.approx(stats.wilcoxon([1, 1, 1, -1, -2]).pvalue)
    assert signed_rank_p([1e-9, -1e-9, 2e-9], rounding=5e-7) == 1


def test_sizes_that_lie_close_together_are_not_all_one_tie():
    # Each is within rounding of the next, but only two of any neighbours are of one another.
    p = signed_rank_p([10.0, 10.9, -11.8, 12.7], rounding=1.0)
    assert p == pytest.approx(stats.wilcoxon([1, 1, -2, 2]).pvalue)


def test_learners_whose_means_only_rounding_keeps_apart_tie():
    scores = [(np.mean([0.1, 0.2, 0.3]), np.mean([0.3, 0.2, 0.1]), 0.1), (0.5, 0.4, 0.3)]
    assert scores[0][0] != scores[0][1]  # by one digit in the sixteenth place
    assert friedman(scores).mean_ranks.tolist() == [1.25, 1.75, 3]
