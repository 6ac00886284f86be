"""Intervals hold what they promise, where it is hardest: noisy trainings, like-minded users, looks.

The settings are those of `python -m benchmarks.coverage`, which tells the whole grid.
"""

import numpy as np
import pytest

from benchmarks.coverage import ADVERSARIES, faced
from ecv_core.analysis.exploration import outcome_over_orders
from ecv_core.figures.estimators import estimators_scores
from ecv_core.stopping import Precision, mean_interval
from ecv_core.stopping.interval import look_level, stop_interval
from ecv_core.store.recorded import FOLDER
from pages.learn.material.misleading_scores import coverage_by_stop
from scripts.reproduction import over_orders, recorded


def told(name, *, training=0.0, runs=500, sizes=None):
    """The worst of an adversary's sizes."""
    make, every = ADVERSARIES[name]
    outcomes = [faced(make, size, training=training, runs=runs) for size in sizes or every]
    return min(outcomes, key=lambda one: one.within)


@pytest.mark.slow
@pytest.mark.parametrize("training", [0.0, 1.0])
@pytest.mark.parametrize(
    "name", [one for one in ADVERSARIES if not one.endswith(("folds", "broken", "x3", "x30"))]
)
def test_whatever_folds_and_users_do_the_score_is_within_the_tolerance(name, training):
    # 93 % is promised; a standard error is 0.8 %, and this is the worst of six sizes.
    assert told(name, training=training, runs=1000).within >= 0.92


def test_where_users_explain_all_every_look_holds():
    assert told("users explain all", runs=1000, sizes=[0.7]).always >= 0.95 - 0.014


@pytest.mark.parametrize("name", ["rare 0/1 metric, 50 users", "ties: users score alike"])
def test_a_metric_of_few_zeros_or_ones_is_no_trap(name):
    assert told(name).within >= 0.97


@pytest.mark.parametrize("name", ["one of ten folds broken", "drift in the order of folds"])
def test_a_broken_fold_and_a_drift_are_said_once_they_are_there(name):
    assert told(name, sizes=[0.5]).doubted_at_all >= 0.95
    assert told("users explain all", sizes=[0.5]).doubted_at_all <= 0.01


@pytest.mark.slow
def test_every_recorded_run_keeps_95_percent_of_its_orders():
    outcomes = {name: over_orders(scores) for name, scores in recorded().items()}
    assert len(outcomes) >= 46
    kept = {name: min(within for within, _ in found) for name, found in outcomes.items()}
    assert {name: share for name, share in kept.items() if share < 0.95} == {}
    assert np.mean([found[1][1] for found in outcomes.values()]) <= 3.95  # folds, at 3 %


@pytest.mark.slow
def test_unstable_trainings_keep_93_percent_of_their_orders():
    runs = recorded(FOLDER / "unstable")
    assert len(runs) == 3
    for name, scores in runs.items():
        assert min(kept for kept, _ in over_orders(scores)) >= 0.93, name


def test_accuracy_within_1_percent_is_kept_in_every_cell_of_the_hardest_tables():
    recorded = estimators_scores()
    rule = Precision(0.01, metric="score")
    for table in ("letter", "twonorm", "wdbc", "wine"):
        kept = [outcome_over_orders(one, rule, within_percent=1).within for one in recorded[table]]
        assert min(kept) >= 0.95, table


def test_t_at_the_stop_is_too_narrow_and_what_allows_for_looks_is_not():
    # the paper's rule, alpha 1e-4, scores that deviate by 0.01; 200,000 runs
    told = {
        one.stop: (one.share, one.t_interval_holds, one.look_interval_holds)
        for one in coverage_by_stop(1e-4, 0.01, runs=200_000)
    }
    assert told[None][1] == pytest.approx(0.93, abs=0.003)
    assert told[3][1] == pytest.approx(0.65, abs=0.02)
    assert told[None][2] > 0.95
    # Whoever stops at a lucky fold 3 is still wrong more often; all stops together are not.
    assert told[3][1] < told[3][2] < 0.95


@pytest.mark.slow
@pytest.mark.parametrize(("first", "k"), [(2, 10), (3, 10), (4, 5), (3, 7)])
def test_every_look_holds_at_once_with_the_confidence(first, k):
    rng = np.random.default_rng(99)
    scores = rng.standard_normal((40_000, k))
    holds = np.ones(len(scores), dtype=bool)
    for n in range(first, k + 1):
        seen = scores[:, :n]
        half = stop_interval(
            [0.0, 1.0] * (n // 2) + [0.5] * (n % 2), first_look=first, k=k, confidence=0.95
        )
        # in units of the standard error, from an interval that is known
        spread = np.std([0.0, 1.0] * (n // 2) + [0.5] * (n % 2), ddof=1)
        reach = half.width / 2 / spread
        holds &= np.abs(seen.mean(axis=1)) <= reach * seen.std(axis=1, ddof=1)
    assert holds.mean() == pytest.approx(0.95, abs=0.004)  # standard error 0.0011


def test_a_single_look_is_students_t():
    scores = [0.3, 0.32, 0.29, 0.33]
    assert stop_interval(scores, first_look=4, k=4, confidence=0.9) == mean_interval(scores, 0.9)
    assert look_level(7, 7, 0.99) == pytest.approx(0.01)


def test_more_looks_cost_more_but_never_more_than_their_number():
    levels = [look_level(3, k, 0.9) for k in (3, 4, 6, 11)]
    assert levels == sorted(levels, reverse=True)
    for looks, level in zip((1, 2, 4, 9), levels, strict=True):
        assert 0.1 / looks - 1e-12 <= level <= 0.1 + 1e-12


def test_before_the_first_look_there_is_no_interval():
    assert stop_interval([0.3, 0.4], first_look=3, k=10, confidence=0.95) is None
    assert stop_interval([0.3], first_look=1, k=10, confidence=0.95) is None
