"""Our tests and intervals beside those of other libraries, on the same inputs.

The file says which versions computed its figures, and how.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from ecv_core.analysis.further_tests import correlated_bayes, friedman
from ecv_core.analysis.significance import corrected_t_test_over_folds, holm, t_tests_over_users
from ecv_core.stopping.interval import mean_interval

FIGURES = json.loads(Path(__file__).with_name("peer_statistics.json").read_text("utf-8"))
DIGITS = {"rel": 1e-7, "abs": 1e-9}


@pytest.mark.parametrize("problem", FIGURES["paired"], ids=lambda problem: problem["seed"])
def test_paired_tests_and_intervals_are_the_peers(problem):
    first = problem["first"]
    second = problem["second"]
    figures = problem["figures"]
    (by_users,) = t_tests_over_users([first, second], [(0, 1)])
    assert by_users.p == pytest.approx(figures["scipy ttest_rel p"], **DIGITS)
    for peer, confidence in (("statsmodels mean interval", 0.95), ("scipy t.interval 0.99", 0.99)):
        interval = mean_interval(first, confidence)
        assert [interval.low, interval.high] == pytest.approx(figures[peer], **DIGITS)


@pytest.mark.parametrize("problem", FIGURES["paired"], ids=lambda problem: problem["seed"])
def test_the_test_over_folds_is_twice_the_smaller_chance_of_baycomp(problem):
    chances = problem["figures"]["baycomp two_on_single"]
    by_folds = corrected_t_test_over_folds(
        problem["first"], problem["second"], k=len(problem["first"])
    )
    assert by_folds.p == pytest.approx(2 * min(chances), **DIGITS)


@pytest.mark.parametrize("problem", FIGURES["holm"], ids=lambda problem: problem["seed"])
def test_holms_correction_is_that_of_statsmodels(problem):
    assert holm(problem["p"]) == pytest.approx(problem["statsmodels"], **DIGITS)


@pytest.mark.parametrize("problem", FIGURES["paired"], ids=lambda problem: problem["seed"])
def test_the_chances_with_a_region_of_equivalence_are_those_of_baycomp(problem):
    differences = np.subtract(problem["first"], problem["second"])
    chances = correlated_bayes(differences, k=len(differences), margin=0.01)
    expected = problem["figures"]["baycomp two_on_single rope 0.01"]
    actual = [chances.first, chances.equivalent, chances.second]
    assert actual == pytest.approx(expected, **DIGITS)


@pytest.mark.parametrize("problem", FIGURES["ranks"], ids=lambda problem: problem["seed"])
def test_nemenyis_p_values_are_those_of_scikit_posthocs(problem):
    nemenyi_p = friedman(problem["scores"]).nemenyi_p
    assert nemenyi_p == pytest.approx(np.array(problem["scikit-posthocs nemenyi"]), rel=1e-5)
