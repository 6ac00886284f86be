"""Other rules over orders of folds, by exact walk or by drawn orders; what is refused."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecv_core.analysis.exploration import explore, outcome_over_orders
from ecv_core.analysis.orders.exact import Orders
from ecv_core.analysis.orders.subsets import FoldSubsets
from ecv_core.records.errors import InputError, UnknownName
from ecv_core.records.run import Scores
from ecv_core.stopping import StdStagnation
from tests.analysis.orders.test_orders import FIELDS, score


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([], "at least two scores are needed, but there is only 0"),
        ([0.3], "at least two scores are needed, but there is only 1"),
        ([0.3, math.nan, 0.2], "the score of fold 1 must be a finite number, but is nan"),
        ([0.3, 0.2, math.inf], "the score of fold 2 must be a finite number, but is inf"),
        (["a", "b"], "fold scores must be numbers"),
        ([[0.1, 0.2], [0.3, 0.4]], "must be one list"),
        ([0.1] * 23, "at most 22 folds, but there are 23; draw random orders instead"),
    ],
)
def test_bad_scores_are_refused_in_one_sentence(scores, message):
    with pytest.raises(InputError, match=message):
        FoldSubsets(scores)


def stagnation(scores, min_folds=2, **how):
    return outcome_over_orders(scores, StdStagnation(min_folds=min_folds), **how)


@settings(max_examples=30)
@given(scores=st.lists(score, min_size=2, max_size=5), min_folds=st.integers(2, 5))
def test_stagnation_is_brute_force_up_to_chance(brute_force, scores, min_folds):
    found = stagnation(
        Scores(folds=np.array(scores)), min_folds=min_folds, draws=2000, within_percent=math.e
    )
    expected = brute_force(scores, StdStagnation(min_folds=min_folds), within=math.e)
    assert found.orders == 2000
    for name in FIELDS:
        error = found.standard_errors[name]
        assert abs(getattr(found, name) - expected[name]) <= 6 * error + 0.02, name


def test_drawn_orders_repeat_with_their_seed_and_tell_their_error():
    scores = Scores(folds=np.random.default_rng(2).normal(0.3, 0.01, 10))
    one, again, other = (stagnation(scores, seed=seed) for seed in (1, 1, 2))
    assert one == again
    assert one.mean_stop != other.mean_stop
    assert abs(one.mean_stop - other.mean_stop) < 6 * one.standard_errors["mean_stop"]
    many = stagnation(scores, seed=3, draws=20_000)
    ratio = one.standard_errors["mean_stop"] / many.standard_errors["mean_stop"]
    assert ratio == pytest.approx(2, rel=0.1)  # four times the orders, half the error


@pytest.mark.parametrize(("min_folds", "stop"), [(2, 4), (6, 6)])
def test_stagnation_over_orders_waits_for_the_minimum(min_folds, stop):
    found = stagnation(Scores(folds=np.full(8, 0.3)), min_folds=min_folds, draws=10)
    assert found.stop_distribution[stop] == 1


def test_fewer_than_two_orders_are_refused():
    with pytest.raises(InputError, match="at least 2 orders must be drawn, but got 1"):
        stagnation(Scores(folds=np.array([0.1, 0.2, 0.3])), draws=1)


def test_drawn_orders_take_more_folds_than_the_exact_method():
    found = stagnation(Scores(folds=np.random.default_rng(0).random(30)), draws=100)
    assert sum(found.stop_distribution.values()) == pytest.approx(1)


def test_a_rule_without_a_setting_cannot_be_explored():
    scores = Scores(folds=np.array([0.1, 0.2, 0.3]))
    with pytest.raises(InputError, match="'never' has no parameter to explore; choose e-fold"):
        explore(scores, "never")
    with pytest.raises(UnknownName, match="did you mean 'e-fold'"):
        explore(scores, "efold")
    with pytest.raises(InputError, match="confidence must be between 0 and 1, but is 1"):
        explore(scores, confidence=1)


def test_the_precision_rule_needs_users_of_every_fold():
    folds = np.array([0.1, 0.2, 0.3])
    with pytest.raises(InputError, match="score of every user, or sample, but these folds"):
        explore(Scores(folds=folds), "precision")
    with pytest.raises(InputError, match="but 2 of them have scores of users or samples"):
        explore(Scores(folds=folds, users=np.ones((2, 5))), "precision")
    with pytest.raises(InputError, match="explored for at most 16 folds, but there are 17"):
        explore(Scores(folds=np.arange(17.0), users=np.ones((17, 5))), "precision")


def test_a_rule_of_ones_own_can_be_walked():
    # Stops as soon as fold 0 has been seen: its place is uniform over the orders.
    subsets = FoldSubsets([0.1, 0.2, 0.3, 0.4])
    holds = subsets.lattice.contains()[:, 0]
    found = Orders(
        subsets, subsets.half_widths(0.95), lambda _, after: np.where(holds[after], 0, 1)
    )
    assert found.at(0.5).stop_distribution == pytest.approx(dict.fromkeys(range(1, 5), 0.25))
    assert found.at(1.0).stop_distribution == pytest.approx({1: 1, 2: 0, 3: 0, 4: 0})
