"""Our tests and intervals beside those of scipy, statsmodels and baycomp, on the same inputs.

The file says which versions computed its figures, and how.
"""

import json
from pathlib import Path

import pytest

from ecv_core.analysis.significance import holm, over_folds, over_users
from ecv_core.stopping.interval import mean_interval

FIGURES = json.loads(Path(__file__).with_name("peer_statistics.json").read_text("utf-8"))
DIGITS = {"rel": 1e-7, "abs": 1e-9}


@pytest.mark.parametrize("problem", FIGURES["paired"], ids=lambda problem: problem["seed"])
def test_paired_tests_and_intervals_are_the_peers(problem):
    first = problem["first"]
    second = problem["second"]
    figures = problem["figures"]
    (by_users,) = over_users([first, second], [(0, 1)], resamples=2)
    assert by_users.p == pytest.approx(figures["scipy ttest_rel p"], **DIGITS)
    for peer, confidence in (("statsmodels mean interval", 0.95), ("scipy t.interval 0.99", 0.99)):
        interval = mean_interval(first, confidence)
        assert [interval.low, interval.high] == pytest.approx(figures[peer], **DIGITS)


@pytest.mark.parametrize("problem", FIGURES["paired"], ids=lambda problem: problem["seed"])
def test_the_test_over_folds_is_twice_the_smaller_chance_of_baycomp(problem):
    chances = problem["figures"]["baycomp two_on_single"]
    by_folds = over_folds(problem["first"], problem["second"], k=len(problem["first"]))
    assert by_folds.p == pytest.approx(2 * min(chances), **DIGITS)


@pytest.mark.parametrize("problem", FIGURES["holm"], ids=lambda problem: problem["seed"])
def test_holms_correction_is_that_of_statsmodels(problem):
    assert holm(problem["p"]) == pytest.approx(problem["statsmodels"], **DIGITS)
